"""Delimited text: dialects, quotes, ragged rows; cells are never retyped."""

from __future__ import annotations

import csv
import io
import itertools
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kmnb.core.records import Batch, Dialect
from kmnb.formats import csv as kmnb_csv
from kmnb.formats._csv_dialect import sniff_dialect
from kmnb.formats._inspect import inspect

SIGNS = ["a", "b", ",", ";", '"', "\n", "\r\n", " ", "0", "é", "\t", "'", "|", "\u2028", "\x00"]
QUOTED = st.text('a",\n', max_size=6).map(lambda text: '"' + text.replace('"', '""') + '"')
CELL = st.lists(st.sampled_from(SIGNS), max_size=6).map("".join)


def read(content: bytes, dialect: Dialect | None = None, *, step: int = 1 << 16) -> list[Batch]:
    """Cut content that arrives in blocks of ``step`` bytes."""
    splitter = kmnb_csv.FORMAT.split(dialect or Dialect())
    batches = [splitter.feed(content[at : at + step]) for at in range(0, len(content), step)]
    return [*batches, splitter.finish()]


def rows_of(batches: list[Batch]) -> list[Any]:
    return [row for batch in batches for row in batch.rows]


def problems_of(batches: list[Batch]) -> list[tuple[int, str]]:
    return [(problem.line, problem.reason) for batch in batches for problem in batch.problems]


@given(
    st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=1, max_size=8), st.sampled_from(",;|\t"), st.booleans()
)
def test_rows_agree_with_the_csv_module_on_what_it_wrote(rows: list[list[str]], delimiter: str, crlf: bool) -> None:
    # A bare CR outside quotes ends no record here, unlike in the csv module: it is not among the signs.
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\r\n" if crlf else "\n").writerows([["x", "y", "z"], *rows])
    content = out.getvalue().encode()
    expected = list(csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter))[1:]
    batches = read(content, Dialect(delimiter=delimiter, header=True))
    assert rows_of(batches) == [row for row in expected if row]
    assert problems_of(batches) == []


@given(st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=5), st.integers(1, 40))
def test_rows_are_the_same_for_every_size_of_block(rows: list[list[str]], step: int) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([["x", "y"], *rows])
    content = out.getvalue().encode()
    dialect = Dialect(delimiter=",", header=True)
    splitter = kmnb_csv.CsvSplitter(dialect)
    found: list[Any] = []
    for at in range(0, len(content), step):
        found += splitter.feed(content[at : at + step]).rows
    assert found + list(splitter.finish().rows) == rows_of(read(content, dialect))


@given(st.lists(st.sampled_from(["a", "b,c", '"', '""', "\n", "\r\n", ",", '"x\n"', " "]), max_size=30).map("".join))
def test_the_fast_count_agrees_with_cutting_on_any_text(text: str) -> None:
    content = ("h,i\n" + text).encode()
    found = inspect(content, media_type="text/csv", name="x.csv")
    dialect = sniff_dialect(content, Dialect(), whole=True)
    batches = read(content, Dialect(delimiter=dialect.delimiter, header=dialect.header))
    assert found.format == "csv"
    assert found.rows == sum(batch.counted for batch in batches)


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"a,b\n1,2,\n3,4,\n", [["1", "2"], ["3", "4"]]),
        (b'a;b\n"1;2";"say ""hi"""\n', [["1;2", 'say "hi"']]),
        (b'a,b\n1,"two\r\nlines"\r\n', [["1", "two\r\nlines"]]),
        (b'a,b\n1,5" pipe\n', [["1", '5" pipe']]),
        (b'a,b\n1,"x"y\n', [["1", "xy"]]),
        (b"\xef\xbb\xbfa,b\r\n1,2\r\n\r\n", [["1", "2"]]),
        (b"a\tb\n00010\t1e5\n", [["00010", "1e5"]]),
        (b"a|b\rc|d\r", [["c", "d"]]),
        (b"a,b\n1,x\ry\n", [["1", "x\ry"]]),
        (b"a,b\n\xff,2\n", [["\ufffd", "2"]]),
        (b"a,b\n", []),
        (b"", []),
    ],
)
def test_cells_are_the_text_between_delimiters(content: bytes, rows: list[list[str]]) -> None:
    assert rows_of(read(content)) == rows


def test_ragged_rows_are_left_out_and_reported_with_their_line() -> None:
    """S14: an extra comma moves nothing to another column."""
    batches = read(b'a,b\n1,2\n3,4,5\n"6\n6",7\n8\n9,9\n')
    assert rows_of(batches) == [["1", "2"], ["6\n6", "7"], ["9", "9"]]
    assert problems_of(batches) == [(3, "3 cells instead of 2"), (6, "1 cells instead of 2")]
    assert sum(batch.counted for batch in batches) == 5


def test_a_quote_that_is_not_closed_is_reported_and_swallows_no_row_silently() -> None:
    batches = read(b'a,b\n1,2\n"3,4\n5,6\n')
    assert rows_of(batches) == [["1", "2"]]
    assert problems_of(batches) == [(3, "a quote is not closed")]


