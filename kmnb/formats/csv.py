"""Comma-, tab-, semicolon- and pipe-separated tables. Cells are text, exactly as they stand.

Records whose number of cells differs from the header's are left out and reported, so that nothing moves to another
column; empty cells past the last column are no difference. Empty lines are no records.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from kmnb.core.bounds import LINE_MAX_BYTES
from kmnb.core.cells import CellRows
from kmnb.core.records import Batch, Dialect, Problem
from kmnb.formats._csv_counting import CsvCounter
from kmnb.formats._csv_dialect import SAMPLE_BYTES, CsvDialect, sniff_dialect
from kmnb.formats._csv_records import RecordCutter, cells_of, quoted_rows

_LOG_LINE = re.compile(
    # A time of day in the first cell that more text follows (but for a zone that ends the cell), or an access log.
    rb"[^,;|\t\"]{0,48}?\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?[^\s,;|]* "
    rb"(?!(?:AM|PM|UTC|GMT|[A-Z]{1,3}[SD]?T|[+-]\d\d:?\d\d)[,;|\t\r\n])"
    rb"|\S{1,255} \S{1,64} \S{1,64} \[\d"
)
_LOG_SHARE = 0.8


class CsvSplitter:
    """Cut a delimited text into rows of cells; the dialect is found out from the beginning where it is not given."""

    def __init__(self, dialect: Dialect, *, hint: str | None = None) -> None:
        self._asked, self._hint = dialect, hint
        self.dialect: CsvDialect | None = None
        self.columns: tuple[str, ...] | None = None
        self._pending = bytearray()
        # Nothing is left to be found out: no need to wait for a sample.
        self._sample_bytes = 4 if dialect.delimiter and dialect.header is not None else SAMPLE_BYTES
        self._cutter = RecordCutter(",", "")
        self._searched = 0
        self._is_passing = False
        self._line = 1
        self._begun = 1
        self._rows = 0

    def feed(self, block: bytes) -> Batch:
        """Take the next block; nothing is given before the dialect is known."""
        if self._is_passing:
            block = self._behind_long_line(block)
            if self._is_passing:
                return self._batch([], [])
        self._pending += block
        if self.dialect is None:
            if not self._is_sampled:
                return Batch(start=0, kind="table")
            self._decide(whole=False)
        return self._split(last=False)

    @property
    def _is_sampled(self) -> bool:
        """Whether enough is there: what ends records shows with the first LF, or where there is none for long."""
        size = len(self._pending)
        return size >= SAMPLE_BYTES or (size >= self._sample_bytes and b"\n" in self._pending)

    def finish(self) -> Batch:
        """Give what is left; an open quote at the end closes there and is reported."""
        if self.dialect is None:
            self._decide(whole=True)
        return self._split(last=True)

    @property
    def is_begun(self) -> bool:
        """Whether the columns are known; a header may be longer than the beginning that was read."""
        return self.columns is not None

    def resume(self, number: int, line: int) -> CsvSplitter:
        """Make a splitter that goes on with a record, in this dialect and with these columns.

        Args:
            number: Number of the record, from 0.
            line: Number of the line where it begins, from 0.
        """
        going = CsvSplitter(self._asked, hint=self._hint)
        going.dialect, going.columns = self.dialect, self.columns
        if self.dialect is not None:
            going._cutter = RecordCutter(self.dialect.delimiter, self.dialect.quote)
        going._rows, going._line = number, line + 1
        return going

    def _decide(self, *, whole: bool) -> None:
        if self._pending.startswith(b"\xef\xbb\xbf"):
            del self._pending[:3]
        head = bytes(self._pending[:SAMPLE_BYTES])
        whole = whole and len(self._pending) <= SAMPLE_BYTES
        self.dialect = sniff_dialect(head, self._asked, whole=whole, hint=self._hint)
        self._cutter = RecordCutter(self.dialect.delimiter, self.dialect.quote)

    def _split(self, *, last: bool) -> Batch:
        assert self.dialect is not None
        problems: list[Problem] = []
        cut = self._pending.rfind(self.dialect.newline, self._searched) + 1
        # A line that is too long is a bad record that need not be held to its end.
        self._is_passing = not last and len(self._pending) - cut > LINE_MAX_BYTES
        if last or self._is_passing:
            cut = len(self._pending)
        self._searched = 0 if cut else len(self._pending)
        if not cut and not last:
            return self._batch([], problems)
        body = bytes(self._pending[:cut])
        del self._pending[:cut]
        if self._is_plain(body):
            return self._cell_rows(body) or self._plain_rows(body)
        rows, begun, body = self._quoted_rows(body)
        lines = body.split(self.dialect.newline)
        if not lines[-1]:
            lines.pop()
        records = list(self._records(lines, problems))
        if last and self._cutter.is_open:
            problems.append(Problem(self._begun, "a quote is not closed"))
            self._cutter.release()
        rows += cells_of((text for _, text in records), self.dialect.delimiter, self.dialect.quote)
        return self._rows_of(rows, begun + [line for line, _ in records], problems)

    def _quoted_rows(self, body: bytes) -> tuple[list[list[str]], list[int], bytes]:
        """Cut whole lines that hold quotes, as far as it goes quickly.

        Returns:
            Rows, the line where each begins, and the bytes that are left: a record whose quotes are not closed, or all.
        """
        assert self.dialect is not None
        if self._cutter.is_open or self.dialect.newline != b"\n" or len(body) > LINE_MAX_BYTES:
            return [], [], body
        rows, begun, passed = quoted_rows(body, self.dialect.delimiter, self.dialect.quote)
        first = self._line
        self._line += passed
        left = body.split(b"\n", passed)[-1] if passed < body.count(b"\n") + (body[-1:] != b"\n") else b""
        return rows, [first + line for line in begun], left

    def _behind_long_line(self, block: bytes) -> bytes:
        """Leave out the rest of a line that was too long."""
        assert self.dialect is not None
        _, end, rest = block.partition(self.dialect.newline)
        self._is_passing = not end
        return rest

    def _is_plain(self, body: bytes) -> bool:
        """Tell whether whole lines hold no quote, so that they can be cut at each delimiter."""
        assert self.dialect is not None
        quote = self.dialect.quote.encode()
        return not self._cutter.is_open and len(body) <= LINE_MAX_BYTES and not (quote and quote in body)

    def _cell_rows(self, body: bytes) -> Batch | None:
        """Cut lines that all have the cells they should have; None where some have not."""
        assert self.dialect is not None
        if self.columns is None or self.dialect.newline != b"\n" or not body:
            return None
        text = body.decode("utf-8", "replace")
        if "\r" in text:
            text = text.replace("\r\n", "\n").removesuffix("\r")
        rows = CellRows.cut(text if text.endswith("\n") else text + "\n", self.dialect.delimiter, len(self.columns))
        if rows is None:
            return None
        self._line += len(rows)
        return self._batch(rows, [])

    def _plain_rows(self, body: bytes) -> Batch:
        assert self.dialect is not None
        texts = body.decode("utf-8", "replace").split(self.dialect.newline.decode())
        if texts and not texts[-1]:
            texts.pop()
        if b"\r" in body:
            texts = [text.removesuffix("\r") for text in texts]
        first, delimiter = self._line, self.dialect.delimiter
        self._line += len(texts)
        begun: Sequence[int] = range(first, self._line)
        if "" in texts:
            begun = [line for line, text in zip(begun, texts, strict=True) if text]
        return self._rows_of([text.split(delimiter) for text in texts if text], begun, [])

    def _records(self, lines: list[bytes], problems: list[Problem]) -> Iterable[tuple[int, str]]:
        """Give each record with the line where it begins."""
        cutter = self._cutter
        for line in lines:
            begun = self._begun if cutter.is_open else self._line
            self._begun = begun
            self._line += 1
            record = cutter.take(line)
            if record is None:
                continue
            if cutter.is_too_long:
                problems.append(Problem(begun, f"the record is longer than {LINE_MAX_BYTES:,} bytes"))
            elif record := record.removesuffix(b"\r"):
                yield begun, record.decode("utf-8", "replace")

    def _rows_of(self, rows: list[list[str]], begun: Sequence[int], problems: list[Problem]) -> Batch:
        """Make a batch of cut records; ``begun`` tells the line where each begins."""
        assert self.dialect is not None
        if self.columns is None and rows:
            self._name(rows)
            if self.dialect.header:
                rows, begun = rows[1:], begun[1:]
        if self.columns is None:
            return self._batch([], problems)
        width, good, lines = len(self.columns), rows, begun
        if set(map(len, rows)) - {width}:
            good, lines = [], list[int]()
            for line, row in zip(begun, rows, strict=True):
                if len(row) == width or _fits(row, width):
                    good.append(row)
                    lines.append(line)
                else:
                    problems.append(Problem(line, f"{len(row)} cells instead of {width}"))
        return self._batch(good, sorted(problems, key=lambda problem: problem.line), lines)

    def _name(self, rows: list[list[str]]) -> None:
        assert self.dialect is not None
        if self.dialect.header:
            self.columns = tuple(rows[0])
            return
        width = self.dialect.width if self.dialect.agreement > 0 else len(rows[0])
        self.columns = tuple(f"column{at}" for at in range(width))

    def _batch(self, rows: Sequence[list[str]], problems: list[Problem], lines: Sequence[int] = ()) -> Batch:
        """Number the rows; ``lines`` tells where they begin, since bad records among them have numbers too."""
        start, bad = self._rows, len(problems)
        count = len(rows) + bad
        self._rows += count
        places: list[int] | None = None
        if problems and rows:
            between = [problem.line for problem in problems]
            places = [start + at + bisect_left(between, line) for at, line in enumerate(lines)]
        return Batch(rows, start, problems, self.columns, "table", records=count, counted_bad=bad, places=places)


def _fits(row: list[str], width: int) -> bool:
    """Drop empty cells past the last column; tell whether that made the row fit."""
    if len(row) < width or any(row[width:]):
        return False
    del row[width:]
    return True


def _is_log(head: bytes) -> bool:
    """Tell lines of a log, in which commas stand by chance (``20:15:01,123 INFO …``), from records without a header."""
    lines = [line for line in head[:8192].split(b"\n")[:50] if line.strip()]
    return sum(_LOG_LINE.match(line) is not None for line in lines) >= _LOG_SHARE * len(lines)


class _Csv:
    name = "csv"
    kind = "table"
    media_types = ("text/csv", "text/tab-separated-values", "application/csv", "text/x-csv")
    suffixes = (".csv", ".tsv", ".tbl", ".psv")
    samples = (
        b'name,ns\r\n"a, b",default\r\n"two\r\nlines",kube-system\r\n',
        b"name\tage\npod-a\t00010\n",
        b"name;price\nx;1,5\n",
    )

    def sniff(self, head: bytes) -> float:
        """Tell how surely a text is a delimited table: several columns on which the records agree."""
        if head.lstrip()[:1] in (b"{", b"[", b"<") or not head.strip():
            return 0.0
        found = sniff_dialect(head, Dialect(), whole=len(head) < SAMPLE_BYTES)
        # Plain names at the head speak for a table even where many records are ragged; two lines alone do not.
        named = found.names_fit == 1.0
        if found.width < 2 or not found.names_fit or found.agreement < (0.5 if named else 0.8):
            return 0.0
        if not named and (found.sampled < 3 or _is_log(head)):
            return 0.0
        return (0.75 if found.width > 2 else 0.6) * found.agreement

    def split(self, dialect: Dialect) -> CsvSplitter:
        """Make a splitter; what the dialect leaves open is found out from the first 64 KiB."""
        return CsvSplitter(dialect)

    def counter(self, head: bytes, *, indexed: bool) -> CsvCounter:
        """Make what counts records without cutting them out."""
        return CsvCounter(sniff_dialect(head, Dialect(), whole=len(head) < SAMPLE_BYTES), indexed=indexed)


FORMAT = _Csv()
