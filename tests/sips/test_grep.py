"""grep agrees with a plain oracle, counts what it says, and is not slowed by hostile patterns."""

from __future__ import annotations

import gzip
import re
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.slice import Match
from kmnb.errors import BadRequest, BoundExceeded, ExpressionError
from tests.sips.driving import BytesArea, Cut, sip_bytes

PIECES = [b"a", b"b", b"ab", b"\r", b"\n", b"\r\n", b"\f", b"\xe2\x80\xa8", b"\xff", b"\0", b" ", b"xa" * 30]
CONTENTS = st.lists(st.sampled_from(PIECES), max_size=50).map(b"".join)
PATTERNS = ["a", "ab", "^a", "a$", "^$", "b*", "^[^a]*$", r"\s", r"a\b", "x+a", "(a|b)b", ".", r"^\W", "[[:space:]]b"]


def oracle(content: bytes, pattern: str) -> list[Match]:
    """Every line by itself with Python's re; the patterns mean the same in both."""
    compiled = re.compile(pattern.replace("[[:space:]]", r"[\t\n\f\r ]").encode())
    found, offset = list[Match](), 0
    lines = content.split(b"\n")
    for index, line in enumerate(lines):
        last = index == len(lines) - 1
        if last and not line:
            break
        text = line if last else line.removesuffix(b"\r")
        if _search(compiled, text):
            found.append(Match(index + 1, index, offset, text.decode("utf-8", "replace")))
        offset += len(line) + 1
    return found


def _search(compiled: re.Pattern[bytes], text: bytes) -> bool:
    # RE2's dot and classes match characters; a byte that is no UTF-8 is none.
    return compiled.search(text) is not None


@given(CONTENTS.filter(lambda data: b"\xff" not in data), st.sampled_from(PATTERNS), st.integers(1, 40))
def test_grep_finds_the_lines_that_a_plain_search_finds(content: bytes, pattern: str, size: int) -> None:
    answer = sip_bytes(content, "grep", {"pattern": pattern, "max": 1000}, cut=Cut(size))
    assert answer.values == oracle(content, pattern)
    assert answer.complete
    assert answer.total == answer.shown


@given(CONTENTS, st.sampled_from(["a", "ab", "xa", "\r"]), st.integers(1, 40), st.booleans())
def test_fixed_text_is_found_among_any_bytes(content: bytes, pattern: str, size: int, invert: bool) -> None:
    arguments = {"pattern": pattern, "fixed": True, "max": 1000, "invert": invert}
    lines = content.split(b"\n")
    lines = lines if lines[-1] else lines[:-1]
    answer = sip_bytes(content, "grep", arguments, cut=Cut(size))
    want = [index for index, line in enumerate(lines) if (pattern.encode() in line) != invert]
    assert [match.index for match in answer.values] == want


@given(CONTENTS, st.sampled_from(PATTERNS), st.integers(1, 3), st.integers(20, 400))
def test_pages_of_matches_give_every_match_once(content: bytes, pattern: str, limit: int, cap: int) -> None:
    whole = sip_bytes(content, "grep", {"pattern": pattern, "max": 1000})
    found: list[Any] = []
    cursor = None
    for _ in range(2000):
        arguments = {"pattern": pattern, "max": limit, "max_bytes": cap, "cursor": cursor}
        answer = sip_bytes(content, "grep", arguments)
        found += answer.values
        if (cursor := answer.cursor) is None:
            break
    assert [match.number for match in found] == [match.number for match in whole.values]


@given(CONTENTS, st.sampled_from(PATTERNS), st.integers(1, 3), st.integers(1, 40))
def test_context_is_the_lines_around_whatever_the_windows(content: bytes, pattern: str, near: int, size: int) -> None:
    arguments = {"pattern": pattern, "context": near, "max": 1000, "max_bytes": 10**6}
    whole = sip_bytes(content, "grep", arguments)
    assert sip_bytes(content, "grep", arguments, cut=Cut(size)).text == whole.text
    lines = sip_bytes(content, "lines", {"limit": 0, "max_bytes": 10**6}).values
    for match in whole.values:
        assert list(match.before) == lines[max(0, match.index - near) : match.index]
        assert list(match.after) == lines[match.index + 1 : match.index + 1 + near]


