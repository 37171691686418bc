"""``artifact://`` by fsspec: its own abstract suite, and the libraries that open files by it."""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Iterator
from typing import Any

import duckdb
import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.tests import abstract

import kmnb
from kmnb.errors import AlreadyExists, ArtifactNotFound, BadRequest, KeySyntaxError
from kmnb.integrations.fsspec import ArtifactFileSystem
from kmnb.ops.workspace import Workspace

_numbers = itertools.count()
HOME = "apps/shop/users/ann/sessions/s 1/artifacts"


@pytest.fixture
def ws() -> Iterator[Workspace]:
    names = {"app": "shop", "user": "ann", "session": "s 1"}
    with kmnb.connect(f"memory://fs-{next(_numbers)}", **names, config={"sweep_on_connect": False}) as opened:
        yield opened


@pytest.fixture
def fs(ws: Workspace) -> ArtifactFileSystem:
    return ArtifactFileSystem.of(ws)


class Fixtures(abstract.AbstractFixtures):
    """What fsspec's suite asks for."""

    @pytest.fixture
    def fs(self, ws: Workspace) -> ArtifactFileSystem:
        return ArtifactFileSystem.of(ws)

    @pytest.fixture
    def fs_path(self) -> str:
        return HOME

    @pytest.fixture
    def fs_join(self) -> Any:
        return posixpath.join

    @pytest.fixture
    def supports_empty_directories(self) -> bool:
        return False


class TestCopy(abstract.AbstractCopyTests, Fixtures):
    """Copies within the store."""


class TestGet(abstract.AbstractGetTests, Fixtures):
    """Copies to the disk."""


class TestPut(abstract.AbstractPutTests, Fixtures):
    """Copies from the disk."""


class TestOpen(abstract.AbstractOpenTests, Fixtures):
    """Opening."""


class TestPipe(abstract.AbstractPipeTests, Fixtures):
    """Whole values."""


def test_the_scheme_is_registered() -> None:
    import tomllib

    from tests.source import ROOT

    entries = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["fsspec.specs"]
    module, _, name = entries["artifact"].partition(":")
    assert getattr(__import__(module, fromlist=[name]), name) is ArtifactFileSystem


def test_pandas_reads_and_writes_by_uri(ws: Workspace) -> None:
    fsspec.register_implementation("artifact", ArtifactFileSystem, clobber=True)
    art = ws.save("a b/r%20ä.csv", "x,y\n1,2\n")
    options = {"url": ws.url, "app": "shop", "user": "ann", "session": "s 1"}
    assert pd.read_csv(art.uri, storage_options=options).to_dict("list") == {"x": [1], "y": [2]}
    pd.DataFrame({"x": [3]}).to_csv("artifact://out.csv", index=False, storage_options=options)
    pd.DataFrame({"x": [4]}).to_csv("artifact://out.csv", index=False, storage_options=options)
    assert ws.versions("out.csv") == [0, 1]
    assert pd.read_csv("artifact://out.csv@0", storage_options=options)["x"].tolist() == [3]


def test_arrow_reads_one_column_without_moving_the_rest(ws: Workspace, fs: ArtifactFileSystem) -> None:
    rows = 200_000
    table = pa.table({"a": range(rows), "b": [f"{n * 7919 % 1_000_003}" for n in range(rows)]})
    with fs.open("big.parquet", "wb") as file:
        pq.write_table(table, file, compression="none", use_dictionary=False)
    with fs.open("big.parquet", "rb", cache_type="none") as file:
        moved: list[int] = []
        fetch = file._fetch_range

        def counted(start: int, end: int) -> bytes:
            moved.append(end - start)
            return fetch(start, end)

        file.cache.fetcher = counted
        assert pq.read_table(file, columns=["a"]).column("a").to_pylist()[-1] == rows - 1
    assert 0 < sum(moved) < (ws.load("big.parquet").size or 0) * 0.7


def test_duckdb_reads_by_uri(ws: Workspace, fs: ArtifactFileSystem) -> None:
    ws.save("r.csv", "x,y\n1,2\n3,4\n")
    with duckdb.connect() as connection:
        connection.register_filesystem(fs)
        assert connection.sql("select sum(y) from read_csv('artifact://r.csv')").fetchall() == [(6,)]


