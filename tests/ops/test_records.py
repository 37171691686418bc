"""The record of a named version: metadata, companion, labels, restore, copy, differences."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from kmnb.errors import ArtifactNotFound, BadRequest, BoundExceeded
from kmnb.ops.workspace import Workspace


def content(art: Any) -> bytes:
    return art.read(0, art.size or 0)


def test_metadata_tells_everything_without_the_bytes(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    ws.save(
        "report.csv", "name,pods\na,1\nb,2\n",
        metadata={"description": "pods", "size_bytes": 7, "filename": "x"}, source="kubectl", tags=["a", "b"],
    )  # fmt: skip
    area = type(ws.context.backend.named)
    for verb in ("get_range", "stream"):
        monkeypatch.setattr(area, verb, None)
    found = ws.metadata("report.csv")
    assert (found["filename"], found["size_bytes"], found["mime_type"]) == ("report.csv", 18, "text/csv")
    assert (found["source"], found["tags"], found["description"]) == ("kubectl", ["a", "b"], "pods")
    assert (found["schema"]["columns"], found["schema"]["rows"]) == (["name", "pods"], 2)
    assert found["timestamp_utc"] > 1.7e9


def test_the_companion_is_a_view_in_lockstep(ws: Workspace) -> None:
    ws.save("report.csv", "a\n1\n", metadata={"n": 0})
    ws.save("report.csv", "a\n1\n2\n", metadata={"n": 1})
    assert ws.versions("report.csv.metadata.json") == [0, 1]
    for version in (0, 1):
        companion = ws.load("report.csv.metadata.json", version=version)
        document = json.loads(content(companion))
        assert (companion.version, document["n"], document["size_bytes"]) == (version, version, 4 + 2 * version)
        assert companion.jmespath("n").values == [version]
    assert ws.load("report.csv.metadata.json").uri.endswith("report.csv.metadata.json/versions/1")
    assert ws.filenames() == ["report.csv"]
    ws.remove("report.csv")
    with pytest.raises(ArtifactNotFound):
        ws.load("report.csv.metadata.json")


def test_a_real_artifact_of_that_name_wins_over_the_view(ws: Workspace) -> None:
    ws.save("a.txt", "x")
    ws.save("a.txt.metadata.json", "{}")
    assert content(ws.load("a.txt.metadata.json")) == b"{}"


def test_pins_and_labels_find_a_version(ws: Workspace) -> None:
    for number in range(4):
        ws.save("a.txt", f"{number}")
    assert ws.label("a.txt", "approved", version=1) == 1
    assert ws.label("a.txt", "draft") == 3
    found = {pin: content(ws.load(f"a.txt@{pin}")) for pin in ("0", "latest", "approved", "draft")}
    assert found == {"0": b"0", "latest": b"3", "approved": b"1", "draft": b"3"}
    ws.label("a.txt", "approved", version=2)
    assert ws.labels("a.txt") == {"approved": 2, "draft": 3}
    ws.unlabel("a.txt", "draft")
    ws.unlabel("a.txt", "never")
    with pytest.raises(ArtifactNotFound, match="Its labels are approved"):
        ws.load("a.txt@draft")
    with pytest.raises(BadRequest, match="pins version 2"):
        ws.load("a.txt@approved", version=1)
    with pytest.raises(ArtifactNotFound):
        ws.label("a.txt", "x", version=9)


def test_a_name_with_an_at_sign_is_itself_first(ws: Workspace) -> None:
    ws.save("mail@example.csv", "x")
    ws.save("mail@example.csv", "y")
    assert content(ws.load("mail@example.csv")) == b"y"
    assert content(ws.load("mail@example.csv@0")) == b"x"


def test_a_label_goes_with_its_version_and_protects_it_from_retention(ws: Workspace) -> None:
    for number in range(3):
        ws.save("a.txt", f"{number}")
    ws.label("a.txt", "approved", version=0)
    assert ws.retain(keep_last=1, dry_run=False).deleted == 1
    assert ws.versions("a.txt") == [0, 2]
    ws.delete(ws.load("a.txt", version=0))
    assert ws.labels("a.txt") == {}


def test_restore_makes_an_old_version_the_latest_with_its_metadata(ws: Workspace) -> None:
    ws.save("a.txt", "old", metadata={"by": "me"})
    ws.save("a.txt", "new")
    assert (ws.restore("a.txt", 0).version, content(ws.load("a.txt"))) == (2, b"old")
    found = ws.metadata("a.txt")
    assert (found["by"], found["restored_from"]) == ("me", 0)


def test_copy_takes_a_version_to_another_name(ws: Workspace) -> None:
    ws.save("a.txt", "0", tags=["x"])
    ws.save("a.txt", "1")
    assert content(ws.copy("a.txt", "user:b.txt", version=0)) == b"0"
    assert ws.metadata("user:b.txt")["tags"] == ["x"]
    assert ws.copy("a.txt@latest", "user:b.txt").version == 1


def test_versions_are_compared_by_what_they_hold(ws: Workspace) -> None:
    ws.save("t.csv", "a,b\n1,2\n3,4\n")
    ws.save("t.csv", "a,b,c\n3,4,x\n5,6,y\n")
    table = ws.diff("t.csv", 0)
    assert (table.kind, table.added, table.removed, table.columns_added) == ("rows", 1, 1, ("c",))
    for pack in (gzip.compress, lambda raw: raw.decode().encode("utf-16")):
        ws.save("packed.csv", pack(b"a,b\n1,2\n3,4\n5,6\n"))
        ws.save("packed.csv", pack(b"a,b\n1,2\n3,5\n5,6\n"))
        packed = ws.diff("packed.csv", ws.versions("packed.csv")[-2])
        assert (packed.kind, packed.added, packed.removed) == ("rows", 1, 1)
    ws.save("d.json", {"a": 1})
    ws.save("d.json", {"a": 2})
    assert ws.diff("d.json", 0, 1).text == "~ $.a: 1 → 2\n"
    ws.save("n.txt", "one\ntwo\n")
    ws.save("n.txt", "one\nTWO\n")
    assert ws.diff("n.txt", 0).text == "-two\n+TWO\n"
    ws.save("b.bin", b"\x00\x01")
    ws.save("b.bin", b"\x00\x02")
    assert ws.diff("b.bin", 0).kind == "bytes"
    assert ws.diff("b.bin", 1, 1).is_same


def test_what_is_too_large_to_compare_is_a_bound(ws: Workspace) -> None:
    for byte in (b"x", b"y"):
        ws.save("large.txt", byte * 17_000_000)
    with pytest.raises(BoundExceeded, match="bytes"):
        ws.diff("large.txt", 0)
