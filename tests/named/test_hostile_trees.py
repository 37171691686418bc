"""A peer's store that somebody else filled with anything: listed, read and copied without harm."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

import kmnb
from kmnb.errors import KmnbError
from kmnb.ops.migrate import migrate_stores, scope_of
from kmnb.ops.workspace import Workspace
from tests.named.peers import MeshTree, RawBucket

NAMES = {"app": "shop", "user": "ann", "session": "s1"}
NAMES_IN_FOLDERS = [b"\xff\xfe", b"a\nb", b"c\x1b[31m", b"d\\e", b" f ", b"-g", b"h@1", b"user:i", b"%2e%2e",
                    b"\xe2\x80\xaej"]  # fmt: skip
DOCUMENTS = [
    b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"a": ' * 5000,
    json.dumps({"timestamp_utc": 10**400, "size_bytes": "x", "schema": [], "tags": {}}).encode(),
    b'{"timestamp_utc": NaN, "schema": {"columns": [1, null]}, "size_bytes": 1}',
    b'{"description": "\\ud800", "size_bytes": 1, "\\udfff": 1}',
    b'{"mime_type": ["x"], "mimeType": {"a": 1}, "customMetadata": [1], "displayName": 5, "createTime": ""}',
    b'{"mimeType": "a/b\\r\\nX: y", "mime_type": "\\u0000", "createTime": 1e400, "kmnb": "../../x"}',
]  # fmt: skip


def connect(url: str, layout: str) -> Workspace:
    return kmnb.connect(url, layout=layout, config={"sweep_on_connect": False}, **NAMES)


def use(ws: Workspace) -> list[str]:
    """Everything that reads."""
    names = ws.filenames()
    for name in names:
        for version in ws.versions(name):
            art = ws.load(name, version=version)
            assert art.read(0, 10) is not None
            json.dumps(ws.metadata(name, version=version))
            assert repr(art)
            ws.project(art, "reference")
    assert len(list(ws.doctor())) > 3
    return names


@pytest.mark.parametrize("number", range(len(DOCUMENTS)))
@pytest.mark.parametrize("layout", ["agent-mesh", "adk"])
def test_any_document_beside_a_version(tmp_path: Path, layout: str, number: int) -> None:
    base = tmp_path / "base"
    if layout == "agent-mesh":
        folder = base / "shop/ann/s1/x"
        folder.mkdir(parents=True)
        (folder / "0").write_bytes(b"x")
        (folder / "0.meta").write_bytes(DOCUMENTS[number])
        MeshTree(base).put("shop/ann/s1/x.metadata.json", 0, DOCUMENTS[number])
    else:
        folder = base / "apps/shop/users/ann/sessions/s1/artifacts/x/versions/0"
        folder.mkdir(parents=True)
        (folder / "x").write_bytes(b"x")
        (folder / "metadata.json").write_bytes(DOCUMENTS[number])
    with connect(base.as_uri(), layout) as ws:
        assert use(ws) == ["x"]
        assert ws.append("x", "y").version == 1
        assert ws.load("x").read(0, 2) == b"xy"
    done = migrate_stores(base.as_uri(), (tmp_path / "to").as_uri(), layout_from=layout)
    assert done.copied + len(done.failures) == 2


@pytest.mark.parametrize("layout", ["agent-mesh", "adk"])
def test_any_name_in_a_folder(tmp_path: Path, layout: str) -> None:
    base = tmp_path / "base"
    scope = base / ("shop/ann/s1" if layout == "agent-mesh" else "apps/shop/users/ann/sessions/s1/artifacts")
    for name in (
        b"\xff\xfe",
        b"a\nb",
        b"c\x1b[31m",
        b"d\\e",
        b" f ",
        b"-g",
        b"h@1",
        b"user:i",
        b"%2e%2e",
        b"\xe2\x80\xaej",
    ):
        folder = os.path.join(os.fsencode(scope), name)
        inside = folder if layout == "agent-mesh" else os.path.join(folder, b"versions", b"0")
        os.makedirs(inside)
        last = b"0" if layout == "agent-mesh" else name
        with open(os.path.join(inside, last), "wb") as file:
            file.write(b"x")
    (scope / "loop").symlink_to(scope)
    (scope / "file").write_text("no folder")
    (scope / "deep" / ("versions" if layout == "adk" else "9") / "0").mkdir(parents=True)
    with connect(base.as_uri(), layout) as ws:
        names = use(ws)
    assert "-g" in names
    assert not any("\udcff" in name for name in names)
    assert migrate_stores(base.as_uri(), (tmp_path / "to").as_uri(), layout_from=layout).copied == len(names)


INSIDE = ["x/0", "x/00", "x/-1", "x/1.5", "x/999999999999999999999", "0", "x/y/z/0", "user:u/0", "d\\e/0", "c\x1b/0",
          "%2e/0"]  # fmt: skip
BESIDE = ["shop/ann/user/plain/0", "a/0", "other", "shop/ann/s1/q/0/0"]


@pytest.mark.parametrize("layout", ["agent-mesh", "adk"])
def test_any_path_in_a_bucket(layout: str) -> None:
    url = f"memory://hostile-{layout}"
    raw = RawBucket(url)
    told = {"user_id": "bob", "session_id": "\\x", "original_filename": "\\ud800", "kmnb": "?"}
    taken = 0
    for path in [*(f"shop/ann/s1/{name}" for name in INSIDE), *BESIDE]:
        # Some paths no bucket takes.
        with suppress(Exception):
            raw.put(path, b"x", **(told if "q/" in path else {}))
            taken += 1
    assert taken > 10
    with connect(url, layout) as ws:
        names = use(ws)
        assert "x" in names
        assert 0 in ws.versions("x")
        assert ws.save("x", "next").version == max(ws.versions("x"))
        with pytest.raises(KmnbError):
            ws.load("../x")
    done = migrate_stores(url, f"{url}-to", layout_from=layout, prefix=scope_of("shop"))
    assert done.copied >= len(names)
