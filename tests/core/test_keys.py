"""Keys of discussion artifacts: both grammars, escapes, limits, and the peer's own cases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.keys import (
    DiscussionKey,
    check_key,
    check_prefix,
    escape,
    join_key,
    local_path,
    numbered_name,
    thread_of,
    thread_prefix,
    unescape,
)
from kmnb.errors import KeySyntaxError

IDENTIFIERS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(
    lambda text: text not in (".", "..")
)


@given(IDENTIFIERS)
def test_every_identifier_comes_back_from_its_segment(text: str) -> None:
    assert unescape(escape(text)) == text


@given(IDENTIFIERS, IDENTIFIERS)
def test_two_identifiers_never_share_a_segment(one: str, other: str) -> None:
    assert (escape(one) == escape(other)) == (one == other)


@given(st.lists(IDENTIFIERS, min_size=5, max_size=5))
def test_a_key_holds_exactly_its_five_identifiers(names: list[str]) -> None:
    key = DiscussionKey(*names)
    try:
        text = key.text
    except KeySyntaxError:
        return
    assert text.count("/") == 4
    assert DiscussionKey.parse(text) == key


@given(st.text(max_size=40))
def test_a_foreign_segment_is_read_without_harm(segment: str) -> None:
    name = unescape(segment)
    assert name == segment or escape(name) == segment


@pytest.mark.parametrize(
    "name",
    ["a%20b", "a b", "a+b", "step%26.png", "x:y", "é.csv", "e\u0301.csv", "日本.json", ".hidden", "a..b", "x" * 200],
)
def test_a_difficult_name_stays_itself(name: str) -> None:
    key = DiscussionKey("ns", "crew", "t", "agent", name)
    parsed = DiscussionKey.parse(key.text)
    assert parsed is not None
    assert parsed.name == name


@pytest.mark.parametrize("name", ["", ".", "..", "\ud800"])
def test_an_identifier_that_no_segment_can_be_is_refused(name: str) -> None:
    with pytest.raises(KeySyntaxError):
        escape(name)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "../escape",
        "pilot/../../etc/passwd",
        "a/b/../../../../../../etc/shadow",
        "/rooted",
        "a//b",
        "a/",
        "a/./b",
        "a\0b",
        "a\tb",
        "a\\b",
        "a/\ud800",
        "a/\ufffe",
        "\uffff/a",
    ],
)
def test_a_key_that_leaves_its_folder_is_refused(key: str) -> None:
    with pytest.raises(KeySyntaxError):
        local_path("/artifacts", key)


def test_a_key_of_any_depth_maps_segment_by_segment() -> None:
    assert local_path("/artifacts", "pilot/conv1/thread1/k8s-config/resources_list-0") == (
        "/artifacts/pilot/conv1/thread1/k8s-config/resources_list-0"
    )


def test_a_key_of_exactly_the_limit_passes_and_one_byte_more_names_the_limit() -> None:
    check_key("k" * 1024)
    with pytest.raises(KeySyntaxError, match="KEY_MAX_BYTES"):
        check_key("k" * 1025)
    with pytest.raises(KeySyntaxError, match="1024"):
        check_key("é" * 513)


def test_a_peers_key_is_read_as_it_is() -> None:
    parsed = DiscussionKey.parse("ns-a/homelab-pilot/t1/k8s-config/agree-uuid123")
    assert parsed == DiscussionKey("ns-a", "homelab-pilot", "t1", "k8s-config", "agree-uuid123")
    assert parsed.sequence is None


def test_a_key_of_four_or_six_segments_has_no_parts_but_is_a_key() -> None:
    assert DiscussionKey.parse("crew/t1/agent/agree-u") is None
    assert DiscussionKey.parse("pilot/conv1/a/b/c/d") is None


def test_tool_and_sequence_come_from_a_numbered_name() -> None:
    parsed = DiscussionKey.parse("ns/nocrew/t/a/resources_list-12")
    assert parsed is not None
    assert (parsed.tool, parsed.sequence) == ("resources_list", 12)
    assert DiscussionKey("n", "c", "t", "a", numbered_name("x-1", 3)).tool == "x-1"
    assert DiscussionKey("n", "c", "t", "a", "x-007").sequence is None


def test_the_thread_of_a_key_is_told_for_the_own_crew_only() -> None:
    key = "ns-a/homelab-pilot/t1/agent/agree-u"
    assert thread_of(key, namespace="ns-a", crew="homelab-pilot") == "t1"
    assert thread_of(key, namespace="ns-a", crew="other") is None
    assert thread_of(key, namespace="ns-b", crew="homelab-pilot") is None
    assert thread_of("noslash", namespace="ns-a", crew="homelab-pilot") is None


def test_a_thread_prefix_ends_at_a_segment() -> None:
    assert thread_prefix("ns-a", "homelab-pilot", "t1") == "ns-a/homelab-pilot/t1"
    assert thread_prefix("ns-a", "", "a/b*>") == "ns-a/nocrew/a=2Fb=2A=3E"
    with pytest.raises(KeySyntaxError):
        thread_prefix("ns-a", "crew", "")


def test_a_prefix_may_end_with_a_slash() -> None:
    assert check_prefix("a/b/") == check_prefix("a/b") == "a/b"
    assert check_prefix("") == ""
    with pytest.raises(KeySyntaxError):
        check_prefix("a/../b")


def test_an_escaped_name_is_not_escaped_again() -> None:
    assert join_key("a b") == "a=20b"
    assert join_key("a=20b") == "a=3D20b"
