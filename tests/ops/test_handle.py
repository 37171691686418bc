"""The handle: showing it costs nothing, every sip is a method, bytes come by range, frames are exact."""

from __future__ import annotations

import asyncio
import hashlib
import inspect as python_inspect
import io
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pandas
import pytest

import kmnb
from kmnb.core.metadata import Area
from kmnb.errors import ArtifactNotFound, BadRequest, BoundExceeded
from kmnb.ops.handle import Artifact
from kmnb.ops.sip import sip_names, sip_operation
from kmnb.ops.workspace import Workspace

LINES = b"".join(b"line %d\n" % number for number in range(5000))
RECORDS = b"code,n,ns\n00010,1,NA\n00020,9007199254740993,\n"


class Silent:
    """A store that must not be asked."""

    def __getattr__(self, name: str) -> Any:
        pytest.fail(f"the store was asked for {name}")


def test_showing_a_handle_asks_nobody(connect: Callable[..., Workspace]) -> None:
    envelope = connect().put(LINES, tool="log").envelope()
    handle = connect().get(envelope)
    quiet = Artifact(Silent(), key=handle.key, envelope=handle.reference())  # type: ignore[arg-type]
    for art in (quiet,):
        assert "log-0" in repr(art)
        assert "log-0" in str(art)
        assert art._repr_mimebundle_()["text/plain"]
        assert {"head", "grep_async", "jq", "outline"} <= set(dir(art))
        assert art.size == len(LINES)
        assert art.version is None
        assert art.envelope()["key"] == art.key
        assert art.uri.startswith("artifact://discussions/")
        assert hash(art) is not None


