"""Buckets of Agent Mesh and of the Agent Development Kit, opened as they are, on every kind of bucket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from google.genai import types

import kmnb
from kmnb.errors import ArtifactNotFound, KeySyntaxError
from kmnb.integrations.adk import ArtifactService
from kmnb.ops.workspace import Workspace
from tests.named.peers import RawBucket, kit_on

WHO = {"app_name": "shop", "user_id": "ann", "session_id": "s1"}


def content(art: Any) -> bytes:
    return art.read(0, art.size or 0)


class Place:
    """One bucket, seen by kmnb in a layout and by everybody else."""

    def __init__(self, url: str) -> None:
        self.url, self.raw = url, RawBucket(url)
        self.opened: list[Workspace] = []

    def connect(self, layout: str, **names: Any) -> Workspace:
        given = {"app": "shop", "user": "ann", "session": "s1", **names}
        self.opened.append(kmnb.connect(self.url, layout=layout, config={"sweep_on_connect": False}, **given))
        return self.opened[-1]


def _place(url: str) -> Iterator[Place]:
    place = Place(url)
    yield place
    for workspace in place.opened:
        workspace.close()


@pytest.fixture(params=["memory", "s3", "az"])
def mesh(request: pytest.FixtureRequest, fresh: Callable[[str], str]) -> Iterator[Place]:
    """Buckets where Agent Mesh uses a layout of its own."""
    yield from _place(fresh(request.param))


@pytest.fixture(params=["memory", "gs", "s3"])
def kit(request: pytest.FixtureRequest, fresh: Callable[[str], str]) -> Iterator[Place]:
    """Buckets in the kit's layout."""
    yield from _place(fresh(request.param))


@pytest.fixture
def memory(fresh: Callable[[str], str]) -> Iterator[Place]:
    yield from _place(fresh("memory"))


def test_a_bucket_of_agent_mesh_is_read_and_written_as_it_is(mesh: Place) -> None:
    mesh.raw.mesh_save("shop", "r.csv", 0, b"a,b\n1,2\n")
    companion = {"filename": "r.csv", "mime_type": "text/csv", "size_bytes": 8, "description": "d"}
    mesh.raw.mesh_save("shop", "r.csv.metadata.json", 0, json.dumps(companion).encode(), mime="application/json")
    mesh.raw.mesh_save("shop", "user:ü.txt", 0, b"mine", mime="text/plain")
    ws = mesh.connect("agent-mesh")
    assert ws.filenames() == ["r.csv", "user:ü.txt"]
    assert (content(ws.load("r.csv")), ws.load("r.csv").media_type) == (b"a,b\n1,2\n", "text/csv")
    assert ws.metadata("r.csv")["description"] == "d"
    assert ws.append("r.csv", "3,4\n").version == 1
    assert ws.save("user:ü.txt", "yours").version == 1
    raw, told = mesh.raw.get("shop/ann/s1/r.csv/1")
    assert raw == b"a,b\n1,2\n3,4\n"
    kept = {"original_filename": "r.csv", "user_id": "ann", "session_id": "s1", "version": "1"}
    assert kept.items() <= told.items()
    assert told["Content-Type"] == "text/csv"
    assert mesh.raw.get("shop/ann/user/ü.txt/1")[1]["original_filename"] == "user:\\xfc.txt"
    document = json.loads(mesh.raw.get("shop/ann/s1/r.csv.metadata.json/1")[0])
    assert (document["filename"], document["size_bytes"], document["description"]) == ("r.csv", 12, "d")
    names = mesh.raw.names("shop/ann/s1/")
    assert names == [f"shop/ann/s1/{name}/{n}" for name in ("r.csv.metadata.json", "r.csv") for n in (0, 1)]
    assert ws.load("r.csv").rows == 2
    ws.remove("r.csv")
    assert mesh.raw.names("shop/ann/s1/") == []
    assert ws.save("r.csv", "x").version == 2


def test_a_namespace_with_a_slash_has_all_its_versions(memory: Place) -> None:
    """Compat 2.4, 1: the peer finds no version there and overwrites version 0 for ever."""
    memory.raw.mesh_save("myorg/dev", "r.csv", 0, b"the last of many")
    ws = memory.connect("agent-mesh", app="myorg/dev")
    assert ws.filenames() == ["r.csv"]
    assert ws.save("r.csv", "next").version == 1
    assert content(ws.load("r.csv", version=0)) == b"the last of many"
    assert "overwrites version 0" in next(found for found in ws.doctor() if found.name == "layout").detail
    assert memory.connect("agent-mesh", app="myorg/dev/").versions("r.csv") == [0, 1]
    ws.remove("r.csv")
    assert ws.versions("r.csv") == []


@pytest.mark.parametrize("layout", ["agent-mesh", "adk"])
def test_scopes_of_one_path_never_meet(memory: Place, layout: str) -> None:
    long = memory.connect(layout, app="org/dev", user="ann", session="s1")
    short = memory.connect(layout, app="org", user="dev", session="ann")
    assert short.save("s1/r.csv", b"Y").version == 0
    assert long.filenames() == []
    with suppress(KeySyntaxError):
        mine = long.save("r.csv", b"X")
        assert content(long.load("r.csv")) == b"X"
        assert long.versions("r.csv") == [mine.version]
    with suppress(ArtifactNotFound, KeySyntaxError):
        long.remove("r.csv")
    assert long.versions("r.csv") == []
    assert short.versions("s1/r.csv") == [0]
    assert content(short.load("s1/r.csv")) == b"Y"


