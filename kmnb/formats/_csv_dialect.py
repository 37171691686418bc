"""Find out how a delimited text is written: delimiter, header, end of records. Guesses from a sample, never values."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from kmnb.core.records import Dialect
from kmnb.formats._csv_records import RecordCutter, cells_of

SAMPLE_BYTES = 65_536
"""How much of the beginning a guess looks at."""
_SAMPLE_RECORDS = 100
_CANDIDATES = (",", "\t", ";", "|")
_NUMBER = re.compile(r"\s*+[-+]?(\d[\d ]*+([.,]\d++)?|[.,]\d++)([eE][-+]?\d++)?+\s*+%?\s*+\Z")
_NAME = re.compile(r"[^\W\d][\w .()/%#'-]{0,60}\Z")
_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d([T ].*)?\Z|\s*\d\d?[-/.]\d\d?[-/.]\d\d(\d\d)?\Z")


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How to read one delimited text; nothing is left open."""

    delimiter: str
    """One character between cells."""
    quote: str
    """Quote character; empty for none."""
    header: bool
    """Whether the first record names the columns."""
    newline: bytes
    """What ends a record: LF, or CR where there is no LF at all."""
    width: int
    """Number of cells of a usual record; a delimiter at the end of every record adds none."""
    agreement: float
    """Share of sampled records that have that width, from 0 to 1."""
    guessed: tuple[str, ...] = ()
    """What had to be found out."""
    sampled: int = 0
    """Number of records that were looked at."""
    names_fit: float = 1.0
    """How much the first record looks like names: 1 for plain names, 0.5 for values, 0 for prose."""


def sample_rows(head: bytes, *, delimiter: str, quote: str, newline: bytes, whole: bool) -> list[list[str]]:
    """Cut the first records of a sample into cells; the last, perhaps cut one is left out unless it is whole."""
    cutter = RecordCutter(delimiter, quote)
    records: list[str] = []
    lines = head.removeprefix(b"\xef\xbb\xbf").split(newline, _SAMPLE_RECORDS * 4)
    is_all = whole and len(lines) <= _SAMPLE_RECORDS * 4
    for line in lines if is_all else lines[:-1] or lines:
        record = cutter.take(line.removesuffix(b"\r"))
        if record and not cutter.is_too_long:
            records.append(record.decode("utf-8", "replace"))
        if len(records) >= _SAMPLE_RECORDS:
            break
    rows = cells_of(records, delimiter, quote)
    if not is_all and len(lines) == 1 and rows:
        # One record alone is larger than the sample: its last cell is cut.
        del rows[0][-1:]
    return rows


@lru_cache(maxsize=4)
def sniff_dialect(head: bytes, dialect: Dialect, *, whole: bool, hint: str | None = None) -> CsvDialect:
    """Complete a dialect from the first bytes of a text.

    Args:
        head: The beginning, decoded to UTF-8.
        dialect: What the caller knows; that is never overruled.
        whole: Whether ``head`` is the whole content.
        hint: Delimiter to prefer when several fit equally.

    Returns:
        A dialect without open questions.
    """
    quote = '"' if dialect.quote is None else dialect.quote
    # A CR at the very end may stand before an LF that is not in the sample.
    newline = b"\r" if b"\n" not in head and b"\r" in head[:-1] else b"\n"
    if dialect.delimiter:
        best = _judge(head, dialect.delimiter, quote=quote, newline=newline, whole=whole)
    else:
        tried = [_judge(head, candidate, quote=quote, newline=newline, whole=whole) for candidate in _CANDIDATES]
        best = max(tried, key=lambda t: (t.score, t.delimiter == hint))
    header = has_header(best.rows) if dialect.header is None else dialect.header
    guessed = tuple(
        name for name, value in (("delimiter", dialect.delimiter), ("header", dialect.header)) if value is None
    )
    return CsvDialect(
        delimiter=best.delimiter,
        quote=quote,
        header=header,
        newline=newline,
        width=best.width,
        agreement=best.agreement,
        guessed=guessed,
        sampled=len(best.rows),
        names_fit=_names_fit(best.rows),
    )


@dataclass(frozen=True, slots=True)
class _Trial:
    delimiter: str
    rows: list[list[str]]
    width: int
    agreement: float

    @property
    def score(self) -> tuple[float, int]:
        """Order of candidates: several columns, then agreement of the records, then number of columns."""
        return (self.agreement if self.width > 1 else 0.0, self.width)


def _judge(head: bytes, delimiter: str, *, quote: str, newline: bytes, whole: bool) -> _Trial:
    rows = sample_rows(head, delimiter=delimiter, quote=quote, newline=newline, whole=whole)
    if not rows:
        return _Trial(delimiter, rows, 1, 0.0)
    if all(len(row) > 1 and row[-1] == "" for row in rows):
        rows = [row[:-1] for row in rows]
    first = len(rows[0])
    widths = Counter(first if len(row) > first and not any(row[first:]) else len(row) for row in rows)
    width, times = widths.most_common(1)[0]
    return _Trial(delimiter, rows, width, times / len(rows))


def has_header(rows: list[list[str]]) -> bool:
    """Tell whether the first record names the columns.

    It does, unless it holds numbers or dates in just those columns in which the records below hold them too.
    Whole numbers that follow one another (years as names) are names.
    """
    if len(rows) < 2:
        return True
    first, body = rows[0], [row for row in rows[1:101] if len(row) == len(rows[0])]
    kinds = [_kind(cell) for cell in first]
    if not body or not any(kind for kind in kinds) or _is_run(first):
        return True
    for at, kind in enumerate(kinds):
        below = {_kind(row[at]) for row in body if row[at]}
        if first[at] and below and (kind not in below):
            return True
    return False


def _names_fit(rows: list[list[str]]) -> float:
    if not rows:
        return 0.0
    first = [cell.strip() for cell in rows[0]]
    filled = [cell for cell in first if cell]
    if len(filled) <= len(first) / 2 or len(set(filled)) <= len(filled) / 2 or max(map(len, first)) > 120:
        return 0.0
    return 1.0 if len(set(first)) == len(first) and all(map(_NAME.match, rows[0])) else 0.5


def _kind(cell: str) -> str:
    return "date" if _DATE.match(cell) else "number" if _NUMBER.match(cell) else ""


def _is_run(cells: list[str]) -> bool:
    numbers = [int(cell) for cell in cells if cell.isascii() and cell.isdigit() and len(cell) == 4]
    return len(numbers) > 1 and all(b - a == 1 for a, b in itertools.pairwise(numbers))
