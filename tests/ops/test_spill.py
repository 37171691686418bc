"""Spill and put: what stays inline, what is stored, and under which key."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest

import kmnb
from kmnb._bridge import run
from kmnb.errors import BadRequest, KeySyntaxError, KmnbError, StoreError
from kmnb.ops.content import read_content
from kmnb.ops.threads import ThreadClosed
from kmnb.ops.workspace import Workspace


def stored(ws: Workspace, key: str) -> bytes:
    art = ws.get(key)
    return art.read(0, art.size or 0)


def test_exactly_the_limit_stays_inline_and_one_byte_more_is_stored(ws: Workspace) -> None:
    small, large = ws.spill("é" * 2048, tool="t"), ws.spill("é" * 2048 + "x", tool="t")
    assert (small.artifact, small.message) == (None, {"content": "é" * 2048, "metadata": {}})
    assert large.artifact is not None
    assert large.artifact.size == 4097


def test_the_message_of_a_stored_result_is_marker_and_envelope(ws: Workspace, names: dict[str, str]) -> None:
    spill = ws.spill("row\n" * 2000, tool="resources_list", agent="k8s-config")
    key = f"{names['namespace']}/pilot/t1/k8s-config/resources_list-0"
    envelope = spill.message["metadata"]["artifact"]
    assert spill.message["content"].startswith(f"[ARTIFACT key={key} bytes=8000 - ")
    assert envelope["key"] == key
    assert envelope["bucket"] == "kubemoot_discussion_artifacts"
    assert (envelope["bytes"], envelope["tool"], envelope["agent"]) == (8000, "resources_list", "k8s-config")
    assert envelope["digest"] == "sha256:" + hashlib.sha256(b"row\n" * 2000).hexdigest()
    assert len(json.dumps(spill.message).encode()) < 8192


@pytest.mark.parametrize("size", [0, 1, 4096, 4097, 200_000])
def test_what_is_stored_is_what_the_producer_gave(ws: Workspace, size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    data = data[:size]
    art = ws.put(data, tool="t")
    assert art.size == size
    assert art.digest == "sha256:" + hashlib.sha256(data).hexdigest()
    assert stored(ws, art.key) == data


def blocks() -> Iterator[bytes]:
    for number in range(3000):
        yield b"line %d\n" % number


async def async_blocks() -> AsyncIterator[str]:
    for number in range(3000):
        yield f"line {number}\n"


def sources(tmp_path: Path) -> dict[str, Any]:
    whole = b"".join(blocks())
    path = tmp_path / "data.txt"
    path.write_bytes(whole)
    return {
        "text": whole.decode(),
        "bytes": whole,
        "bytearray": bytearray(whole),
        "memoryview": memoryview(whole),
        "iterator": blocks(),
        "iterator of text": (block.decode() for block in blocks()),
        "async iterator": async_blocks(),
        "path": path,
        "binary file": io.BytesIO(whole),
        "text file": io.StringIO(whole.decode()),
    }


def test_every_kind_of_source_gives_the_same_bytes(ws: Workspace, tmp_path: Path) -> None:
    whole = b"".join(blocks())
    for name, source in sources(tmp_path).items():
        spill = ws.spill(source, tool="t")
        assert spill.artifact is not None, name
        assert spill.artifact.digest == "sha256:" + hashlib.sha256(whole).hexdigest(), name


def test_a_small_stream_stays_inline(ws: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "small.txt"
    path.write_text("small")
    for source in (iter([b"sm", b"all"]), io.BytesIO(b"small"), path, iter(["small"])):
        assert ws.spill(source, tool="t").message["content"] == "small"


@pytest.mark.parametrize(
    ("value", "content"),
    [(None, ""), ({"a": [1, "é"]}, '{"a": [1, "é"]}'), ([1, 2], "[1, 2]"), (7, "7"), (True, "true"), (0.5, "0.5")],
)
def test_json_values_travel_as_json(ws: Workspace, value: Any, content: str) -> None:
    assert ws.spill(value, tool="t").message["content"] == content


def test_a_large_json_value_is_stored_as_json(ws: Workspace) -> None:
    art = ws.put({"items": list(range(5000))}, tool="t")
    assert art.media_type == "application/json"
    assert json.loads(stored(ws, art.key)) == {"items": list(range(5000))}


@pytest.mark.parametrize("value", [float("nan"), {"a": object()}, object(), {1, 2}, "\ud800"])
def test_data_that_has_no_bytes_is_refused_by_name(ws: Workspace, value: Any) -> None:
    with pytest.raises(BadRequest):
        ws.spill(value, tool="t")
    assert ws.spill("works on", tool="t").artifact is None


def test_small_binary_data_is_stored_since_no_message_can_hold_it(ws: Workspace) -> None:
    spill = ws.spill(b"\xff\xfe\x00", tool="t")
    assert spill.artifact is not None
    assert spill.artifact.size == 3


def test_numbers_start_at_zero_for_each_thread_agent_and_tool(ws: Workspace) -> None:
    places = [("t1", "a", "x"), ("t1", "a", "x"), ("t1", "b", "x"), ("t2", "a", "x"), ("t1", "a", "y")]
    keys = [ws.put("d", tool=tool, agent=agent, thread=thread).key for thread, agent, tool in places]
    assert [key.rpartition("-")[2] for key in keys] == ["0", "1", "0", "0", "0"]


def test_a_number_is_not_given_out_again_after_a_deletion_or_a_closing(ws: Workspace) -> None:
    ws.delete(ws.put("d", tool="x"))
    assert ws.put("d", tool="x").key.endswith("/x-1")
    ws.close_thread("t1")
    ws.open_thread("t1")
    assert ws.put("d", tool="x").key.endswith("/x-2")


def test_numbers_go_on_behind_what_others_wrote(ws: Workspace, url: str, names: dict[str, str]) -> None:
    prefix = f"{names['namespace']}/pilot/t1/kube"
    area = ws.context.backend.discussions
    for name in ("x-0", "x-7", "xy-9", "x-agree-1234"):
        run(area.put(f"{prefix}/{name}", b"foreign"))
    assert ws.put("mine", tool="x").key == f"{prefix}/x-8"
    assert ws.put(iter([b"mine"]), tool="xy").key in (f"{prefix}/xy-0", f"{prefix}/xy-10")
    assert stored(ws, f"{prefix}/x-0") == b"foreign"


def test_difficult_names_become_one_segment_each(ws: Workspace, names: dict[str, str]) -> None:
    art = ws.put("d", tool="a/b ü", agent="x:y", thread="../t*>")
    assert art.key == f"{names['namespace']}/pilot/..=2Ft=2A=3E/x=3Ay/a=2Fb=20=C3=BC-0"
    assert [found.key for found in ws.list(f"{names['namespace']}/pilot/..=2Ft=2A=3E")] == [art.key]


@pytest.mark.parametrize(
    "changes", [{"tool": ""}, {"tool": ".."}, {"tool": "t", "agent": ""}, {"tool": "t", "thread": ""}]
)
def test_names_that_make_no_key_are_refused(ws: Workspace, changes: dict[str, str]) -> None:
    with pytest.raises(KeySyntaxError):
        ws.put("d", **changes)


def test_a_key_over_the_limit_is_refused_before_anything_is_stored(ws: Workspace) -> None:
    with pytest.raises(KeySyntaxError, match="KEY_MAX_BYTES"):
        ws.put("d", tool="x" * 1100)
    assert list(ws.list()) == []


def test_a_failed_producer_can_be_told_from_an_empty_result(ws: Workspace) -> None:
    table = "NAME\n" + "".join(f"pod-{number}\n" for number in range(10))
    crashed = ws.spill(table, tool="t", exit_code=137, stderr="noise\n" * 5000 + "out of memory\n")
    large = ws.spill(table * 100, tool="t", exit_code=137, stderr="out of memory\n")
    empty = ws.spill("", tool="t", exit_code=0)
    assert empty.message == {"content": "", "metadata": {}}
    assert crashed.message["content"] == table
    assert crashed.message["metadata"]["exitCode"] == 137
    assert crashed.message["metadata"]["stderr"].endswith("out of memory\n")
    assert len(json.dumps(crashed.message)) < 8192
    assert large.message["metadata"]["artifact"]["exitCode"] == 137
    assert large.artifact is not None
    assert (large.artifact.preview or "").startswith("failed with exit code 137")
    assert ws.get(large.artifact.key).envelope()["exitCode"] == 137


def test_a_result_carries_the_digest_of_its_arguments(ws: Workspace) -> None:
    first, second, other = (
        ws.put("d", tool="t", arguments=value).envelope()["argsDigest"]
        for value in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {})
    )
    assert first == second != other


def test_a_spill_that_cannot_be_stored_raises_and_never_cuts(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*args: Any, **options: Any) -> Any:
        raise StoreError("store", "is full", "Make room.")

    with monkeypatch.context() as patch:
        patch.setattr(type(ws.context.backend.discussions), "put", full)
        with pytest.raises(StoreError, match="is full"):
            ws.spill("x" * 5000, tool="t")
    assert ws.spill("x" * 5000, tool="t").artifact is not None


def test_a_stream_that_breaks_leaves_nothing(ws: Workspace) -> None:
    def broken() -> Iterator[bytes]:
        yield b"x" * 100_000
        raise RuntimeError("the tool died")

    with pytest.raises(RuntimeError, match="the tool died"):
        ws.spill(broken(), tool="t")
    assert list(ws.list()) == []


def test_a_late_spill_into_a_closed_thread_is_refused_or_reopens_it(connect: Any) -> None:
    ws, willing = connect(), connect(config={"late_spill": "reopen"})
    ws.close_thread("t1")
    with pytest.raises(ThreadClosed, match="was closed at"):
        ws.spill("x" * 5000, tool="t")
    assert list(ws.list()) == []
    assert willing.spill("x" * 5000, tool="t").artifact is not None
    assert [str(thread.state) for thread in ws.threads()] == ["active"]


def test_a_spill_that_a_closing_overtakes_leaves_nothing(connect: Any) -> None:
    ws, other = connect(), connect()

    def closing() -> Iterator[bytes]:
        yield b"x" * 5000
        other.close_thread("t1")
        yield b"y" * 5000

    with pytest.raises(ThreadClosed):
        ws.spill(closing(), tool="t")
    assert list(ws.list()) == []


def test_content_is_read_no_further_than_needed_to_decide() -> None:
    taken = []

    def source() -> Iterator[bytes]:
        for number in range(100):
            taken.append(number)
            yield b"x" * 1000

    content = run(read_content(source(), media_type=None, inline_max_bytes=4096))
    assert content.inline is None
    assert len(taken) <= 6


@pytest.mark.parametrize("media_type", ["text/plain\r\nX-Evil: 1", "\x1b[31m", "text/\u202ehtml", "x" * 256])
def test_a_mime_type_is_printable_and_short(ws: Workspace, media_type: str) -> None:
    for store in (ws.put, ws.spill):
        with pytest.raises(BadRequest, match="is no MIME type"):
            store(b"x" * 5000, tool="t", media_type=media_type)
    with pytest.raises(BadRequest, match="is no MIME type"):
        ws.save("a.txt", b"x", media_type=media_type)
    assert list(ws.list()) == []


@pytest.fixture
def memory() -> Iterator[Workspace]:
    """A workspace where the backend does not matter."""
    with kmnb.connect("memory://", thread="t", agent="a") as workspace:
        yield workspace


@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_a_table_is_stored_with_its_types(memory: Workspace, kind: Any) -> None:
    table = kind({"n": [2, 10], "t": ["b", "a"]})
    art = memory.spill(table, tool="t").artifact
    assert art is not None
    assert (art.media_type, art.rows) == ("application/vnd.apache.parquet", 2)
    assert art.select(["n"], where="n > 3").values == [{"n": 10}]
    assert memory.put(art.to_pandas(), tool="t", media_type="text/csv").read(0, 100) == b'"n","t"\n2,"b"\n10,"a"\n'
    assert memory.save("report.csv", table).media_type == "text/csv"
    if kind is pandas.DataFrame:
        assert memory.save("c.csv", table.astype("category")).head(2).values == ['"n","t"', '2,"b"']
    assert memory.save("report.parquet", table).rows == 2


def test_few_rows_of_a_table_cost_few_bytes(memory: Workspace) -> None:
    art = memory.put(
        pandas.DataFrame({f"c{n}": numpy.random.default_rng(n).random(100_000) for n in range(5)}), tool="t"
    )
    assert art.size is not None
    assert art.size > 3_000_000
    answer = art.select(["*"], limit=20)
    assert (answer.shown, answer.total, answer.total_is_lower_bound) == (20, 100_000, False)
    assert answer.fetched_bytes < 2**20


@pytest.mark.parametrize(
    ("data", "options", "told"),
    [
        (pandas.DataFrame({"a": [1, "x"]}), {}, "Convert that column"),
        (pandas.Series([1, 2]), {}, "to_frame"),
        (pandas.DataFrame({"a": [1]}), {"media_type": "text/html"}, "Ask for text/csv"),
    ],
)
def test_what_is_no_table_is_refused_with_the_way_out(memory: Workspace, data: Any, options: Any, told: str) -> None:
    with pytest.raises(BadRequest, match=told):
        memory.put(data, tool="t", **options)
    art = memory.put("a,b\n1,2\n", tool="t", media_type="text/csv")
    for ours in (art, art.head(1)):
        with pytest.raises(BadRequest, match="is a reference or an answer"):
            memory.put(ours, tool="t")


@pytest.mark.parametrize("text", ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000])
def test_what_no_parser_can_take_is_stored_and_read_all_the_same(ws: Workspace, text: str) -> None:
    spill = ws.spill(text, tool="deep")
    assert spill.artifact is not None
    assert spill.artifact.size == len(text)
    assert ws.get(spill.artifact.key).head(1, max_bytes=1000).values[0][:50] == text[:50]
    with pytest.raises(KmnbError, match="nested too deeply"):
        spill.artifact.jmespath("@")


class Raising:
    """A source of each kind that gives one piece and then raises."""

    def __init__(self, error: type[BaseException]) -> None:
        self.pieces, self.error = [b"1"], error

    def piece(self, size: int = 0) -> bytes:
        if self.pieces:
            return self.pieces.pop()
        raise self.error


class RaisingFile(Raising):
    read = Raising.piece


class RaisingIterator(Raising):
    def __iter__(self) -> Iterator[bytes]:
        return self

    __next__ = Raising.piece


class RaisingAsync(Raising):
    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        return self.piece()


@pytest.mark.parametrize("verb", ["spill", "put", "save"])
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (RaisingFile, StopIteration),
        (RaisingFile, GeneratorExit),
        (RaisingFile, asyncio.CancelledError),
        (RaisingIterator, GeneratorExit),
        (RaisingIterator, StopAsyncIteration),
        (RaisingAsync, GeneratorExit),
        (RaisingAsync, asyncio.CancelledError),
    ],
)
def test_a_signal_of_python_that_a_source_raises_is_told(ws: Workspace, verb: str, kind: Any, error: Any) -> None:
    calls = {
        "spill": lambda data: ws.spill(data, tool="t"),
        "put": lambda data: ws.put(data, tool="t"),
        "save": lambda data: ws.save("x.bin", data),
    }
    with pytest.raises(BadRequest, match=error.__name__):
        calls[verb](kind(error))
    assert ws.put(b"after", tool="t").size == 5


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_pipe_is_stored_by_its_path(ws: Workspace, tmp_path: Path, size: int) -> None:
    pipe, data = tmp_path / "pipe", b"0123456789" * (size // 10)
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,))
    writer.start()
    art = ws.put(pipe, tool="t")
    writer.join(10)
    assert art.read(0, size + 1) == data
