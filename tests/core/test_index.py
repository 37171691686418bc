"""The line index: fast where it holds, never a wrong answer where it does not."""

from __future__ import annotations

import base64
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.bounds import INDEX_MAX_BYTES, INDEX_MAX_ENTRIES
from kmnb.core.index import CHECK_BYTES, Entry, Index, IndexBuilder
from kmnb.formats._counting import LineCounter


def index_of(content: bytes, *, block: int, spacing: int) -> Index:
    """Index content that is fed in blocks."""
    counter = LineCounter(indexed=True)
    counter._builder = IndexBuilder(spacing_bytes=spacing)
    for at in range(0, len(content), block):
        counter.feed(content[at : at + block])
    return Index(len(content), counter.lines, counter.entries, counter.filled)


CONTENT = st.lists(st.sampled_from([b"\n", b"\r\n", b"a", b" ", b"bcd", b"\r"]), max_size=60).map(b"".join)


@given(CONTENT, st.integers(1, 9), st.integers(1, 9))
def test_every_entry_is_the_beginning_of_its_line_however_the_bytes_arrive(
    content: bytes, block: int, spacing: int
) -> None:
    index = index_of(content, block=block, spacing=spacing)
    assert index.lines == content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    for entry in index.entries:
        assert content[: entry.offset].count(b"\n") == entry.number
        assert content[entry.offset - 1 : entry.offset] == b"\n"
        assert entry.holds(content[max(0, entry.offset - CHECK_BYTES) : entry.offset])


@given(CONTENT, st.integers(1, 9))
def test_an_index_comes_back_from_its_text(content: bytes, spacing: int) -> None:
    index = index_of(content, block=7, spacing=spacing)
    assert Index.decode(index.encode(), size=len(content)) == index


@given(CONTENT, st.integers(0, 70))
def test_the_nearest_known_line_is_never_behind_the_one_that_is_looked_for(content: bytes, line: int) -> None:
    index = index_of(content, block=16, spacing=3)
    spot = index.before(line)
    assert spot.line <= line
    assert content[: spot.offset].count(b"\n") == spot.line


def test_a_huge_object_has_a_bounded_index_and_its_places_stay_close() -> None:
    """Steps grow with the object, so that a place is never far."""
    builder, offset = IndexBuilder(), 0
    for number in range(1, 200_000):
        offset = max(number * 5000, builder.wanted)
        if offset == number * 5000:
            builder.add(offset, number, b"line end number %d\n" % number)
    size = 200_000 * 5000
    index = Index(size, 200_000, tuple(builder.entries))
    assert len(index.entries) <= INDEX_MAX_ENTRIES
    places = [0, *(entry.offset for entry in index.entries), size]
    assert max(b - a for a, b in itertools.pairwise(places)) <= size / 1000
    assert len(index.encode()) <= INDEX_MAX_BYTES


def test_an_index_that_does_not_compress_is_thinned_out_until_it_fits() -> None:
    entries = tuple(
        Entry(number * 70_000 + number * 7919 % 60_000, number * 977, number * 40_503 % 65_536)
        for number in range(1, 4000)
    )
    index = Index(10**9, 10**7, entries)
    text = index.encode(limit_bytes=8192)
    assert len(text) <= 8192
    back = Index.decode(text, size=10**9)
    assert back is not None
    assert set(back.entries) < set(entries)
    assert back.lines == 10**7


@pytest.mark.parametrize(
    "text",
    ["", "x", "====", "A" * 100_000, base64.b64encode(b"KX2 and something else").decode(), "ключ", "\0\0"],
)
def test_what_is_no_index_is_not_used(text: str) -> None:
    assert Index.decode(text, size=10) is None


@given(st.binary(max_size=200))
def test_random_bytes_are_never_an_index(raw: bytes) -> None:
    assert Index.decode(base64.b64encode(raw).decode(), size=10) is None


def test_an_index_of_another_size_or_digest_is_not_used() -> None:
    index = index_of(b"a\nb\nc\n" * 100, block=64, spacing=16).bound("sha256:" + "1" * 64)
    text = index.encode()
    assert Index.decode(text, size=600, digest="sha256:" + "1" * 64) == index
    assert Index.decode(text, size=601, digest="sha256:" + "1" * 64) is None
    assert Index.decode(text, size=600, digest="sha256:" + "2" * 64) is None
    assert Index.decode(text, size=None) is None


def test_places_that_contradict_themselves_are_not_used() -> None:
    wrong = [
        (Entry(10, 1, 0), Entry(10, 2, 0)),
        (Entry(10, 2, 0), Entry(20, 2, 0)),
        (Entry(0, 1, 0),),
        (Entry(100, 1, 0),),
        (Entry(10, 50, 0),),
    ]
    for entries in wrong:
        assert Index.decode(Index(100, 50, entries).encode(), size=100) is None
    assert Index.decode(Index(100, 101).encode(), size=100) is None


def test_a_stale_index_of_the_same_size_is_found_out_where_it_is_used() -> None:
    """Same size, other lines: the bytes before the place are not the indexed ones."""
    old = b"".join(b"line %06d\n" % number for number in range(1000))
    new = b"".join(b"long line %06d, one of few\n" % number for number in range(1000))[: len(old)]
    index = index_of(old, block=4096, spacing=256)
    found = [entry.holds(new[entry.offset - CHECK_BYTES : entry.offset]) for entry in index.entries]
    assert not any(found)
