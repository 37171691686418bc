"""What kmnb writes as an envelope: the documented shape, never over 4,096 bytes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.bounds import ENVELOPE_MAX_BYTES
from kmnb.core.envelope import Envelope
from kmnb.core.references import find_markers, read_reference
from kmnb.errors import EnvelopeError

MOMENT = datetime(2026, 6, 25, 12, 0, 0, 123456, tzinfo=UTC)
FULL = Envelope(
    key="team-a/pilot/t1/k8s-config/resources_list-0",
    content_type="application/json",
    bytes=50_032,
    rows=247,
    tool="resources_list",
    agent="k8s-config",
    created_at=MOMENT,
    preview="247 rows · NAME: default, kube-system",
    schema_version=1,
    digest="sha256:" + "0f" * 32,
    lines=250,
    columns=("NAME", "AGE"),
    encoding="utf-8",
    thread_id="t1",
    expires_at=MOMENT,
    exit_code=0,
    args_digest="sha256:" + "1a" * 32,
)
TEXTS = st.text(max_size=3000) | st.text('"\\\x00é日😀\ud800', max_size=6000)


def schema_problems(value: dict) -> list[str]:
    """A small reading of the shipped JSON Schema: required names, types of known ones."""
    schema = json.loads(files("kmnb.core").joinpath("envelope.schema.json").read_text("utf-8"))
    kinds = {"string": str, "integer": int, "array": list}
    problems = [name for name in schema["required"] if name not in value]
    for name, content in value.items():
        known = schema["properties"].get(name)
        if known is None:
            problems.append(f"unknown {name}")
        elif "type" in known and not isinstance(content, kinds[known["type"]]):
            problems.append(f"type of {name}")
    return problems


def test_the_fields_stand_in_the_documented_order_with_the_documented_types() -> None:
    raw = FULL.to_dict()
    assert list(raw)[:9] == [
        "bucket", "key", "contentType", "bytes", "rows", "tool", "agent", "createdAt", "preview",
    ]  # fmt: skip
    assert raw["createdAt"] == "2026-06-25T12:00:00.123456Z"
    assert raw["bucket"] == "kubemoot_discussion_artifacts"
    assert schema_problems(raw) == []


def test_what_was_written_is_read_again() -> None:
    assert read_reference(json.dumps(FULL.to_dict())) == FULL


def test_unknown_facts_are_left_out() -> None:
    assert set(Envelope("a/b").to_dict()) == {"bucket", "key", "tool", "agent", "createdAt", "preview"}


@given(
    preview=TEXTS,
    tool=TEXTS,
    agent=TEXTS,
    columns=st.none() | st.lists(st.text(max_size=300), max_size=200),
    key=st.text("ab/-é", min_size=1, max_size=500),
)
def test_no_content_makes_it_longer_than_the_limit(preview, tool, agent, columns, key) -> None:
    envelope = Envelope(
        key,
        preview=preview,
        tool=tool,
        agent=agent,
        thread_id=agent,
        content_type=tool,
        columns=None if columns is None else tuple(columns),
    )
    for text in (json.dumps(envelope.to_dict()), json.dumps(envelope.to_dict(), ensure_ascii=False)):
        assert len(text.encode()) <= ENVELOPE_MAX_BYTES
        assert json.loads(text)["key"] == key


def test_a_cut_preview_and_a_cut_column_list_say_so() -> None:
    raw = Envelope("k", preview="é" * 5000, columns=tuple(f"column {number}" for number in range(5000))).to_dict()
    assert raw["preview"].endswith("…")
    assert set(raw["preview"]) == {"é", "…"}
    assert raw["columns"][-1] == "… 5000 columns in all"


def test_a_preview_that_fits_is_not_cut() -> None:
    assert Envelope("k", preview="x" * 3500).to_dict()["preview"] == "x" * 3500


def test_a_key_that_fills_the_whole_envelope_is_an_error() -> None:
    with pytest.raises(EnvelopeError, match=r"4,096"):
        Envelope("\x01" * 1024).to_dict()


def test_the_marker_holds_key_and_size_and_no_bracket_inside() -> None:
    text = FULL.marker()
    assert text.startswith("[ARTIFACT key=team-a/pilot/t1/k8s-config/resources_list-0 bytes=50032 - ")
    assert text.index("]") == len(text) - 1
    assert f"/artifacts/{FULL.key}" in text
    assert [found.key for found in find_markers(text)] == [FULL.key]


def test_a_key_that_no_marker_can_hold_is_refused() -> None:
    with pytest.raises(EnvelopeError):
        Envelope("a b").marker()