@pytest.mark.parametrize(
    ("head", "delimiter", "header"),
    [
        (b"name,ns\na,b\n", ",", True),
        (b"a;b\n1,5;2,5\n3,5;4,5\n", ";", True),
        (b"1|2|x\n3|4|y\n5|6|z\n", "|", False),
        (b"country,2019,2020\nFR,1,2\nDE,3,4\n", ",", True),
        (b"2024-01-01,5\n2024-01-02,6\n2024-01-03,7\n", ",", False),
        (b"a\tb\n1\t2,3\n", "\t", True),
        (b"one\ntwo\n", ",", True),
    ],
)
def test_the_dialect_is_found_out_from_the_beginning(head: bytes, delimiter: str, header: bool) -> None:
    found = sniff_dialect(head, Dialect(), whole=True)
    assert (found.delimiter, found.header) == (delimiter, header)


@pytest.mark.parametrize(
    "text",
    [
        b"Hello, world\nthis, that\nno comma here\n",
        b"2012-07-02 10:22:40,672:DEBUG:foo\n2014-10-08 16:56:38,344:WARN:bar\n",
        b"2026-11-30T00:00:00Z gateway-0 GET /api/a 200 0 ms client=probe/1.4 (linux; checks every path)\n" * 50,
        b"2026-11-30 20:00:00,672 INFO worker 1 done\n" * 50,
        b"20:00:00 | INFO | worker 1 done\n" * 50,
        b"I1130 20:00:00.5 1 main.go:7] synced a, b\n" * 50,
        b'10.0.0.1 - - [30/Nov/2026:20:00:11 +0000] "GET / HTTP/1.1" 200 5 "-" "Probe (a; b)"\n' * 50,
        b"<a>1, 2</a>\n<b>1, 2</b>\n",
        b"{'a', 'b'}\n",
        b"",
    ],
)
def test_prose_and_logs_are_no_tables(text: bytes) -> None:
    assert kmnb_csv.FORMAT.sniff(text) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        b"2026-11-30 20:00:00,5,ok\n" * 50,
        b"2026-11-30 20:00:00 UTC,5,ok\n" * 50,
        b"1,2026-11-30 20:00:00 up,ok\n" * 50,
        b"time,value,note\n" + b"2026-11-30 20:00:00 about noon,5,ok\n" * 50,
    ],
)
def test_records_that_begin_with_a_time_are_a_table(text: bytes) -> None:
    assert kmnb_csv.FORMAT.sniff(text) > 0.5


def test_a_given_dialect_is_never_overruled() -> None:
    batches = read(b"a,b\n1,2\n", Dialect(delimiter=";", header=False))
    assert rows_of(batches) == [["a,b"], ["1,2"]]
    batches = read(b"a,'b,c'\n", Dialect(delimiter=",", header=False, quote="'"))
    assert rows_of(batches) == [["a", "b,c"]]
    batches = read(b'a,"b\n', Dialect(delimiter=",", header=False, quote=""))
    assert rows_of(batches) == [["a", '"b']]


@given(
    st.lists(st.text('a",\r\n', max_size=8) | QUOTED, max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 60), max_size=3),
    st.booleans(),
)
@example(['"x",y', "y\nz,1", "1,2"], "\r", [4], True)
def test_records_are_the_same_cut_in_one_go_or_one_by_one(
    lines: list[str], newline: str, cuts: list[int], header: bool
) -> None:
    content = newline.join(["a,b", *lines]).encode()

    def read(*, quick: bool) -> tuple[Any, ...]:
        splitter = kmnb_csv.CsvSplitter(Dialect(delimiter=",", quote='"', header=header))
        if not quick:
            splitter._quoted_rows = lambda body: ([], [], body)  # type: ignore[method-assign]
            splitter._cell_rows = lambda body: None  # type: ignore[method-assign]
        places = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
        batches = [splitter.feed(content[start:end]) for start, end in itertools.pairwise(places)]
        batches.append(splitter.finish())
        rows = [(number, list(row)) for batch in batches for number, row in zip(batch.numbers, batch.rows, strict=True)]
        return rows, [problem for batch in batches for problem in batch.problems], splitter.columns

    assert read(quick=True) == read(quick=False)


@pytest.mark.parametrize(("width", "step"), [(9, 1), (9, 4), (9, 10), (65_535, 4096), (65_535, 65_536)])
def test_cr_lf_at_the_border_of_a_sample_ends_a_record(width: int, step: int) -> None:
    """The LF stands in the next block, so that CR alone seemed to end records."""
    names = b",".join(b"c%07d" % n for n in range(7282))[:width]
    row = b",".join(b"1" for _ in names.split(b","))
    content = b"%b\r\n%b\r\n" % (names, row)
    splitter = kmnb_csv.FORMAT.split(Dialect(delimiter=",", header=True))
    batches = [splitter.feed(content[at : at + step]) for at in range(0, len(content), step)]
    rows = [list(cells) for batch in (*batches, splitter.finish()) for cells in batch.rows]
    assert rows == [row.decode().split(",")]
    assert inspect(content, media_type="text/csv").rows == 1
