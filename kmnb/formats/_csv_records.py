"""Cut delimited text into records and cells: quotes may hold delimiters and line breaks.

A quote opens only at the beginning of a cell; elsewhere it is a character like any other. Two quotes inside a quoted
cell are one. What follows a closing quote up to the delimiter belongs to the cell. These are the rules of Python's
``csv`` module, which does the cutting wherever its own limits allow.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

from kmnb.core.bounds import LINE_MAX_BYTES

# csv.field_size_limit is a process-wide setting that belongs to the user: longer records are cut by our own pattern.
_CSV_MODULE_MAX = 100_000


@cache
def _open_patterns(delimiter: str, quote: str) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Give the patterns of a line that ends inside quotes, begun outside and inside of them. Linear time."""
    d, q = re.escape(delimiter).encode(), re.escape(quote).encode()
    inside = rb"(?:[^Q]++|QQ)*+"
    cells = rb"(?:(?:Q" + inside + rb"Q[^D]*+|[^QD][^D]*+|)D)*+"
    fresh = cells + rb"Q" + inside + rb"\Z"
    going = inside + rb"(?:\Z|Q[^D]*+D" + fresh + rb")"
    return tuple(re.compile(p.replace(b"Q", q).replace(b"D", d), re.DOTALL) for p in (fresh, going))  # type: ignore[return-value]


@cache
def _cell_pattern(delimiter: str, quote: str) -> re.Pattern[str]:
    d, q = re.escape(delimiter), re.escape(quote)
    return re.compile(rf"{q}((?:[^{q}]++|{q}{q})*+){q}?([^{d}]*+)({d}|\Z)|([^{d}]*+)({d}|\Z)", re.DOTALL)


class RecordCutter:
    """Cut lines into records that may span several of them.

    What is longer than the cap of a line is no usable record: its beginning is kept and ``size`` tells. Such a record
    of many lines ends where its quotes do. A single line that is too long ends its record, whatever its quotes say:
    it need not be held to tell, so that the records are the same however the text arrives.

    Args:
        delimiter: One character between cells.
        quote: The quote character; empty for none.
    """

    def __init__(self, delimiter: str, quote: str) -> None:
        self._mark = quote.encode()
        self._patterns = _open_patterns(delimiter, quote) if quote else None
        self._open: list[bytes] = []
        self._held = 0
        self.size = 0
        """Bytes of the record that :meth:`take` gave last."""

    @property
    def is_open(self) -> bool:
        """Whether a record has begun whose quotes are not closed yet."""
        return bool(self._open)

    @property
    def is_too_long(self) -> bool:
        """Whether the record that :meth:`take` gave last is longer than the cap."""
        return self.size > LINE_MAX_BYTES

    def take(self, line: bytes) -> bytes | None:
        """Take a line without its LF; give the record that ends with it, if one does."""
        begun = self.is_open
        if not begun and (self._patterns is None or self._mark not in line):
            self.size = len(line)
            return line
        self._keep(line)
        return None if len(line) <= LINE_MAX_BYTES and self._ends_open(line, begun) else self.release()

    def _ends_open(self, line: bytes, begun: bool) -> bool:
        """Tell whether a line ends inside of quotes; ``begun``: it begins there too."""
        if self._patterns is None:
            return False
        fresh, going = self._patterns
        if not begun:
            return fresh.match(line) is not None
        return self._mark not in line or going.match(line) is not None

    def _keep(self, line: bytes) -> None:
        if self._held <= LINE_MAX_BYTES:
            self._open.append(line)
        self._held += len(line) + 1

    def release(self) -> bytes:
        """Give what was held of an open record."""
        record = b"\n".join(self._open)
        self.size = max(0, self._held - 1)
        self._open, self._held = [], 0
        return record


def cells_of(records: Iterable[str], delimiter: str, quote: str) -> list[list[str]]:
    """Cut records into cells.

    Args:
        records: Whole records without their line end; none of them empty.
        delimiter: One character between cells.
        quote: The quote character; empty for none.

    Returns:
        One list of cells a record; values are the text as it stands.
    """
    records = list(records)
    if not quote:
        return [record.split(delimiter) for record in records]
    rows: list[list[str]] = []
    plain: list[str] = []
    for record in records:
        if "\r" in record or "\0" in record or len(record) > _CSV_MODULE_MAX:
            rows.extend(_by_module(plain, delimiter, quote))
            plain = []
            rows.append(_by_pattern(record, delimiter, quote))
        else:
            plain.append(record)
    rows.extend(_by_module(plain, delimiter, quote))
    return rows


def _by_module(records: list[str], delimiter: str, quote: str) -> list[list[str]]:
    try:
        return list(csv.reader(records, delimiter=delimiter, quotechar=quote))
    except csv.Error:
        # It takes no LF outside of quotes, though lines may end with CR alone, and no cell above the user's limit.
        return [_by_pattern(record, delimiter, quote) for record in records]


class _End(Iterator[str]):
    """Tells whether somebody asked for more lines than there are."""

    reached = False

    def __next__(self) -> str:
        self.reached = True
        raise StopIteration


def quoted_rows(body: bytes, delimiter: str, quote: str) -> tuple[list[list[str]], list[int], int]:
    """Cut records into cells in one go, where Python's ``csv`` module does it as the others here do.

    Args:
        body: Whole lines that end with LF, but for the last one; a record begins with the first.
        delimiter: One character between cells.
        quote: The quote character.

    Returns:
        One list of cells a record, the number of the line where each begins, from 0, and how many lines these are. A
        record whose quotes are not closed is left, and all of them where the module would read them otherwise.
    """
    text = body.decode("utf-8", "replace")
    if "\0" in text or text.count("\r") != text.count("\r\n"):
        return [], [], 0
    rows: list[list[str]] = []
    begun: list[int] = []
    end, passed = _End(), 0
    reader = csv.reader(chain(io.StringIO(text, newline="\n"), end), delimiter=delimiter, quotechar=quote)
    try:
        for row in reader:
            if end.reached:
                break
            if row:
                rows.append(row)
                begun.append(passed)
            passed = reader.line_num
    except csv.Error:
        # A cell is longer than the module takes; who set its limit knows why.
        return [], [], 0
    return rows, begun, passed


def _by_pattern(record: str, delimiter: str, quote: str) -> list[str]:
    if quote not in record:
        return record.split(delimiter)
    cells: list[str] = []
    for match in _cell_pattern(delimiter, quote).finditer(record):
        quoted, rest, end, plain, plain_end = match.groups()
        cells.append(plain if quoted is None else quoted.replace(quote * 2, quote) + rest)
        if not (end or plain_end):
            break
    return cells
