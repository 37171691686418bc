"""Migration: every version, its metadata, tombstones and labels, between layouts and backends, and on after a kill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kmnb
from kmnb.errors import ArtifactNotFound, BadRequest
from kmnb.frontends.cli import main
from kmnb.ops.migrate import migrate_stores, scope_of
from kmnb.ops.workspace import Workspace
from tests.children import python
from tests.named.peers import MeshTree

NAMES = {"app": "shop", "user": "ann", "session": "s1"}


def connect(url: str, layout: str = "kmnb", **names: Any) -> Workspace:
    return kmnb.connect(url, layout=layout, config={"sweep_on_connect": False}, **{**NAMES, **names})


def content(art: Any) -> bytes:
    return art.read(0, art.size or 0)


def fill(url: str, layout: str = "kmnb") -> dict[tuple[str, int], bytes]:
    """Versions of several names, a removed one, a name removed as a whole, labels, metadata, a long name."""
    with connect(url, layout) as ws:
        for number in range(3):
            ws.save("r.csv", f"a,b\n1,{number}\n", metadata={"n": number}, tags=["t"])
        ws.delete(ws.load("r.csv", version=1))
        ws.label("r.csv", "approved", version=0)
        ws.save("user:p.json", {"k": "ü"})
        ws.save("gone", "x")
        ws.remove("gone")
        ws.save("日" * 60, "long")
        ws.save("big.bin", bytes(range(256)) * 40_000)
        names = [(name, version) for name in ws.filenames() for version in ws.versions(name)]
        return {(name, version): content(ws.load(name, version=version)) for name, version in names}


def check(url: str, layout: str, wanted: dict[tuple[str, int], bytes]) -> None:
    with connect(url, layout) as ws:
        names = [(name, version) for name in ws.filenames() for version in ws.versions(name)]
        assert {(name, version): content(ws.load(name, version=version)) for name, version in names} == wanted
        assert ws.labels("r.csv") == {"approved": 0}
        assert content(ws.load("r.csv@approved")) == b"a,b\n1,0\n"
        assert (ws.metadata("r.csv")["n"], ws.metadata("r.csv")["tags"]) == (2, ["t"])
        assert (ws.load("r.csv").rows, ws.load("r.csv").media_type) == (1, "text/csv")
        with pytest.raises(ArtifactNotFound, match="was removed at"):
            ws.load("r.csv", version=1)
        assert ws.save("gone", "y").version == 1
        assert ws.save("r.csv", "z").version == 3


PAIRS = [
    ("file", "kmnb", "memory", "kmnb"),
    ("memory", "kmnb", "file", "agent-mesh"),
    ("file", "agent-mesh", "file", "adk"),
    ("file", "adk", "memory", "kmnb"),
    ("memory", "agent-mesh", "file", "kmnb"),
    ("file", "kmnb", "s3", "agent-mesh"),
    ("s3", "adk", "gs", "adk"),
    ("file", "kmnb", "nats", "kmnb"),
    ("nats", "kmnb", "az", "agent-mesh"),
]


@pytest.mark.parametrize(("scheme_from", "layout_from", "scheme_to", "layout_to"), PAIRS)
def test_everything_arrives_and_a_second_run_copies_nothing(
    fresh: Any, tmp_path: Path, scheme_from: str, layout_from: str, scheme_to: str, layout_to: str
) -> None:
    def place(scheme: str, name: str) -> str:
        return f"file://{tmp_path}/{name}" if scheme == "file" else str(fresh(scheme))

    source, target = place(scheme_from, "from"), place(scheme_to, "to")
    wanted = fill(source, layout_from)
    layouts = {"layout_from": layout_from, "layout_to": layout_to}
    first = migrate_stores(source, target, **layouts)
    assert (first.copied, first.present, first.failures) == (len(wanted), 0, [])
    assert (first.names, first.emptied, first.labels) == (4, 1, 1)
    assert first.size == sum(map(len, wanted.values()))
    again = migrate_stores(source, target, **layouts)
    assert (again.copied, again.present, again.failures) == (0, len(wanted), [])
    check(target, layout_to, wanted)


KILLED = """
import os, signal, sys
from kmnb.ops import migrate
copied = 0
seen = migrate._seen
async def dying(area, info, digest):
    global copied
    copied += 1
    async for window in seen(area, info, digest):
        yield window
        if copied > 12:
            os.kill(os.getpid(), signal.SIGKILL)
migrate._seen = dying
migrate.migrate_stores(sys.argv[1], sys.argv[2], layout_to=sys.argv[3])
"""


@pytest.mark.parametrize("layout", ["kmnb", "agent-mesh", "adk"])
def test_a_run_that_is_killed_goes_on_where_it_stopped(tmp_path: Path, layout: str) -> None:
    source, target = f"file://{tmp_path}/from", f"file://{tmp_path}/to"
    wanted = fill(source)
    with connect(source) as ws:
        for number in range(20):
            wanted["many", ws.save("many", f"{number}" * 1000).version or 0] = f"{number}".encode() * 1000
    assert python("-c", KILLED, source, target, layout).code == -9
    with connect(target, layout) as ws:
        there = sum(len(ws.versions(name)) for name in ws.filenames())
    assert 0 < there < len(wanted)
    done = migrate_stores(source, target, layout_to=layout)
    assert (done.copied, done.present, done.failures) == (len(wanted) - there, there, [])
    check(target, layout, wanted)


KILLED_BETWEEN = """
import os, signal, sys
from kmnb.ops import migrate
from kmnb.storage.layouts import _mesh_folder
publish = _mesh_folder._publish
def dying(file, path):
    if path.endswith("/many/3"):
        os.kill(os.getpid(), signal.SIGKILL)
    publish(file, path)
