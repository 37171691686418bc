"""Projection: nothing, a typed reference, or a typed content part."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.errors import ArtifactNotFound, BadRequest
from kmnb.ops.workspace import Workspace

CSV = "name,pods\nkube-system,9\n"


def test_by_default_nothing_enters_the_history_and_the_artifact_stays_loadable(ws: Workspace) -> None:
    art = ws.save("report.csv", CSV)
    assert ws.project(art) is None
    assert ws.load("report.csv").size == len(CSV)


def test_a_reference_tells_name_size_type_version_and_schema_and_has_no_url(ws: Workspace) -> None:
    art = ws.save("report.csv", CSV)
    assert ws.project(art, "reference") == {
        "type": "artifact_reference",
        "name": "report.csv",
        "version": 0,
        "mime_type": "text/csv",
        "size_bytes": 24,
        "schema": {
            "columns": [{"name": "name", "type": "text"}, {"name": "pods", "type": "integer"}],
            "rows": 1,
        },
    }
    assert "://" not in json.dumps(ws.project(art, "reference"))


def test_a_reference_is_the_same_bytes_at_every_turn(connect: Any) -> None:
    ws = connect(handling_mode="reference")
    first = json.dumps(ws.project(ws.save("user:a b.csv", CSV)))
    ws.save("user:a b.csv", CSV + "x,1\n")
    again = connect(handling_mode="reference")
    assert json.dumps(again.project(again.load("user:a b.csv", version=0))) == first
    assert json.loads(first)["name"] == "user:a b.csv"


def test_a_wide_table_has_a_short_reference(ws: Workspace) -> None:
    header = ",".join(f"column-{number}-{'x' * 200}" for number in range(500))
    reference = ws.project(ws.save("wide.csv", f"{header}\n{',' * 499}\n"), "reference")
    assert reference is not None
    assert len(json.dumps(reference)) < 8192


def test_an_embedded_artifact_is_a_text_an_image_or_a_file(ws: Workspace) -> None:
    text = ws.project(ws.save("report.csv", CSV), "embed")
    assert text == {"type": "text", "name": "report.csv", "version": 0, "mime_type": "text/csv", "text": CSV}
    image = ws.project(ws.save("dot.png", b"\x89PNG\r\n\x1a\n", media_type="image/png"), "embed")
    assert image is not None
    assert (image["type"], base64.b64decode(image["data"])) == ("image", b"\x89PNG\r\n\x1a\n")
    broken = ws.project(ws.save("broken.txt", b"\xff\xfe\x00", media_type="text/plain"), "embed")
    assert broken is not None
    assert (broken["type"], base64.b64decode(broken["data"])) == ("file", b"\xff\xfe\x00")


def test_the_cap_is_inclusive_and_decided_before_anything_is_read(connect: Any, monkeypatch: Any) -> None:
    ws = connect(config={"embed_max_bytes": 10})
    fits, large = ws.save("fits.txt", "x" * 10), ws.save("large.txt", "x" * 11)
    assert ws.project(fits, "embed")["text"] == "x" * 10

    def refuse(*args: Any, **options: Any) -> None:
        raise AssertionError("the bytes were read")

    monkeypatch.setattr(type(ws.context.backend.named), "stream", refuse)
    assert ws.project(large, "embed") == ws.project(large, "reference")


def test_a_discussion_artifact_is_projected_by_its_key(ws: Workspace) -> None:
    art = ws.put(CSV, tool="kubectl")
    reference = ws.project(art, "reference")
    assert reference is not None
    assert (reference["name"], reference["version"], reference["size_bytes"]) == (art.key, None, 24)


def test_a_name_stands_for_its_latest_version_and_the_twin_gives_the_same(ws: Workspace) -> None:
    art = ws.save("report.csv", CSV)
    assert ws.project("report.csv", "embed") == run(ws._project(art, "embed"))
    assert ws.project("report.csv.metadata.json", "reference")["name"] == "report.csv.metadata.json"  # type: ignore[index]


def test_an_unknown_mode_and_a_missing_name_are_errors(ws: Workspace) -> None:
    with pytest.raises(BadRequest, match="Known: ignore, reference, embed"):
        ws.project(ws.save("a.txt", "a"), "inline")
    with pytest.raises(ArtifactNotFound):
        ws.project("none.txt", "embed")
