"""The text of head, tail, lines, grep, select, jq and count is the peer's, byte for byte, where its vectors tell it."""

from __future__ import annotations

from typing import Any

import pytest

from kmnb.core.bounds import LINE_MAX_BYTES
from kmnb.errors import BadRequest, ExpressionError
from tests.sips.driving import sip_bytes

S = b"alpha\nbravo\ncharlie\ndelta\necho\n"
ALL = S.decode()
DIGITS = b"0123456789\n" * 1000

VECTORS: list[tuple[bytes, str, dict[str, Any], str]] = [
    (S, "head", {"lines": 2}, "alpha\nbravo\n[lines 0-1 of 5]\n"),
    (S, "head", {"lines": 0}, ""),
    (S, "head", {"lines": 100}, ALL + "[lines 0-4 of 5]\n"),
    (S, "head", {"lines": 1}, "alpha\n[lines 0-0 of 5]\n"),
    (S, "tail", {"lines": 2}, "delta\necho\n[lines 3-4 of 5]\n"),
    (S, "tail", {"lines": 100}, ALL + "[lines 0-4 of 5]\n"),
    (S, "tail", {"lines": 0}, ""),
    (S, "grep", {"pattern": "a"}, "alpha\nbravo\ncharlie\ndelta\n"),
    (S, "grep", {"pattern": "a", "max": 1}, "alpha\n"),
    (S, "grep", {"pattern": "a", "max": 0}, ""),
    (S, "lines", {"start": 1, "limit": 2}, "bravo\ncharlie\n[lines 1-2 of 5]\n"),
    (S, "lines", {"start": 3, "limit": 0}, "delta\necho\n[lines 3-4 of 5]\n"),
    (S, "lines", {"start": 99, "limit": 5}, "[no lines from line 99; the artifact has 5 lines]\n"),
    (S, "lines", {"start": -3, "limit": 1}, "alpha\n[lines 0-0 of 5]\n"),
    (S, "lines", {"start": 5, "limit": 10}, "[no lines from line 5; the artifact has 5 lines]\n"),
    (b"", "lines", {"start": 0, "limit": 10}, "[no lines from line 0; the artifact has 0 lines]\n"),
    (S, "count", {}, "5\n"),
    (b"", "count", {}, "0\n"),
    (
        b"name,ns,age\npod-a,default,3\npod-b,kube-system,7\n",
        "select",
        {"columns": ["ns", "name"]},
        "ns,name\ndefault,pod-a\nkube-system,pod-b\n",
    ),
    (b'{"items":[{"n":"a"},{"n":"b"}]}', "jq", {"program": ".items[].n"}, '"a"\n"b"\n'),
    (b'{"a":[1,2,3]}', "jq", {"program": ".a | length"}, "3\n"),
    (S, "head", {"lines": "2"}, "alpha\nbravo\n[lines 0-1 of 5]\n"),
]


@pytest.mark.parametrize("indexed", [False, True], ids=["foreign", "indexed"])
@pytest.mark.parametrize(("content", "name", "arguments", "text"), VECTORS)
def test_a_vector_of_the_peer_gives_its_text(
    content: bytes, name: str, arguments: dict[str, Any], text: str, indexed: bool
) -> None:
    assert sip_bytes(content, name, arguments, indexed=indexed).text == text


@pytest.mark.parametrize("indexed", [False, True], ids=["foreign", "indexed"])
def test_a_line_over_the_cap_ends_the_count_in_the_text_though_the_total_is_exact(indexed: bool) -> None:
    content = b"a\nb\n" + b"x" * (LINE_MAX_BYTES + 10) + b"\nc\n"
    answer = sip_bytes(content, "lines", {"start": 0, "limit": 2}, indexed=indexed)
    assert answer.text == "a\nb\n[lines 0-1 of at least 2]\n"
    assert answer.total == 4
    assert not answer.total_is_lower_bound


def test_a_first_line_over_the_cap_is_cut_since_our_cap_wins() -> None:
    answer = sip_bytes(b"y" * 500 + b"\nshort\n", "lines", {"max_bytes": 200})
    assert answer.text.endswith("y\n[lines 0-0 of 2]\n")
    assert len(answer.text.encode()) <= 200
    assert not answer.complete
    assert "500 bytes" in answer.notes[0]
    assert answer.cursor is not None


@pytest.mark.parametrize("cap", [150, 200, 1000])
def test_the_position_line_states_exactly_what_was_returned(cap: int) -> None:
    answer = sip_bytes(DIGITS, "lines", {"start": 10, "limit": 500, "max_bytes": cap})
    assert len(answer.text) <= cap
    assert answer.text.endswith(f"[lines 10-{9 + answer.shown} of 1000]\n")
    assert answer.text.count("0123456789\n") == answer.shown


def test_a_small_cap_still_has_its_position_line() -> None:
    answer = sip_bytes(DIGITS, "head", {"lines": 1000, "max_bytes": 50})
    assert answer.text.endswith(" of 1000]\n")
    assert len(answer.text) <= 50


def test_a_full_page_at_the_default_cap_ends_with_its_position() -> None:
    content = b"".join(b"%039d\n" % number for number in range(5000))
    answer = sip_bytes(content, "lines", {"start": 0, "limit": 5000})
    last = answer.text.splitlines()[-1]
    assert last == f"[lines 0-{answer.shown - 1} of 5000]"
    assert "truncated" not in answer.text
    assert answer.shown == (65_536 - 96) // 40


def test_many_matches_stay_under_the_cap_and_say_that_there_are_more() -> None:
    answer = sip_bytes(b"match\n" * 100_000, "grep", {"pattern": "match", "max": 1_000_000, "max_bytes": 100})
    assert len(answer.text) <= 100
    assert not answer.complete
    assert answer.total is not None
    assert answer.total > answer.shown


def test_endless_outputs_stay_under_the_cap() -> None:
    answer = sip_bytes(b"null", "jq", {"program": "range(1000000)", "max_bytes": 100})
    assert len(answer.text) <= 100
    assert not answer.complete
    assert answer.total_is_lower_bound


@pytest.mark.parametrize(
    ("content", "name", "arguments", "error"),
    [
        (S, "grep", {"pattern": "("}, ExpressionError),
        (S, "select", {"columns": ["nope"]}, BadRequest),
        (S, "select", {"columns": []}, BadRequest),
        (b"{}", "jq", {"program": ".["}, ExpressionError),
        (b"not JSON", "jq", {"program": "."}, (BadRequest, ExpressionError)),
        (S, "head", {"lines": "many"}, BadRequest),
        (S, "head", {"rows": 1}, BadRequest),
    ],
)
def test_what_cannot_be_meant_is_refused(content: bytes, name: str, arguments: dict[str, Any], error: Any) -> None:
    with pytest.raises(error):
        sip_bytes(content, name, arguments)