@pytest.mark.parametrize("name", sip_names())
def test_a_typed_method_takes_what_the_sip_declares(name: str) -> None:
    """Methods and declarations are kept equal, so that adding a sip stays one file and the API stays typed."""
    method = getattr(Artifact, name)
    declared = {param.name: param for param in sip_operation(name).params}
    taken = list(python_inspect.signature(method).parameters.values())[1:]
    keywords = [one for one in taken if one.kind is one.KEYWORD_ONLY]
    positional = [one.name for one in taken if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert positional == [one.name for one in declared.values() if one.positional]
    (options,) = get_args(get_type_hints(method)["options"])
    shared = set(get_type_hints(options))
    assert {one.name for one in keywords} | set(positional) | shared == set(declared)
    for one in taken:
        if one.kind is not one.VAR_KEYWORD and one.default is not one.empty:
            assert one.default == declared[one.name].default or one.default is None
    assert hasattr(Artifact, f"{name}_async")
    assert method.__doc__


def test_every_sip_answers_on_every_store(connect: Callable[..., Workspace]) -> None:
    art = connect().put(LINES, tool="log")
    assert art.head(2).values == ["line 0", "line 1"]
    assert art.tail(1).values == ["line 4999"]
    assert art.lines(10, 1).values == ["line 10"]
    assert art.count().values == [5000]
    assert art.grep("^line 4999$").values[0].number == 5000
    table = connect().put(RECORDS, tool="table")
    assert table.select(["ns", "code"], where="n > 1").values == [{"ns": "", "code": "00020"}]
    assert [column["name"] for column in table.schema().values] == ["code", "n", "ns"]
    assert table.stats().values[1]["max"] == 9007199254740993
    document = connect().put({"items": [{"n": 1}, {"n": 2}]}, tool="json")
    assert document.jq(".items[].n").values == [1, 2]
    assert document.jmespath("items[].n").values == [[1, 2]]
    assert document.outline().values[0]["path"] == ".n"


def test_a_sip_of_a_foreign_loop_and_of_many_threads_answers(connect: Callable[..., Workspace]) -> None:
    """S24: a running loop, plain code, and threads at once."""
    art = connect().put(LINES, tool="log")

    async def inside() -> list[Any]:
        blocking = art.head(1).values
        return [*blocking, *(await art.head_async(1)).values, *(await art.outline_async()).values[0:1]]

    assert asyncio.run(inside())[:2] == ["line 0", "line 0"]
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(art.tail(1).values)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert found == [["line 4999"]] * 4


def test_bytes_come_by_range(connect: Callable[..., Workspace]) -> None:
    art = connect().put(LINES, tool="log")
    assert art.read(5, 10) == LINES[5:15]
    assert art.read(len(LINES) - 3, 100) == LINES[-3:]
    with pytest.raises(BadRequest):
        art.read(-1, 5)
    with pytest.raises(BoundExceeded):
        art.read(0, 1 << 40)


def test_an_opened_artifact_is_a_seekable_file(connect: Callable[..., Workspace]) -> None:
    with connect().put(LINES, tool="log").open() as file:
        assert file.read(6) == b"line 0"
        assert file.seek(-10, io.SEEK_END) == len(LINES) - 10
        assert file.read() == LINES[-10:]
        assert file.seek(0) == 0
        assert file.readline() == b"line 0\n"
        assert sum(1 for _ in file) == 4999
        assert file.readable()
        assert not file.writable()


def test_a_download_is_whole_or_not_there(connect: Callable[..., Workspace], tmp_path: Path) -> None:
    art = connect().put(LINES, tool="log")
    seen: list[tuple[int, int | None]] = []
    target = art.download(tmp_path / "copy.log", progress=lambda done, size: seen.append((done, size)))
    assert hashlib.sha256(target.read_bytes()).hexdigest() == hashlib.sha256(LINES).hexdigest()
    assert seen[-1] == (len(LINES), len(LINES))
    assert art.download(tmp_path).name == "log-0"
    with pytest.raises(ArtifactNotFound):
        connect().get(art.envelope() | {"key": art.key[:-1] + "9"}).download(tmp_path / "none")
    assert sorted(path.name for path in tmp_path.iterdir()) in (["copy.log", "log-0"], ["copy.log", "log-0", "store"])


def test_a_download_has_the_mode_of_other_files_and_replaces_nothing_but_files(tmp_path: Path) -> None:
    with kmnb.connect("memory://") as ws:
        art = ws.put(b"bytes", tool="t")
        plain, kept, link, pipe = (tmp_path / name for name in ("plain", "kept", "link", "pipe"))
        plain.write_bytes(b"")
        assert art.download(tmp_path / "new").stat().st_mode == plain.stat().st_mode
        kept.write_bytes(b"longer than that")
        kept.chmod(0o640)
        link.symlink_to(kept)
        art.download(link)
        assert (link.is_symlink(), kept.read_bytes(), kept.stat().st_mode & 0o777) == (True, b"bytes", 0o640)
        os.mkfifo(pipe)
        with pytest.raises(BadRequest, match="cannot be written"):
            art.download(pipe)  # nobody reads
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        art.download(pipe)
        assert (os.read(reader, 100), pipe.is_fifo()) == (b"bytes", True)
        os.close(reader)
        for where in (tmp_path / "no" / "file", "a\0b", 5, kept / "below"):
            with pytest.raises(BadRequest, match="cannot be written") as told:
                art.download(where)  # type: ignore[arg-type]
            assert ".kmnb-" not in str(told.value)
        with pytest.raises(BadRequest, match="cannot be written"):
            art.materialise(kept)
        assert not list(tmp_path.glob(".kmnb-*"))


def test_a_frame_has_the_exact_values(connect: Callable[..., Workspace], capsys: pytest.CaptureFixture[str]) -> None:
    """S11, S12, S13: digits, codes and names stay as they are."""
    art = connect().put(RECORDS, tool="table")
    frame = art.to_pandas()
    assert f"loading {len(RECORDS)} bytes" in capsys.readouterr().err
    assert frame["code"].tolist() == ["00010", "00020"]
    assert frame["ns"].tolist() == ["NA", ""]
    assert frame["n"].tolist() == ["1", "9007199254740993"]
    assert art.to_pandas(["n"], infer=True)["n"].tolist() == [1, 9007199254740993]
    document = connect().put(b'{"items":[{"id":9007199254740993,"u":18446744073709551615},{"id":null}]}', tool="j")
    frame = document.to_pandas()
    assert str(frame["id"].dtype) == "Int64"
    assert frame["id"][0] == 9007199254740993
    assert frame["id"][1] is pandas.NA
    assert frame["u"].tolist() == [18446744073709551615, None]
    with pytest.raises(BoundExceeded, match="max_bytes="):
        art.to_pandas(max_bytes=10)
    with pytest.raises(BadRequest, match="nope"):
        art.to_pandas(["nope"])


def test_an_answer_becomes_a_frame_json_and_csv(connect: Callable[..., Workspace]) -> None:
    art = connect().put(b'{"items":[{"id":9007199254740993,"f":"=1+1"},{"id":null,"f":"-5"}]}', tool="json")
    answer = art.jmespath("items")
    assert answer.to_pandas()["id"].tolist()[0] == 9007199254740993
    assert json.loads(answer.to_json()) == answer.values
    assert answer.to_csv() == "id,f\n9007199254740993,'=1+1\n,-5\n"
    assert answer.to_csv(formula_safe=False) == "id,f\n9007199254740993,=1+1\n,-5\n"
    assert answer.to_arrow().column_names == ["id", "f"]
    assert list(art.head(1).to_pandas().columns) == ["value"]
    assert list(art.grep("id").to_pandas()["number"]) == [1]


def test_an_answer_tells_what_it_moved_and_proves_itself(connect: Callable[..., Workspace]) -> None:
    art = connect().put(LINES, tool="log")
    answer = art.head(2)
    assert 0 < answer.fetched_bytes <= len(LINES)
    receipt = answer.receipt
    assert receipt is not None
    assert receipt["op"] == "head"
    assert receipt["parameters"] == {"lines": 2}
    assert receipt["artifactDigest"] == art.digest
    assert receipt["textDigest"] == "sha256:" + hashlib.sha256(answer.text.encode()).hexdigest()


def test_a_handle_without_a_workspace_says_so() -> None:
    art = Artifact(Silent(), key="a/b/c/d/e-0", area=Area.DISCUSSIONS)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        art.no_such_sip  # noqa: B018
    with pytest.raises(TypeError):
        art.keep("name.csv")


def test_a_missing_artifact_is_told_by_every_sip(connect: Callable[..., Workspace]) -> None:
    ws = connect()
    envelope = ws.put(LINES, tool="log").envelope()
    ws.delete(envelope)
    for take in (lambda art: art.head(), lambda art: art.jq("."), lambda art: art.read(0, 1), lambda art: art.open()):
        with pytest.raises(ArtifactNotFound):
            take(ws.get(envelope))
    assert ws.put(b"x\n" * 5, tool="log").head(1).values == ["x"]


def test_a_repr_shows_no_control_character_and_is_bounded(ws: Workspace) -> None:
    envelope = ws.put("a", tool="t").envelope() | {"contentType": "\x1b]0;title\x07\u202e" + "x" * 9000}
    told = kmnb.connect("memory://", thread="\x1b[31mt")
    for shown in (repr(ws.get(envelope)), str(ws.get(envelope)), repr(told)):
        assert shown.isprintable()
        assert len(shown) < 2000
    told.close()
