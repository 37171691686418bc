"""Records and lines over the cap: each is one bad record, whatever the blocks, and counting agrees with cutting."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from kmnb.core.bounds import LINE_MAX_BYTES
from kmnb.core.index import Index
from kmnb.core.records import Dialect, Problem
from kmnb.formats import _csv_counting, _csv_records, csv
from kmnb.formats._csv_counting import CsvCounter
from kmnb.formats._csv_dialect import sniff_dialect
from kmnb.formats._inspect import Inspector

CAP = 64
PIECES = (
    "a", "b,c", ",", "\n", "\n", "\r\n", '"', '""', '"x"', ',"', '",', "1,2\n", '"p\nq",2\n', "x" * 40, "y" * 90,
    '"' + "z" * 90 + '",1\n', '"' + "w\n" * 50 + '",1\n', '7,"' + "v" * 70 + '\n', '"never',
)  # fmt: skip


@pytest.fixture
def small_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (_csv_counting, _csv_records, csv):
        monkeypatch.setattr(module, "LINE_MAX_BYTES", CAP)
    monkeypatch.setattr(_csv_counting, "_CARRY_MAX_BYTES", 16)


def blocks_of(content: bytes, random_: random.Random) -> Iterator[bytes]:
    at = 0
    while at < len(content):
        size = random_.choice((1, 3, 10, 50, 200))
        yield content[at : at + size]
        at += size


def cut(content: bytes, blocks: Iterator[bytes]) -> tuple[list[list[str]], list[Problem], int]:
    splitter = csv.CsvSplitter(Dialect(delimiter=",", header=True))
    batches = [splitter.feed(block) for block in blocks] + [splitter.finish()]
    rows = [row for batch in batches for row in batch.rows]
    return rows, [one for batch in batches for one in batch.problems], sum(batch.counted for batch in batches)


@pytest.mark.parametrize("seed", range(400))
def test_long_records_are_the_same_for_all_blocks_and_counted_as_they_are_cut(seed: int, small_cap: None) -> None:
    random_ = random.Random(seed)
    content = ("h,k\n" + "".join(random_.choice(PIECES) for _ in range(random_.randrange(1, 30)))).encode()
    whole = cut(content, iter([content]))
    assert cut(content, blocks_of(content, random_)) == whole
    assert whole[2] == len(whole[0]) + len(whole[1])
    counter = CsvCounter(sniff_dialect(b"h,k\n1,2\n", Dialect(delimiter=",", header=True), whole=True), indexed=True)
    for block in blocks_of(content, random_):
        assert counter.lines is not None
        counter.lines.feed(block)
        counter.feed(block)
    assert counter.finish() == whole[2]
    assert all(one.number < two.number for one, two in zip(counter.places, counter.places[1:], strict=False))


@pytest.mark.parametrize("cell", ['"{}"', "x{}", ' "{}"', '"{0}\n{0}"'])
@pytest.mark.parametrize("size", [3_000_000, 9_000_000])
def test_a_huge_cell_is_one_record_of_content_that_passes_by(cell: str, size: int) -> None:
    content = ("a,b\n1," + cell.format("y" * size) + "\n2,z\n").encode()
    inspector = Inspector()
    for at in range(0, len(content), 500_000):
        inspector.feed(content[at : at + 500_000])
    found = inspector.finish()
    # Each line that is too long ends its record.
    assert found.rows == (3 if size > LINE_MAX_BYTES and "\n" in cell else 2)
    assert found.index is not None
    assert Index.decode(found.index.encode(), size=len(content)) == found.index
