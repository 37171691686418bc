"""Numbers in a text: which characters, what exact value, and what only looks like a number.

One scanner serves the output of programs, of which only what is surely a number counts, and texts that state numbers,
of which everything that may be read as one has to be found. What it meets with digits is never passed over: it is a
number, a row of :mod:`kmnb.core.lookalikes`, or cannot be read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from kmnb.core.glyphs import ESCAPES, readable
from kmnb.core.number_reading import plain_decimal
from kmnb.core.number_scan import scan
from kmnb.core.units import unit_of

__all__ = ["Number", "find_numbers", "plain_decimal"]
_ESCAPE = re.compile(ESCAPES)


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a text."""

    text: str
    """Its characters as they stand, unit included."""
    value: str
    """Its exact decimal value in plain notation, without grouping and unit."""
    start: int
    """Place of its first character in the text, from 0."""
    end: int
    """Place after its last character."""
    line: int = 1
    """Line that it stands in, from 1."""
    unit: str = ""
    """Its unit as it is written, ``%`` for per cent, the code of a currency, or nothing."""

    @property
    def exact(self) -> Decimal:
        """The value in the base of its unit's dimension; per cent are left as they are."""
        unit = unit_of(self.unit)
        return Decimal(self.value) * unit.scale * unit.factor

    @property
    def decimals(self) -> int:
        """Digits that it shows after the point."""
        return len(self.value.partition(".")[2])


def find_numbers(text: str, *, begin: int = 0, most: int | None = None) -> list[Number]:
    """List what is surely a number in a text, from left to right; what only looks like one is passed over.

    Args:
        text: Any text, for example what a program printed; the colours of terminals are no part of it.
        begin: Where to begin; the start of a line.
        most: Numbers after which to stop; None for all.

    Returns:
        Numbers with their places, values and units.
    """
    (shown,) = readable(text[begin:] if begin else text, markup=False)
    found: list[Number] = []
    line, counted = 1 + text.count("\n", 0, begin), 0
    for token in scan(shown.text):
        if token.kind != "number":
            continue
        line += shown.text.count("\n", counted, token.start)
        counted = token.start
        start, end = begin + shown.place(token.start), begin + shown.place(token.end - 1) + 1
        written = _ESCAPE.sub("", text[start:end])
        found.append(Number(written, token.value, start, end, line, token.unit))
        if len(found) == most:
            break
    return found