_mesh_folder._publish = dying
migrate.migrate_stores(sys.argv[1], sys.argv[2], layout_to="agent-mesh")
"""


def test_a_run_that_is_killed_between_the_two_files_of_a_version_goes_on(tmp_path: Path) -> None:
    source, target = f"file://{tmp_path}/from", f"file://{tmp_path}/to"
    with connect(source) as ws:
        for number in range(5):
            ws.save("many", f"{number}" * 1000)
    assert python("-c", KILLED_BETWEEN, source, target).code == -9
    (left,) = (tmp_path / "to").rglob("many/3.meta")
    assert not left.with_suffix("").exists()
    done = migrate_stores(source, target, layout_to="agent-mesh")
    assert done.failures == []
    with connect(target, "agent-mesh") as ws:
        assert [content(ws.load("many", version=number)) for number in range(5)] == [
            f"{number}".encode() * 1000 for number in range(5)
        ]
        assert ws.load("many", version=3).media_type == "text/plain"


def test_another_version_in_the_target_is_told_and_stays(tmp_path: Path) -> None:
    source, target = f"file://{tmp_path}/from", f"file://{tmp_path}/to"
    for url, text in ((source, "mine"), (target, "theirs")):
        with connect(url) as ws:
            ws.save("x", text)
    done = migrate_stores(source, target)
    assert (done.copied, len(done.failures)) == (0, 1)
    assert "with other bytes" in done.failures[0]
    with connect(target) as ws:
        assert content(ws.load("x")) == b"theirs"


def test_damaged_bytes_do_not_arrive(tmp_path: Path) -> None:
    source, target = f"file://{tmp_path}/from", f"file://{tmp_path}/to"
    with connect(source, "adk") as ws:
        ws.save("x", "good\n")
        ws.save("y", "also\n")
    (tmp_path / "from/apps/shop/users/ann/sessions/s1/artifacts/x/versions/0/x").write_text("evil\n")
    done = migrate_stores(source, target, layout_from="adk")
    assert (done.copied, len(done.failures)) == (1, 1)
    with connect(target) as ws:
        assert ws.filenames() == ["y"]


def test_what_the_peer_left_in_doubt_is_told(tmp_path: Path) -> None:
    tree = MeshTree(tmp_path / "from")
    tree.save("shop/ann/s1/x", 0, b"x", description="d")
    tree.save("ann/s1/lost", 0, b"of a namespace with a slash at its end")
    done = migrate_stores(tree.root.as_uri(), f"file://{tmp_path}/to", layout_from="agent-mesh")
    assert done.copied == 1
    assert any("ann/s1/lost" in line and "could belong to several names" in line for line in done.failures)
    with connect(f"file://{tmp_path}/to") as ws:
        assert ws.metadata("x")["description"] == "d"
        assert ws.load("x").digest is not None


def test_a_scope_can_be_copied_alone(tmp_path: Path) -> None:
    source, target = f"file://{tmp_path}/from", f"file://{tmp_path}/to"
    for session in ("s1", "s2"):
        with connect(source, session=session) as ws:
            ws.save("x", session)
    assert migrate_stores(source, target, prefix=scope_of("shop", "ann", "s2")).copied == 1
    assert migrate_stores(source, target, prefix=scope_of("other")).copied == 0
    assert migrate_stores(source, target, prefix=scope_of("shop")).present == 1
    with pytest.raises(BadRequest, match="a user needs its application"):
        scope_of(None, "ann")


def test_the_command_copies_tells_and_gives_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = f"file://{tmp_path}/from", f"file://{tmp_path}/to"
    wanted = fill(source)
    words = ["migrate", source, target, "--layout-to", "agent-mesh"]
    assert main(words) == 0
    answer = capsys.readouterr()
    assert f"copied\t{len(wanted)}\n" in answer.out
    assert f"{len(wanted)} versions of 4 names copied, 0 were there already" in answer.err
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["present"] == len(wanted)
    assert main(["migrate", source, target, "--layout-to", "none"]) == 2
    with connect(target, "agent-mesh") as ws:
        ws.remove("r.csv")
    assert main(words) == 0
    assert "removed\t2\n" in capsys.readouterr().out
    with connect(target, "agent-mesh") as ws:
        assert ws.versions("r.csv") == []
    (tmp_path / "to/shop/ann/s1/big.bin/0").write_bytes(b"changed")
    assert main(words) == 1
    assert "with other bytes" in capsys.readouterr().out


@pytest.mark.parametrize("layout", ["agent-mesh", "adk"])
def test_names_with_slashes_in_a_bucket_are_copied_where_the_application_is_named(fresh: Any, layout: str) -> None:
    source, target = fresh("memory"), fresh("memory")
    with connect(source, layout) as ws:
        for name in ("a/b.csv", "user:a/b.csv", "plain.csv"):
            ws.save(name, name)
    if layout == "adk":
        # Agent Mesh says in the metadata whose an object is; the kit does not.
        whole = migrate_stores(source, fresh("memory"), layout_from=layout)
        assert (whole.copied, [line.partition(":")[0] for line in whole.failures]) == (2, ["shop/ann/s1/a/b.csv/0"])
    done = migrate_stores(source, target, layout_from=layout, prefix=scope_of("shop"))
    assert (done.copied, done.failures) == (3, [])
    with connect(target) as ws:
        assert {name: content(ws.load(name)).decode() for name in ws.filenames()} == {
            name: name for name in ("a/b.csv", "user:a/b.csv", "plain.csv")
        }
