"""Tables as kubectl, docker and their like print them: columns of fixed width below a header in capitals.

Cells are cut where the names of the header begin, so blanks inside names (``NOMINATED NODE``) and values
(``4 (20m ago)``) do no harm. A row that does not stand below the header is cut at runs of blanks when that gives
just as many cells; otherwise it is reported, never guessed at. Blank lines are no rows, nor is a line that ends
before the second column begins; after a blank line another header begins another table, which is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kmnb.core.bounds import KIB
from kmnb.core.records import Batch, Dialect, Problem
from kmnb.core.splitter import LineSplitter
from kmnb.formats._counting import LineCounter
from kmnb.formats._line_scan import arrays_pay

_NAME = r"[A-Z][A-Z0-9_%/.()-]*(?: [A-Z0-9_%/.()-]+)*"
_HEADER = re.compile(rf"(?P<first>{_NAME})(?:\s{{2,}}{_NAME})+\s*\Z")
_CELL = re.compile(r"\S+(?: \S+)*")
_STEP_BYTES = 64 * KIB
_GAP = re.compile(r"\s{2,}|\t")


class Layout:
    """Where the columns of a table begin, in characters.

    Args:
        header: The header line.
    """

    def __init__(self, header: str) -> None:
        found = list(_CELL.finditer(header))
        self.names = tuple(match.group() for match in found)
        self.starts = tuple(match.start() for match in found)
        self._ends = (*self.starts[1:], None)

    def cells(self, line: str) -> list[str] | None:
        """Cut a line; None when it cannot be told where its cells are."""
        if self._is_below(line):
            return [line[start:end].strip() for start, end in zip(self.starts, self._ends, strict=True)]
        parts = _GAP.split(line.strip())
        return parts if len(parts) == len(self.names) and line[:1] != " " else None

    def _is_below(self, line: str) -> bool:
        """Tell whether every cell begins exactly where its column does, or is empty."""
        for start, end in zip(self.starts, self._ends, strict=True):
            if start and line[start - 1 : start] not in ("", " "):
                return False
            if line[start : start + 1] == " " and line[start:end].strip():
                return False
        return True

    def is_row(self, line: str) -> bool:
        """Tell whether a line reaches the second column."""
        return len(self.starts) < 2 or len(line.rstrip()) > self.starts[1] or len(_GAP.split(line.strip())) > 1


def is_header(line: str) -> bool:
    """Tell whether a line names columns: two or more names in capitals, separated by two blanks or more."""
    return _HEADER.match(line) is not None


class TableSplitter:
    """Cut a printed table into rows of cells."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._layout: Layout | None = None
        self._blank = self._foreign = False
        self._row = 0

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names as they stand in the header."""
        return self._layout.names if self._layout else None

    @property
    def second(self) -> int:
        """Where the second column begins, while the rows of a table with several columns follow one another."""
        if self._layout is None or self._blank or self._foreign or len(self._layout.starts) < 2:
            return 0
        return self._layout.starts[1]

    @property
    def is_begun(self) -> bool:
        """Whether the header was met."""
        return self._layout is not None

    def resume(self, number: int, line: int) -> TableSplitter:
        """Make a splitter that goes on with a row of this table on a line, both from 0."""
        going = TableSplitter()
        going._layout, going._row, going._lines = self._layout, number, LineSplitter(first_line=line)
        return going

    def feed(self, block: bytes) -> Batch:
        """Take the next block and give the rows that are complete by now."""
        return self._rows_of(self._lines.feed(block))

    def finish(self) -> Batch:
        """Give what is left."""
        return self._rows_of(self._lines.finish())

    def _rows_of(self, lines: Batch) -> Batch:
        rows: list[list[str]] = []
        problems: list[Problem] = list(lines.problems)
        places: list[int] = []
        start, bad = self._row, 0
        for number, raw in enumerate(lines.rows, lines.start + 1):
            line = raw.decode("utf-8", "replace").removeprefix("\ufeff").rstrip()
            if not line:
                self._blank = True
                continue
            if self._layout is None or (self._blank and is_header(line)):
                self._begin(line, number, problems)
            elif not self._layout.is_row(line):
                problems.append(Problem(number, "no row of the table"))
            elif not self._foreign:
                cells = self._layout.cells(line)
                if cells is None:
                    bad += 1
                    problems.append(Problem(number, "its cells do not stand below the header"))
                else:
                    places.append(start + len(rows) + bad)
                    rows.append(cells)
            self._blank = False
        self._row += len(rows) + bad
        known = places if bad else None
        count, columns = len(rows) + bad, self.columns
        return Batch(rows, start, problems, columns, "table", records=count, counted_bad=bad, places=known)

    def _begin(self, line: str, number: int, problems: list[Problem]) -> None:
        layout = Layout(line)
        if self._layout is None:
            self._layout = layout
            return
        self._foreign = layout.names != self._layout.names
        if self._foreign:
            problems.append(Problem(number, "another table begins here; it is not read"))
        else:
            self._layout = layout


def _long_lines(body: bytes, least: int, seen: int) -> int | None:
    """Count lines if all of them are longer than so many bytes and none ends in a blank."""
    if not arrays_pay(seen):
        lines = body[:-1].split(b"\n")
        return len(lines) if min(map(len, map(bytes.rstrip, lines))) > least else None
    import numpy

    data = numpy.frombuffer(body, dtype=numpy.uint8)
    breaks = numpy.flatnonzero(data == 10)
    if (numpy.diff(breaks, prepend=-1) - 1 <= least + 1).any() or (data[breaks - 1] <= 32).any():
        return None
    return len(breaks)


class RowCounter:
    """Counts rows; lines are looked at one by one only where a blank line or a short one is among them."""

    def __init__(self, *, indexed: bool) -> None:
        self.lines: LineCounter | None = LineCounter(indexed=indexed, blank=None)
        self._splitter = TableSplitter()
        self._carry = b""
        self._rows = self._seen = self.skipped = 0

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        self._seen += len(block)
        # In small steps, since a step with a line to look at is looked at whole.
        for at in range(0, len(block), _STEP_BYTES):
            self._step(self._carry + block[at : at + _STEP_BYTES])

    def _step(self, data: bytes) -> None:
        cut = data.rfind(b"\n") + 1
        self._carry = data[cut:]
        if not cut:
            return
        body = data[:cut]
        # A character has at most four bytes: a line of that many reaches the second column.
        least = self._splitter.second * (1 if body.isascii() else 4)
        rows = _long_lines(body, least, self._seen) if least else None
        if rows is None:
            self._add(self._splitter.feed(body))
        else:
            self._rows += rows

    def _add(self, batch: Batch) -> None:
        self._rows += batch.counted
        self.skipped += batch.left_out

    @property
    def row_lines(self) -> int | None:
        """1, for the header, where every other line is a row."""
        return 1 if self.lines is not None and self.lines.lines - self._rows == 1 else None

    def finish(self) -> int:
        """Give the number of rows."""
        if self._carry:
            self._add(self._splitter.feed(self._carry))
        self._add(self._splitter.finish())
        return self._rows


def fitting(lines: Sequence[str]) -> float:
    """Tell which share of the lines below a header stands below it."""
    layout = Layout(lines[0])
    body = [line for line in lines[1:] if line.strip()]
    return sum(layout.cells(line) is not None and layout.is_row(line) for line in body) / len(body) if body else 0.5


class _Kubectl:
    name = "kubectl"
    kind = "table"
    media_types = ("text/x-kubectl-table",)
    suffixes = ()
    samples = (
        b"NAME    READY   STATUS\npod-a   1/1     Running\npod-b   0/1\n",
        b"NAME  READY  STATUS  RESTARTS  AGE  NOMINATED NODE\np1  1/1  Running  4 (20m ago)  2d  <none>\n",
    )

    def sniff(self, head: bytes) -> float:
        """Tell how surely a text is a printed table: a header in capitals with rows that stand below it."""
        text = head[:16_384].decode("utf-8", "replace").lstrip("\ufeff\r\n")
        lines = [line.rstrip() for line in text.split("\n")]
        lines = lines[:-1] if len(lines) > 2 and len(head) > 16_384 else lines
        if not lines or not is_header(lines[0]):
            return 0.0
        share = fitting([line for line in lines[:200] if line] or lines)
        return 0.9 * share if share >= 0.5 else 0.0

    def split(self, dialect: Dialect) -> TableSplitter:
        """Make a splitter; the header says where the columns are."""
        return TableSplitter()

    def counter(self, head: bytes, *, indexed: bool) -> RowCounter:
        """Make what counts rows without cutting them."""
        return RowCounter(indexed=indexed)


FORMAT = _Kubectl()
