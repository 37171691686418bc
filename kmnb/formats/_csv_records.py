"""Cut delimited text into records and cells: quotes may hold delimiters and line breaks.

A quote opens only at the beginning of a cell; elsewhere it is a character like any other. Two quotes inside a quoted
cell are one. What follows a closing quote up to the delimiter belongs to the cell. These are the rules of Python's
``csv`` module, which does the cutting wherever its own limits allow.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from functools import cache

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

    Args:
        delimiter: One character between cells.
        quote: The quote character; empty for none.
    """

    def __init__(self, delimiter: str, quote: str) -> None:
        self._mark = quote.encode()
        self._patterns = _open_patterns(delimiter, quote) if quote else None
        self._open: list[bytes] = []
        self.open_bytes = 0

    @property
    def is_open(self) -> bool:
        """Whether a record has begun whose quotes are not closed yet."""
        return bool(self._open)

    def take(self, line: bytes) -> bytes | None:
        """Take a line without its LF; give the record that ends with it, if one does."""
        if not self._open:
            if self._patterns is None or self._mark not in line or not self._patterns[0].match(line):
                return line
        elif self._mark in line and self._patterns is not None and not self._patterns[1].match(line):
            self._open.append(line)
            return self.release()
        self._open.append(line)
        self.open_bytes += len(line) + 1
        return None

    def release(self) -> bytes:
        """Give what was held of an open record."""
        record = b"\n".join(self._open)
        self._open, self.open_bytes = [], 0
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
            rows.extend(csv.reader(plain, delimiter=delimiter, quotechar=quote))
            plain = []
            rows.append(_by_pattern(record, delimiter, quote))
        else:
            plain.append(record)
    rows.extend(csv.reader(plain, delimiter=delimiter, quotechar=quote))
    return rows


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