def test_an_open_file_stays_at_its_version(ws: Workspace, fs: ArtifactFileSystem) -> None:
    ws.save("r.txt", "one")
    with fs.open("r.txt", "rb") as file:
        ws.save("r.txt", "two!")
        assert file.read() == b"one"
    assert fs.cat_file("r.txt") == b"two!"
    assert fs.cat_file("r.txt@0") == fs.cat_file(f"{HOME}/r.txt/versions/0") == b"one"


def test_ranges_of_a_file(ws: Workspace, fs: ArtifactFileSystem) -> None:
    ws.save("r.txt", "0123456789")
    assert fs.cat_file("r.txt", 2, 5) == b"234"
    assert fs.cat_file("r.txt", -3) == b"789"
    assert fs.cat_file("r.txt", 5, -2) == b"567"
    assert fs.tail("r.txt", 4) == b"6789"


def test_appending_makes_a_version(ws: Workspace, fs: ArtifactFileSystem) -> None:
    for text in (b"a", b"b"):
        with fs.open("log.txt", "ab") as file:
            file.write(text)
    assert [fs.cat_file(f"log.txt@{number}") for number in ws.versions("log.txt")] == [b"a", b"ab"]


def test_a_failed_write_leaves_nothing(ws: Workspace, fs: ArtifactFileSystem) -> None:
    def write_half() -> None:
        with fs.open("r.txt", "wb") as file:
            file.write(b"half")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half"):
        write_half()
    assert ws.versions("r.txt") == []


def test_a_pinned_version_and_a_discussion_cannot_be_written(fs: ArtifactFileSystem) -> None:
    for path in ("r.txt@3", f"{HOME}/r.txt/versions/0", "discussions/a/b/c/d/e-0"):
        with pytest.raises(KeySyntaxError, match="cannot be written"):
            fs.open(path, "wb")


def test_exclusive_creation_meets_a_version(ws: Workspace, fs: ArtifactFileSystem) -> None:
    file = fs.open("r.txt", "xb")
    file.write(b"mine")
    ws.save("r.txt", "theirs")
    with pytest.raises(AlreadyExists):
        file.close()


def test_folders_list_names_at_their_latest_version(ws: Workspace, fs: ArtifactFileSystem) -> None:
    for name in ("a/x.txt", "a/b/y.txt", "a.txt", "100%.txt", "user:mine.txt"):
        ws.save(name, "1")
    ws.save("a.txt", "22")
    assert fs.ls("", detail=False) == ["100%.txt", "a", "a.txt", "user:mine.txt"]
    assert fs.ls(f"artifact://{HOME}", detail=False) == [f"{HOME}/{name}" for name in ("100%25.txt", "a", "a.txt")]
    assert fs.find(f"{HOME}/a") == [f"{HOME}/a/b/y.txt", f"{HOME}/a/x.txt"]
    assert {entry["name"]: entry["size"] for entry in fs.ls(f"{HOME}/a.txt")} == {f"{HOME}/a.txt": 2}
    assert fs.cat_file(f"{HOME}/100%25.txt") == b"1"
    assert fs.info("a.txt")["version"] == 1
    assert fs.cat_file("user:mine.txt") == fs.cat_file("apps/shop/users/ann/artifacts/mine.txt") == b"1"
    with pytest.raises(FileNotFoundError):
        fs.ls(f"{HOME}/none")


def test_discussion_artifacts_are_files_too(ws: Workspace, fs: ArtifactFileSystem) -> None:
    art = ws.put("one\ntwo\n", tool="logs")
    assert fs.cat_file(art.uri) == b"one\ntwo\n"
    folder = art.uri.rpartition("/")[0]
    assert fs.ls(folder, detail=False) == [art.uri.removeprefix("artifact://")]
    fs.rm(art.uri)
    assert not fs.exists(art.uri)


def test_removing_takes_one_version_or_all(ws: Workspace, fs: ArtifactFileSystem) -> None:
    for _ in range(3):
        ws.save("r.txt", "1")
    fs.rm("r.txt@1")
    assert ws.versions("r.txt") == [0, 2]
    fs.rm("r.txt")
    assert ws.versions("r.txt") == []
    with pytest.raises(FileNotFoundError):
        fs.rm("r.txt")


