"""Reading references in every form that a peer writes, and surviving everything else."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.envelope import Envelope
from kmnb.core.references import (
    find_markers,
    has_marker,
    read_form_a,
    read_message,
    read_reference,
    read_time,
    strip_markers,
)
from kmnb.errors import EnvelopeError, KmnbError

KEY = "team-a/pilot/conv1/thread1/k8s-config/resources_list-0"
BARE = {"bucket": "b", "key": KEY, "bytes": 5, "rows": 247, "tool": "agree", "preview": "head"}
OLD_MARKER = f"[ARTIFACT key={KEY} bytes=5 - full data materialized at /artifacts/{KEY}]"


@pytest.mark.parametrize(
    "value",
    [
        BARE,
        json.dumps(BARE),
        json.dumps(BARE).encode(),
        {"artifact": BARE},
        json.dumps({"artifact": BARE, "extra": [1]}),
        {"messageId": "m", "content": OLD_MARKER, "metadata": {"artifact": BARE}},
        {"content": json.dumps({"artifact": BARE})},
        {"content": f"look: {OLD_MARKER} and {OLD_MARKER}", "metadata": {}},
        OLD_MARKER,
        f"[ARTIFACT key={KEY}]",
        f"text before {OLD_MARKER} and after",
    ],
)
def test_every_form_gives_the_key(value: object) -> None:
    assert read_reference(value).key == KEY


@pytest.mark.parametrize(
    "text", ["default: 3 ConfigMaps", '{"artifact":{}}', '{"artifact":{"bucket":"b"}}', "{ broken", '{"other":1}', ""]
)
def test_the_peers_non_references_are_none(text: str) -> None:
    assert read_form_a(text) is None
    with pytest.raises(EnvelopeError):
        read_reference(text)


def test_a_form_a_message_keeps_its_facts() -> None:
    envelope = read_form_a(json.dumps({"artifact": BARE}))
    assert envelope is not None
    assert (envelope.key, envelope.rows, envelope.preview) == (KEY, 247, "head")


def test_values_of_a_wrong_type_are_left_out() -> None:
    envelope = read_reference(
        {
            "key": "k",
            "bytes": "many",
            "rows": -1,
            "lines": True,
            "createdAt": "yesterday",
            "digest": "md5:x",
            "columns": ["a", 1],
            "tool": 7,
            "exitCode": "0",
        }
    )
    assert envelope == Envelope("k")


@pytest.mark.parametrize(
    "text",
    ["2026-06-25T12:00:00Z", "2026-06-25T12:00:00.000000000Z", "2026-06-25T14:00:00+02:00", "2026-06-25T12:00:00"],
)
def test_a_time_of_any_precision_and_zone_is_read_as_utc(text: str) -> None:
    assert read_time(text) == datetime(2026, 6, 25, 12, tzinfo=UTC)


@pytest.mark.parametrize("value", ["", "garbage", None, 5, "9999-99-99T00:00:00Z", "0001-01-01T00:00:00+23:59"])
def test_an_unreadable_time_is_none(value: object) -> None:
    assert read_time(value) is None


def test_several_markers_are_found_each_key_once() -> None:
    text = "one [ARTIFACT key=a/b bytes=4] two [ARTIFACT key=c/d] again [ARTIFACT key=a/b]"
    assert [(found.key, found.bytes) for found in find_markers(text)] == [("a/b", 4), ("c/d", None)]
    with pytest.raises(EnvelopeError, match="2 artifacts"):
        read_reference(text)


@pytest.mark.parametrize("size", ["bytes=lots", "bytes=-4", "bytes=1234567890123", "size=4"])
def test_a_size_in_another_wording_is_unknown(size: str) -> None:
    assert find_markers(f"[ARTIFACT key=a/b {size} - x]")[0].bytes is None


def test_markers_are_removed_with_the_blanks_before_them() -> None:
    assert strip_markers("answer  \n[ARTIFACT key=a/b bytes=4 - /artifacts/a/b] end") == "answer end"
    assert strip_markers("no marker ") == "no marker "
    long = "A" * 20_000
    assert strip_markers(f"{long} {OLD_MARKER}") == long


def test_a_marker_with_a_key_that_leaves_its_folder_is_ignored() -> None:
    assert find_markers("[ARTIFACT key=../../etc/passwd bytes=1 - x]") == ()
    assert not has_marker("[ARTIFACT key=a never closed")


def test_metadata_comes_before_content_and_content_json_before_markers() -> None:
    other = {"artifact": {"key": "from/json"}}
    message = {"content": json.dumps(other), "metadata": {"artifact": BARE}}
    assert [found.key for found in read_message(message)] == [KEY]
    assert [found.key for found in read_message({"content": json.dumps(other), "metadata": None})] == ["from/json"]
    assert read_message({"content": 5}) == ()


@given(st.text() | st.binary())
def test_no_text_makes_a_reader_fail_in_another_way_than_its_error(value: str | bytes) -> None:
    with contextlib.suppress(KmnbError):
        read_reference(value)
    assert read_form_a(value) is None or b"key" in (value if isinstance(value, bytes) else value.encode())


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["artifact", "key", "metadata", "content", "bytes", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_no_json_makes_a_reader_fail_in_another_way_than_its_error(value: object) -> None:
    with contextlib.suppress(KmnbError):
        assert read_reference(value).key
    if isinstance(value, dict):
        assert all(found.key for found in read_message(value))


def test_a_text_of_unclosed_markers_is_read_in_linear_time() -> None:
    assert find_markers("[ARTIFACT key=a " * 200_000) == ()
    assert len(find_markers("[ARTIFACT key=" * 200_000 + "]")) <= 1
    assert has_marker(" " * 500_000 + "[ARTIFACT key=a]")
