"""The answer of a sip: bounded values, and what is needed to trust and continue them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import TYPE_CHECKING, Any

from kmnb.core.cards import slice_card
from kmnb.core.display import bundle, plain
from kmnb.core.jsonable import json_text
from kmnb.core.records import Problem

if TYPE_CHECKING:
    import pandas

_frames: list[Callable[[Slice], Any]] = []


def provide_frames(to_pandas: Callable[[Slice], Any], to_arrow: Callable[[Slice], Any]) -> None:
    """Say how slices become frames; this package itself knows no library for tables."""
    _frames[:] = [to_pandas, to_arrow]


@dataclass(frozen=True, slots=True)
class Match:
    """One line that grep found."""

    number: int
    """Line number from 1, as ``grep -n`` counts."""
    index: int
    """Line number from 0, as ``lines(start=)`` counts."""
    offset: int
    """Byte offset of the line in the decoded content."""
    text: str
    """The line without its line end."""
    before: tuple[str, ...] = ()
    """Lines before it, as many as ``context`` asked for."""
    after: tuple[str, ...] = ()
    """Lines after it, as many as ``context`` asked for."""


@dataclass(frozen=True)
class Slice:
    """A bounded answer. Its text never exceeds the cap, and what is missing is said in fields."""

    values: list[Any]
    """Lines as text, matches, rows as dicts, or JSON values."""
    text: str
    """What the command line prints; the peer's text form, position line included."""
    complete: bool
    """Whether nothing that was asked for is missing."""
    shown: int
    """Number of values in this answer."""
    total: int | None
    """Number of values that the whole answer would have; None where it cannot be known."""
    total_is_lower_bound: bool = False
    """Whether there may be more than ``total``."""
    cursor: str | None = None
    """Opaque way to go on, bound to the artifact's digest; None when there is nothing more."""
    fetched_bytes: int = 0
    """Bytes that this answer moved from the store."""
    scanned_bytes: int = 0
    """Bytes of decoded content that were looked at."""
    skipped: int = 0
    """Records that could not be used."""
    problems: tuple[Problem, ...] = ()
    """The first 20 of them."""
    notes: tuple[str, ...] = ()
    """Remarks for people: cut lines, colour codes met, a guessed encoding."""
    receipt: dict[str, Any] | None = None
    """Operation, parameters, artifact digest and text digest."""
    columns: tuple[str, ...] | None = None
    """Names of the fields of rows and matches, so that an answer without any still has them; None elsewhere."""

    def to_pandas(self) -> pandas.DataFrame:
        """Make a frame of the values; nullable types, no value is changed."""
        frame: pandas.DataFrame = _frames[0](self)
        return frame

    def to_arrow(self) -> Any:
        """Make an Arrow table of the values; needs ``kmnb[arrow]``."""
        return _frames[1](self)

    def to_json(self) -> str:
        """Write the values as one JSON list that strict parsers read."""
        return json_text([asdict(value) if is_dataclass(value) else value for value in self.values])  # type: ignore[arg-type]

    def to_csv(self, *, formula_safe: bool = True) -> str:
        """Write the values as CSV: a column for each field, or one named ``value``; a single list gives the rows.

        Args:
            formula_safe: Whether cells that a spreadsheet would run as a formula get an apostrophe before them.

        Returns:
            Text with LF line ends; nothing but the header for no values.
        """
        single = self.values[0] if len(self.values) == 1 else None
        rows = [_fields(value) for value in (single if isinstance(single, list) else self.values)]
        names = list(dict.fromkeys([*(self.columns or ()), *(name for row in rows for name in row)])) or ["value"]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([_cell(name, formula_safe) for name in names])
        writer.writerows([_cell(row.get(name), formula_safe) for name in names] for row in rows)
        return out.getvalue()

    def __repr__(self) -> str:
        return plain(slice_card(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(slice_card(self))


def _fields(value: Any) -> Mapping[str, Any]:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value if isinstance(value, Mapping) else {"value": value}


def _cell(value: Any, formula_safe: bool) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return json_text(value)
    if formula_safe and _begins_formula(value) and not _is_number(value):
        return f"'{value}"
    return value


_FORMULA_SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What begins a formula; in some languages the wide forms do, too."""


def _begins_formula(text: str) -> bool:
    # Some programs leave out what cannot be seen before they look.
    return text[:1] in ("\t", "\r", "\n") or text.lstrip(" \t\r\n\xa0\ufeff\u200b").startswith(_FORMULA_SIGNS)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