@pytest.mark.parametrize(
    "path", ["..", "a/../b", "apps/x", "apps//users", "a\0b", "discussions", "no/such", "a/b/c/d/e"]
)
def test_a_path_that_can_name_nothing_does_not_exist(fs: ArtifactFileSystem, path: str) -> None:
    assert not fs.exists(path)
    with pytest.raises(FileNotFoundError):
        fs.open(path, "rb")


def test_a_short_path_is_a_name_of_the_session_at_any_depth(ws: Workspace, fs: ArtifactFileSystem) -> None:
    fs.pipe_file("data/2024/01/x.csv", b"a\n1\n")
    fs.pipe_file("user:data/y.csv", b"b\n")
    ws.save("apps/z.csv", b"c\n")
    assert ws.filenames() == ["apps/z.csv", "data/2024/01/x.csv", "user:data/y.csv"]
    everything = [f"{HOME}/apps/z.csv", "data/2024/01/x.csv", "user:data/y.csv"]
    assert sorted(fs.find("")) == everything
    assert sorted(f"{top}/{name}" for top, _, names in fs.walk("data") for name in names) == ["data/2024/01/x.csv"]
    assert {name for _, _, names in fs.walk("") for name in names} == {"x.csv", "y.csv", "z.csv"}
    assert fs.glob("data/*") == fs.ls("data", detail=False) == ["data/2024"]
    assert fs.glob("**/*.csv") == everything
    assert [len(fs.cat_file(path)) for path in everything] == [2, 4, 2]
    assert fs.ls("user:data", detail=False) == ["user:data/y.csv"]
    assert fs.cat_file("artifact://shop/ann/s%201/data/2024/01/x.csv?version=0") == b"a\n1\n"
    fs.rm("data", recursive=True)
    assert ws.filenames() == ["apps/z.csv", "user:data/y.csv"]


def test_every_way_of_fsspec_takes_the_store() -> None:
    url = f"memory://fs-{next(_numbers)}"
    options = {"store": url, "app": "shop", "user": "ann", "session": "s 1"}
    with kmnb.connect(url, app="shop", user="ann", session="s 1", config={"sweep_on_connect": False}) as ws:
        frame = pd.DataFrame({"a": [1, 2]})
        frame.to_parquet("artifact://d/t.parquet", storage_options=options)
        assert pd.read_parquet("artifact://d/t.parquet", storage_options=options)["a"].sum() == 3
        ws.save("r.csv", "x\n5\n")
        for name in ("store", "url"):
            given = {**options, "store": None, name: url}
            assert pd.read_csv("artifact://r.csv", storage_options=given)["x"].sum() == 5
            assert fsspec.filesystem("artifact", **given).cat_file("r.csv") == b"x\n5\n"
        fs, path = fsspec.url_to_fs("artifact://r.csv", **options)
        assert fs.cat_file(path) == b"x\n5\n"
        assert sorted(fsspec.get_mapper("artifact://d", **options)) == ["t.parquet"]
        with pytest.raises(BadRequest, match="two stores"):
            ArtifactFileSystem("memory://other", store=url)


@pytest.mark.parametrize(("pin", "left"), [("latest", [0, 1]), ("good", [0, 2]), ("0", [1, 2])])
def test_a_pinned_path_or_uri_removes_that_version(
    ws: Workspace, fs: ArtifactFileSystem, pin: str, left: list[int]
) -> None:
    for name in ("z", "y", "x@0"):
        for text in "123":
            ws.save(name, text)
    for name in ("z", "y"):
        ws.label(name, "good", version=1)
    fs.rm(f"z@{pin}")
    assert ws.versions("z") == left
    ws.delete(f"artifact://{HOME.replace(' ', '%20')}/y@{pin}")
    assert ws.versions("y") == left
    with pytest.raises(ArtifactNotFound):
        fs.rm("y@none")
    with pytest.raises(BadRequest, match="removes every version"):
        ws.remove(f"y@{pin}")
    tool = next(tool for tool in kmnb.agent_tools(ws) if tool.__name__ == "delete_artifact")
    assert tool(f"y@{pin}", confirm_delete=True)["status"] == "error"
    assert ws.versions("y") == left
    assert ws.remove("x@0") == 3
