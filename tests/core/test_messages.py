"""Discussion messages: the peer's shape, the tolerant recipe, and the scope check."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.messages import FORM_A_TYPE, RawMessage, parse_message, write_message
from kmnb.core.subjects import Place

PLACE = Place("ns", "pilot", "t1", "broadcast")
KEY = "ns/pilot/t1/kube/x-0"
NAMES = {
    "messageId": "m1", "threadId": "t1", "agentName": "kube", "messageType": "agree",
    "channel": "broadcast", "timestamp": "2026-06-25T12:00:00Z",
}  # fmt: skip


def test_a_written_message_has_the_fields_of_the_peer_and_is_read_again() -> None:
    spilled = {"content": f"[ARTIFACT key={KEY} bytes=5 - x]", "metadata": {"artifact": {"key": KEY, "bytes": 5}}}
    data = write_message(spilled, names=NAMES, facts={"exitCode": 0})
    value = json.loads(data)
    assert list(value) == [
        "messageId", "threadId", "agentName", "messageType", "content", "channel", "timestamp", "metadata",
    ]  # fmt: skip
    assert value["metadata"] == {
        "signal": "agree",
        "exitCode": 0,
        "artifact": {"key": KEY, "bytes": 5},
        "source": "kmnb",
    }
    raw = parse_message(data, PLACE)
    assert raw is not None
    assert (raw.message_id, raw.agent, raw.message_type, raw.text) == ("m1", "kube", "agree", "")
    assert [found.key for found in raw.envelopes] == [KEY]


@pytest.mark.parametrize(
    "key",
    ["other/pilot/t1/a/x-0", "ns/other/t1/a/x-0", "ns/pilot/t10/a/x-0", "a/b/c/d", "../../x", "ns/pilots/t1/a/x/y"],
)
def test_a_reference_to_another_place_is_ignored(key: str) -> None:
    message = {"messageId": "m", "content": "text", "metadata": {"artifact": {"key": key}}}
    raw = parse_message(json.dumps(message).encode(), PLACE)
    assert raw is not None
    assert raw.envelopes == ()


@pytest.mark.parametrize(
    "key", ["ns/pilot/t1/a/agree-uuid", "pilot/t1/a/x-0", "ns/pilot/conv/t1/a/x-0", "ns/pilot/a=20b"]
)
def test_older_keys_of_the_place_are_read(key: str) -> None:
    message = {"content": f"[ARTIFACT key={key} bytes=1 - x]"}
    raw = parse_message(json.dumps(message).encode(), PLACE)
    assert raw is not None
    assert [found.key for found in raw.envelopes] == [key]


def test_a_reference_message_of_form_a_is_read_by_its_subject() -> None:
    place = Place("ns", "pilot", "t1")
    raw = parse_message(json.dumps({"artifact": {"key": KEY, "agent": "kube"}}).encode(), place)
    assert raw is not None
    assert (raw.message_type, raw.agent) == (FORM_A_TYPE, "kube")
    assert parse_message(b'{"other": 1}', place) is None
    assert parse_message(json.dumps({"artifact": {"key": "x/y/z/a/b-0"}}).encode(), place) is None


@given(
    st.binary()
    | st.text().map(str.encode)
    | st.from_type(dict).map(lambda value: json.dumps(value, default=str).encode())
)
def test_no_payload_makes_the_reader_fail(data: bytes) -> None:
    for place in (PLACE, Place("ns", "pilot", "t1")):
        assert isinstance(parse_message(data, place), RawMessage | None)