def test_a_total_is_that_of_the_whole_answer_on_every_page() -> None:
    arguments: dict[str, Any] = {"pattern": "x", "max": 2, "count_all": True, "cursor": None}
    totals = []
    while True:
        answer = sip_bytes(b"x\n" * 5, "grep", arguments)
        totals.append((answer.shown, answer.total, answer.complete))
        if (cursor := answer.cursor) is None:
            break
        arguments["cursor"] = cursor
    assert totals == [(2, 5, False), (2, 5, False), (1, 5, True)]


def test_lines_before_a_match_are_held_no_further_than_the_cap() -> None:
    """A match is not called cut because its context is too long, and what is held of that is bounded."""
    content = (b"y" * 5000 + b"\n") * 1000 + b"x\n"
    tracemalloc.start()
    try:
        answer = sip_bytes(content, "grep", {"pattern": "x", "context": 10**30, "max_bytes": 4000}, cut=Cut(64_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (answer.text, answer.complete) == ("x\n", False)
    assert answer.notes == ("lines of context were left out to fit into max_bytes",)
    assert peak < 1_000_000


def test_context_that_does_not_fit_the_cap_is_said_to_be_missing() -> None:
    answer = sip_bytes(b"x\n" + b"y" * 50 + b"\nz\n", "grep", {"pattern": "x", "context": 2, "max_bytes": 40})
    assert (answer.text, answer.shown, answer.total, answer.complete) == ("x\n", 1, 1, False)
    assert answer.notes == ("lines of context were left out to fit into max_bytes",)


def test_groups_of_context_are_apart_as_in_grep() -> None:
    content = b"1\n2\nx\n4\n5\n6\nx\n8\n"
    assert sip_bytes(content, "grep", {"pattern": "x", "context": 1}).text == "2\nx\n4\n--\n6\nx\n8\n"
    assert sip_bytes(content, "grep", {"pattern": "x", "context": 2}).text == "1\n2\nx\n4\n5\n6\nx\n8\n"


def test_counting_goes_on_when_it_is_asked_for() -> None:
    content = b"hit\nmiss\n" * 5000
    some = sip_bytes(content, "grep", {"pattern": "hit", "max": 3})
    assert (some.shown, some.total_is_lower_bound) == (3, True)
    counted = sip_bytes(content, "grep", {"pattern": "hit", "max": 3, "count_all": True})
    assert (counted.shown, counted.total, counted.total_is_lower_bound) == (3, 5000, False)


def test_colour_codes_are_told_and_taken_out_when_asked() -> None:
    content = b"plain\n\x1b[31mERROR\x1b[0m: disk\n"
    plain = sip_bytes(content, "grep", {"pattern": "^ERROR: disk$"})
    assert plain.values == []
    assert "strip_ansi" in plain.notes[0]
    (match,) = sip_bytes(content, "grep", {"pattern": "^ERROR: disk$", "strip_ansi": True}).values
    assert match == Match(2, 1, 6, "ERROR: disk")


def test_without_codes_context_and_lines_that_do_not_match_are_shown_without_them_too() -> None:
    content = b"\x1b[31mred\x1b[0m\nplain\n\x1b[1mbold\x1b[0m\r\n"
    options = {"pattern": "plain", "strip_ansi": True}
    assert sip_bytes(content, "grep", {**options, "context": 1}).text == "red\nplain\nbold\n"
    assert sip_bytes(content, "grep", {**options, "invert": True}).text == "red\nbold\n"


@pytest.mark.parametrize("pattern", ["^name", "^name,ns$", "na"])
def test_a_byte_order_mark_is_no_part_of_the_first_line(pattern: str) -> None:
    content = b"\xef\xbb\xbfname,ns\r\na,name\r\n"
    for cut in (Cut(1), Cut(1000)):
        answer = sip_bytes(content, "grep", {"pattern": pattern, "max": 1}, cut=cut)
        assert answer.values == [Match(1, 0, 0, "name,ns")]


def test_a_cr_that_is_asked_for_is_seen() -> None:
    assert sip_bytes(b"a\r\nb\n", "grep", {"pattern": r"\r$"}).total == 1
    assert sip_bytes(b"a\r\nb\n", "grep", {"pattern": "a$"}).total == 1


@pytest.mark.parametrize("compress", [gzip.compress, None])
def test_compressed_content_is_read_in_place(compress: Any) -> None:
    import zstandard

    data = b"".join(b"line %d\n" % number for number in range(50_000))
    packed = compress(data) if compress else zstandard.ZstdCompressor().compress(data)
    area = BytesArea(packed)
    (match,) = sip_bytes(packed, "grep", {"pattern": "^line 49999$"}, area=area).values
    assert match.number == 50_000
    assert data[match.offset :] == b"line 49999\n"
    assert sip_bytes(packed, "head", {"lines": 1}).values == ["line 0"]
    assert sip_bytes(packed, "tail", {"lines": 1}).values == ["line 49999"]
    assert sip_bytes(packed, "lines", {"start": 40_000, "limit": 1}).values == ["line 40000"]
    assert sip_bytes(packed, "count", {}).values == [50_000]


def test_a_decompression_bomb_is_stopped() -> None:
    import zstandard

    writer = zstandard.ZstdCompressor(level=19).compressobj()
    packed = b"".join([*(writer.compress(b"\0" * (1 << 20)) for _ in range(200)), writer.flush()])
    assert len(packed) < 64 * 1024
    with pytest.raises(BoundExceeded):
        sip_bytes(packed, "grep", {"pattern": "needle"})


def test_a_line_of_fifty_megabytes_is_matched_in_little_memory() -> None:
    content = b"first\n" + b"x" * 50_000_000 + b"needle" + b"y" * 1000 + b"\nlast needle\n"
    # What is allocated from here on, whatever the process held before.
    tracemalloc.start()
    try:
        answer = sip_bytes(content, "grep", {"pattern": "needle"})
        assert tracemalloc.get_traced_memory()[1] <= 64 << 20
    finally:
        tracemalloc.stop()
    assert [match.number for match in answer.values[:1]] == [2]
    assert answer.total == 2
    assert len(answer.text) <= 65_536
    assert sip_bytes(content, "grep", {"pattern": "need+le[yz]"}).total == 1
    assert sip_bytes(content, "grep", {"pattern": "^needle"}).total == 0
    assert sip_bytes(content, "grep", {"pattern": "needle$"}).total == 1


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*)*c", "a{1,100}b"])
def test_a_hostile_pattern_takes_linear_time(pattern: str) -> None:
    content = (b"a" * 5000 + b"!\n") * 200
    # Time of the processor, so that a busy machine changes nothing; a matcher that goes back would take years.
    begun = time.process_time()
    assert sip_bytes(content, "grep", {"pattern": pattern}).shown >= 0
    assert time.process_time() - begun < 30


@pytest.mark.parametrize(
    "pattern", ["(", "a{2,1}", "(?<=a)b", r"\1", "x" * 1_000_000, "(?-m)^a", "a{1000}{1000}", "[" * 60_000]
)
def test_a_pattern_that_cannot_be_used_is_refused_with_a_reason(pattern: str) -> None:
    with pytest.raises(BadRequest) as caught:
        sip_bytes(b"a\n", "grep", {"pattern": pattern})
    # What is no text at all is refused before it is taken for a pattern.
    assert isinstance(caught.value, ExpressionError) == ("\ud800" not in pattern)
    assert len(str(caught.value).encode()) <= 2048


def test_a_pattern_that_no_utf8_can_write_is_refused() -> None:
    with pytest.raises(BadRequest, match="lone surrogate"):
        sip_bytes(b"a\n", "grep", {"pattern": "\ud800("})