def test_a_name_with_a_slash_is_one_name_and_never_that_of_another_scope(memory: Place) -> None:
    """Compat 2.4, 2 and 7: the peer reads one object as the file of two scopes."""
    memory.raw.mesh_save("ns", "a/b.txt", 0, b"of user ann")
    mine = memory.connect("agent-mesh", app="ns")
    assert mine.filenames() == ["a/b.txt"]
    assert content(mine.load("a/b.txt")) == b"of user ann"
    assert mine.save("a/b.txt", "more").version == 1
    # app ns/ann, user s1, session a, file b.txt would lie under the same path
    other = memory.connect("agent-mesh", app="ns/ann", user="s1", session="a")
    with pytest.raises(ArtifactNotFound):
        other.load("b.txt", version=0)


@pytest.mark.parametrize("layout", ["agent-mesh", "adk"])
@pytest.mark.parametrize("names", [{"user": "a/b"}, {"session": "a/b"}, {"session": "user"}, {"app": "/"}])
def test_scopes_that_a_flat_name_cannot_tell_apart_are_refused(memory: Place, layout: str, names: Any) -> None:
    ws = memory.connect(layout, **names)
    with pytest.raises(KeySyntaxError, match="cannot hold it"):
        ws.save("x", "y")
    assert ws.filenames() == []


def test_a_large_artifact_lies_whole_where_the_peer_looks(mesh: Place) -> None:
    data = bytes(range(256)) * (9 * 4096)
    art = mesh.connect("agent-mesh").save("big.bin", data)
    raw, told = mesh.raw.get("shop/ann/s1/big.bin/0")
    assert (raw, told["version"]) == (data, "0")
    assert (art.size, art.read(2**23, 4)) == (len(data), data[2**23 : 2**23 + 4])


@pytest.mark.parametrize("layout", ["agent-mesh", "adk"])
def test_racing_writers_get_numbers_of_their_own(memory: Place, layout: str) -> None:
    ws = memory.connect(layout)
    with ThreadPoolExecutor(16) as pool:
        saved = list(pool.map(lambda number: ws.save("x", f"{number}").version, range(50)))
        list(pool.map(lambda number: ws.append("log", f"<{number}>"), range(20)))
    assert sorted(saved) == ws.versions("x") == list(range(50))
    assert content(ws.load("log")).count(b"<") == 20
    assert len(memory.raw.names("shop/ann/s1/x/")) == 50


def test_what_is_kept_of_a_removed_version_says_nothing_of_the_peers_next(memory: Place) -> None:
    ws = memory.connect("agent-mesh")
    ws.save("x", "a\nb\n", metadata={"by": "kmnb"})
    for name in memory.raw.names():
        memory.raw.delete(name)
    memory.raw.mesh_save("shop", "x", 0, b"c\nd\n")
    art = ws.load("x", version=0)
    assert (content(art), art.digest) == (b"c\nd\n", None)
    assert "by" not in ws.metadata("x", version=0)


def run(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


def blob(data: bytes, mime: str = "text/csv", **more: Any) -> types.Part:
    return types.Part(inline_data=types.Blob(data=data, mime_type=mime, **more))


@pytest.mark.parametrize("layout", ["adk", "agent-mesh"])
def test_the_kits_own_service_and_kmnb_share_a_bucket_of_google(fresh: Any, layout: str) -> None:
    """Agent Mesh uses the kit's service for buckets of Google, so both layouts are the same there."""
    for place in _place(fresh("gs")):
        _share(place, layout)


def test_the_kits_own_service_and_kmnb_share_any_bucket(kit: Place) -> None:
    _share(kit, "adk")


def _share(place: Place, layout: str) -> None:
    ours = ArtifactService(place.connect(layout))
    pointer = types.Part(file_data=types.FileData(file_uri="gs://b/k", mime_type="video/mp4"))
    parts = [blob(b"\x00\xff", "image/png", display_name="Bild"), types.Part(text="grüße"), blob(b"a\n"), pointer]
    with kit_on(place.raw) as theirs:
        for number, part in enumerate(parts):
            for writer, name in ((ours, f"dir/ours{number}"), (theirs, f"dir/theirs{number}")):
                version = run(writer.save_artifact(**WHO, filename=name, artifact=part, custom_metadata={"n": "1"}))
                assert version == 0
            for name in (f"dir/ours{number}", f"dir/theirs{number}"):
                assert run(ours.load_artifact(**WHO, filename=name)) == part
                read = run(theirs.load_artifact(**WHO, filename=name))
                if place.url.startswith("memory:"):
                    assert read == part
                elif part.inline_data is not None:
                    # Other buckets get names of metadata in small letters, which the kit does not know.
                    assert read.inline_data.data == part.inline_data.data
                    assert read.inline_data.mime_type == part.inline_data.mime_type
                told = run(ours.get_artifact_version(**WHO, filename=name))
                assert told.custom_metadata.items() >= {"n": "1"}.items()
        for each in (ours, theirs):
            run(each.save_artifact(**WHO, filename="user:p", artifact=blob(b"p")))
            run(each.save_artifact(**WHO, filename="user:p", artifact=blob(b"q")))
        assert run(ours.list_versions(**WHO, filename="user:p")) == [0, 1, 2, 3]
        keys = [run(each.list_artifact_keys(**WHO)) for each in (ours, theirs)]
        assert keys[0] == keys[1]
        assert len(keys[0]) == 9
        run(ours.delete_artifact(**WHO, filename="user:p"))
        assert run(theirs.load_artifact(**WHO, filename="user:p")) is None
        assert run(ours.save_artifact(**WHO, filename="user:p", artifact=blob(b"r"))) == 4
