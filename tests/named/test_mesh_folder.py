"""A folder of Agent Mesh, opened as it is: read, written so that the peer reads it, its defects repaired or told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import kmnb
from kmnb.errors import ArtifactNotFound, BadRequest, KeySyntaxError, NotSupported, VersionConflict
from kmnb.ops.workspace import Workspace
from kmnb.testing import scratch
from tests.named.peers import MeshTree

Open = Callable[..., Workspace]


def content(art: Any) -> bytes:
    return art.read(0, art.size or 0)


@pytest.fixture
def tree(tmp_path: Path) -> MeshTree:
    return MeshTree(tmp_path / "base")


@pytest.fixture
def connect(tree: MeshTree) -> Iterator[Open]:
    opened: list[Workspace] = []

    def open_one(**names: Any) -> Workspace:
        given = {"app": "shop", "user": "ann", "session": "s1", **names}
        workspace = kmnb.connect(
            f"file://{tree.root}", layout="agent-mesh", config={"sweep_on_connect": False}, **given
        )
        opened.append(workspace)
        return workspace

    yield open_one
    for workspace in opened:
        workspace.close()


def test_what_the_peer_saved_is_listed_loaded_and_described(tree: MeshTree, connect: Open) -> None:
    tree.save("shop/ann/s1/report.csv", 0, b"a,b\n1,2\n", description="first", tags=["x"])
    tree.save("shop/ann/s1/report.csv", 1, b"a,b\n1,2\n3,4\n", schema={"columns": ["a", "b"]})
    tree.save("shop/ann/user/prefs.csv", 0, b"k\n")
    ws = connect()
    assert ws.filenames() == ["report.csv", "user:prefs.csv"]
    assert ws.versions("report.csv") == [0, 1]
    assert content(ws.load("report.csv", version=0)) == b"a,b\n1,2\n"
    assert (ws.load("report.csv").media_type, ws.load("user:prefs.csv").size) == ("text/csv", 2)
    assert ws.load("report.csv").select(["b"]).values == [{"b": "2"}, {"b": "4"}]
    assert ws.metadata("report.csv", version=0)["description"] == "first"
    assert ws.metadata("report.csv")["schema"]["columns"] == ["a", "b"]
    companion = json.loads(content(ws.load("report.csv.metadata.json", version=0)))
    assert (companion["tags"], companion["size_bytes"]) == (["x"], 8)


def test_what_is_saved_lies_where_the_peer_looks_with_type_and_companion(tree: MeshTree, connect: Open) -> None:
    ws = connect()
    assert ws.save("report.csv", "a,b\n1,2\n", metadata={"description": "d", "size_bytes": 5}, source="t").version == 0
    assert ws.append("report.csv", "3,4\n").version == 1
    ws.save("user:prefs.json", {"k": 1})
    assert tree.load("shop/ann/s1/report.csv", 0) == (b"a,b\n1,2\n", "text/csv")
    assert tree.load("shop/ann/s1/report.csv", 1) == (b"a,b\n1,2\n3,4\n", "text/csv")
    assert tree.load("shop/ann/user/prefs.json", 0) == (b'{"k": 1}', "application/json")
    assert tree.keys("shop/ann/s1") == ["report.csv", "report.csv.metadata.json"]
    assert tree.versions("shop/ann/s1/report.csv.metadata.json") == [0, 1]
    raw, mime = tree.load("shop/ann/s1/report.csv.metadata.json", 0) or (b"", "")
    told = json.loads(raw)
    assert mime == "application/json"
    assert (told["filename"], told["mime_type"], told["size_bytes"]) == ("report.csv", "text/csv", 8)
    assert (told["description"], told["source"], told["schema"]["columns"]) == ("d", "t", ["a", "b"])
    assert ws.load("report.csv").digest is not None
    assert ws.load("report.csv").rows == 2


def test_kmnb_goes_on_where_the_peer_stopped_and_the_peer_where_kmnb_stopped(tree: MeshTree, connect: Open) -> None:
    for version in range(3):
        tree.save("shop/ann/s1/log.csv", version, b"x" * version)
    ws = connect()
    assert ws.append("log.csv", "y").version == 3
    assert tree.load("shop/ann/s1/log.csv", 3) == (b"xxy", "text/csv")
    tree.save("shop/ann/s1/log.csv", max(tree.versions("shop/ann/s1/log.csv")) + 1, b"peer")
    assert ws.save("log.csv", iter([b"str", b"eam"])).version == 5
    assert ws.save("log.csv", "z", expected_version=5).version == 6
    with pytest.raises(VersionConflict, match="latest version is 6, expected was 4"):
        ws.save("log.csv", "z", expected_version=4)
    assert [content(ws.load("log.csv", version=n)) for n in (4, 5, 6)] == [b"peer", b"stream", b"z"]


def test_numbers_are_not_used_again_after_a_removal_by_kmnb(tree: MeshTree, connect: Open) -> None:
    tree.save("shop/ann/s1/x", 0, b"old")
    tree.save("shop/ann/s1/x", 1, b"older")
    ws = connect()
    assert ws.remove("x") == 2
    assert not (tree.root / "shop/ann/s1").exists()
    assert connect().save("x", "new").version == 2
    assert tree.versions("shop/ann/s1/x") == [2]


def test_an_append_does_not_wait_for_versions_that_the_peer_removed(tree: MeshTree, connect: Open) -> None:
    ws = connect()
    for _ in range(3):
        ws.save("x", "a")
    for path in [*(tree.root / "shop/ann/s1/x").iterdir(), *(tree.root / "shop/ann/s1/x.metadata.json").iterdir()]:
        path.unlink()
    tree.save("shop/ann/s1/x", 0, b"peer")
    later = connect()
    art = _in_a_day(later).append("x", "b")
    assert (art.version, content(art)) == (3, b"peerb")
    # What is kept of the removed version 0 does not describe the peer's new one.
    assert later.load("x", version=0).digest is None


def _in_a_day(ws: Workspace) -> Workspace:
    moment = datetime.now(UTC) + timedelta(days=1)
    return Workspace(replace(ws.context, clock=lambda: moment))


def test_fifty_saves_and_twenty_appends_at_once_lose_nothing(tree: MeshTree, connect: Open) -> None:
    ws = connect()
    with ThreadPoolExecutor(16) as pool:
        saved = list(pool.map(lambda number: ws.save("x", f"{number}").version, range(50)))
        list(pool.map(lambda number: ws.append("log", f"<{number}>"), range(20)))
    assert sorted(saved) == tree.versions("shop/ann/s1/x") == list(range(50))
    assert {tree.load("shop/ann/s1/x", n) for n in range(50)} == {(b"%d" % n, "text/plain") for n in range(50)}
    last = tree.load("shop/ann/s1/log", 19)
    assert last is not None
    assert sorted(last[0].decode().strip("<>").split("><"), key=int) == [str(number) for number in range(20)]


def test_companions_that_were_shifted_by_a_failed_write_are_matched_again(tree: MeshTree, connect: Open) -> None:
    """Compat 3: after one failed metadata write, version 0 shows the description of version 1."""
    tree.save("shop/ann/s1/r.csv", 0, b"a\n", companion=7, description="lost")
    (tree.root / "shop/ann/s1/r.csv.metadata.json/7").unlink()
    tree.save("shop/ann/s1/r.csv", 1, b"a\n1\n", companion=0, description="one")
    tree.save("shop/ann/s1/r.csv", 2, b"a\n1\n2\n", companion=1, description="two")
    ws = connect()
    assert [ws.metadata("r.csv", version=n).get("description") for n in range(3)] == [None, "one", "two"]
    assert ws.save("r.csv", "a\n", metadata={"description": "three"}).version == 3
    assert ws.metadata("r.csv")["description"] == "three"
    assert tree.versions("shop/ann/s1/r.csv.metadata.json") == [0, 1, 3]
    finding = next(found for found in ws.doctor() if found.name == "layout")
    assert finding.status == "warning"
    assert "r.csv/0: no companion describes it" in finding.detail
    assert "r.csv/2: its companion has the number 1" in finding.detail


def test_core_fields_that_a_caller_overwrote_are_those_of_the_store_again(tree: MeshTree, connect: Open) -> None:
    tree.save("shop/ann/s1/r.csv", 0, b"a\n", size_bytes=99, filename="evil", description="d")
    ws = connect()
    told = ws.metadata("r.csv")
    assert (told["filename"], told["size_bytes"], told["description"]) == ("r.csv", 2, "d")
    assert "tells another size" in next(found for found in ws.doctor() if found.name == "layout").detail


def test_a_version_without_its_meta_is_read_and_told(tree: MeshTree, connect: Open) -> None:
    tree.put("shop/ann/s1/half", 0, b"bytes", mime=None)
    ws = connect()
    assert content(ws.load("half")) == b"bytes"
    assert "0.meta is missing" in next(found for found in ws.doctor() if found.name == "layout").detail
    assert ws.append("half", " and more").version == 1
    assert tree.load("shop/ann/s1/half", 1) == (b"bytes and more", "text/plain")


@pytest.mark.parametrize("namespace", ["org1/dev", "dev"])
def test_a_namespace_is_its_last_part_as_with_the_peer_and_doctor_tells(
    tree: MeshTree, connect: Open, namespace: str
) -> None:
    tree.save("dev/ann/s1/x", 0, b"shared")
    ws = connect(app=namespace)
    assert content(ws.load("x")) == b"shared"
    status = next(found for found in ws.doctor() if found.name == "layout").status
    assert status == ("warning" if "/" in namespace else "ok")


def test_a_namespace_with_a_trailing_slash_is_found_where_the_peer_put_it(tree: MeshTree, connect: Open) -> None:
    tree.save("ann/s1/x", 0, b"shared")
    ws = connect(app="shop/")
    assert content(ws.load("x")) == b"shared"
    assert ws.save("x", "more").version == 1
    assert tree.versions("ann/s1/x") == [0, 1]
    assert "one tree" in next(found for found in ws.doctor() if found.name == "layout").detail


def test_names_in_another_unicode_form_can_be_listed_and_removed(tree: MeshTree, connect: Open) -> None:
    """Compat 2.4, 6: the peer saves the NFKC name, and removes the one that it was given."""
    tree.save("shop/ann/s1/a b.csv", 0, b"x")
    ws = connect()
    given = "a\u202fb.csv"
    assert ws.versions(given) == [0]
    assert content(ws.load(given)) == b"x"
    assert ws.save(given, "y").version == 1
    assert ws.filenames() == ["a b.csv"]
    assert ws.remove(given) == 2
    assert ws.filenames() == []


@pytest.mark.parametrize(
    ("names", "filename"),
    [
        ({"user": "t1/bob"}, "x"),
        ({"session": "a/b"}, "x"),
        ({"session": "user"}, "x"),
        ({"app": ".kmnb"}, "x"),
        ({}, "a/rep.csv"),
    ],
)
def test_what_the_layout_would_mix_up_is_refused_and_never_read(
    tree: MeshTree, connect: Open, names: dict[str, str], filename: str
) -> None:
    tree.save("shop/bob/s1/x", 0, b"of t2/bob")
    tree.save("shop/ann/user/x", 0, b"of the user")
    tree.save("shop/ann/b/x", 0, b"of session b")
    tree.save("shop/ann/s1/rep.csv", 0, b"of another folder")
    ws = connect(**names)
    with pytest.raises(KeySyntaxError, match="layout 'agent-mesh' cannot hold it"):
        ws.save(filename, "y")
    with pytest.raises(ArtifactNotFound):
        ws.load(filename)
    assert ws.versions(filename) == []


def test_dots_never_leave_the_place(tree: MeshTree, connect: Open) -> None:
    """Compat 2.4, 4: removing ``..`` removed every session of the user."""
    tree.save("shop/ann/s1/x", 0, b"kept")
    for names, filename in (({}, ".."), ({}, "user:.."), ({"user": ".."}, "x"), ({"session": ".."}, "x")):
        with pytest.raises(KeySyntaxError):
            connect(**names).remove(filename)
    assert tree.versions("shop/ann/s1/x") == [0]


def test_a_link_in_the_tree_leads_nowhere(tree: MeshTree, connect: Open, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    tree.save("shop/ann/s1/x", 0, b"kept")
    (tree.root / "shop/ann/s1/x/1").symlink_to(secret)
    ws = connect()
    assert ws.versions("x") == [0]
    with pytest.raises((ArtifactNotFound, OSError)):
        ws.load("x", version=1)


def test_long_and_foreign_names_work_and_their_keys_are_found_again(tree: MeshTree, connect: Open) -> None:
    name = "日" * 80
    connect().save(name, "x")
    assert tree.versions(f"shop/ann/s1/{name}") == [0]
    ws = connect()
    assert ws.filenames() == [name]
    assert content(ws.get(ws.load(name).uri)) == b"x"


def test_a_large_artifact_is_stored_whole_and_read_by_range(tree: MeshTree, connect: Open) -> None:
    data = bytes(range(256)) * (9 * 4096)
    art = connect().save("big.bin", iter([data[: 2**20], data[2**20 :]]))
    assert (tree.root / "shop/ann/s1/big.bin/0").read_bytes() == data
    assert art.read(2**23 - 1, 3) == data[2**23 - 1 : 2**23 + 2]
    assert list((tree.root / ".kmnb/staging").iterdir()) == []


def test_a_store_without_such_a_layout_says_so(connect: Open) -> None:
    with pytest.raises(BadRequest, match="layout"):
        kmnb.connect("memory://", layout="other")
    with scratch("nats") as place, pytest.raises(NotSupported, match="no peer keeps artifacts on nats"):
        kmnb.connect(place.url, layout="adk")


def test_what_the_peer_wrote_is_sipped_copied_restored_and_compared(tree: MeshTree, connect: Open) -> None:
    tree.save("shop/ann/s1/r.csv", 0, b"a,b\n" + b"".join(b"%d,%d\n" % (n, n * n) for n in range(2000)))
    tree.save("shop/ann/s1/r.csv", 1, b"a,b\n1,2\n", description="small")
    ws = connect()
    art = ws.load("r.csv", version=0)
    page = art.lines(limit=3)
    assert (page.values, art.lines(cursor=page.cursor).values[0]) == (["a,b", "0,0", "1,1"], "2,4")
    assert (art.count().values, art.grep("^1999,").values[0].number, art.to_pandas().shape) == ([2000], 2001, (2000, 2))
    restored = ws.restore("r.csv", 0)
    assert (restored.version, restored.rows, restored.size) == (2, 2000, art.size)
    copied = ws.copy("r.csv@1", "copy.csv")
    assert (copied.rows, ws.metadata("copy.csv")["description"]) == (1, "small")
    assert ws.diff("r.csv", 1, 2).kind == "rows"
    raw, _ = tree.load("shop/ann/s1/r.csv", 2) or (b"", "")
    assert raw == (tree.root / "shop/ann/s1/r.csv/0").read_bytes()


def test_a_number_from_what_the_peer_wrote_can_be_verified(tree: MeshTree, connect: Open) -> None:
    """The peer tells no digest, so the bytes are read for it."""
    tree.save("shop/ann/s1/r.csv", 0, b"a\n1\n2\n")
    ws = connect()
    program = (
        "import os, pathlib\n"
        "(found,) = [path for path in pathlib.Path(os.environ['KMNB_ARTIFACTS']).rglob('0') if path.is_file()]\n"
        "print(len(found.read_text().splitlines()))"
    )
    out = ws.run(program, artifacts=[ws.load("r.csv")])
    assert out.stdout == "3\n"
    assert ws.verify(out.receipt).status == "verified"
    (tree.root / "shop/ann/s1/r.csv/0").write_bytes(b"a\n1\n3\n")
    assert ws.verify(out.receipt).status == "cannot-verify"
