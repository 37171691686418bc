"""What a line is: one answer, however the bytes arrive."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.splitter import LineSplitter

PIECES = st.lists(
    st.sampled_from(
        [b"\n", b"\r\n", b"\r", b"a", b"bc", b"\f", b"\x0b", b"\x1c", b"\xc2\x85", b"\xe2\x80\xa8", b"\xff", b"\0"]
    ),
    max_size=24,
)


def lines_of(content: bytes, cuts: list[int], *, limit_bytes: int = 1 << 20) -> list[bytes]:
    """Feed content in blocks that end at the given places, and collect the lines."""
    splitter = LineSplitter(limit_bytes=limit_bytes)
    places = [0, *sorted(cuts), len(content)]
    found: list[bytes] = []
    for start, end in itertools.pairwise(places):
        batch = splitter.feed(content[start:end])
        assert batch.start == len(found)
        found.extend(batch.rows)
    found.extend(splitter.finish().rows)
    return found


def oracle(content: bytes) -> list[bytes]:
    """The rule in its plainest form."""
    *whole, rest = content.split(b"\n")
    return [line.removesuffix(b"\r") for line in whole] + ([rest] if rest else [])


@given(PIECES.map(b"".join))
def test_lines_are_the_same_for_every_place_of_one_cut(content: bytes) -> None:
    for cut in range(len(content) + 1):
        assert lines_of(content, [cut]) == oracle(content)


@given(PIECES.map(b"".join), st.lists(st.integers(0, 60), max_size=12))
def test_lines_are_the_same_for_every_way_of_cutting(content: bytes, cuts: list[int]) -> None:
    assert lines_of(content, [min(cut, len(content)) for cut in cuts]) == oracle(content)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 16, 64])
def test_a_line_over_the_cap_is_cut_and_reported_and_the_next_ones_stay_whole(size: int) -> None:
    content = b"short\n" + b"x" * 50 + b"\r\nnext\n" + b"y" * 30
    splitter = LineSplitter(limit_bytes=10)
    batches = [splitter.feed(content[at : at + size]) for at in range(0, len(content), size)] + [splitter.finish()]
    assert [row for batch in batches for row in batch.rows] == [b"short", b"x" * 10, b"next", b"y" * 10]
    problems = [problem for batch in batches for problem in batch.problems]
    assert [problem.line for problem in problems] == [2, 4]
    assert "50 bytes" in problems[0].reason
    assert "30 bytes" in problems[1].reason


def test_a_return_right_at_the_cap_is_dropped_and_not_taken_for_content() -> None:
    splitter = LineSplitter(limit_bytes=3)
    batch = splitter.feed(b"abc\r\nabcd\r\n")
    assert list(batch.rows) == [b"abc", b"abc"]
    assert [problem.line for problem in batch.problems] == [2]


def test_memory_stays_bounded_while_a_line_does_not_end() -> None:
    splitter = LineSplitter(limit_bytes=1000)
    for _ in range(1000):
        splitter.feed(b"z" * 1000)
    assert sum(map(len, splitter._parts)) <= 1001
    (line,) = splitter.finish().rows
    assert line == b"z" * 1000
