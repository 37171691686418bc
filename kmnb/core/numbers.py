"""Numbers in a text: which characters, what value, and what kind of thing they are."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = re.compile(r"(?<![\w.])[-+\u2212]?\d+(?:[,_]\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a text."""

    text: str
    """Its characters as they stand."""
    value: str
    """Its exact decimal value in plain notation, without grouping."""
    start: int
    """Place of its first character in the text, from 0."""
    end: int
    """Place after its last character."""
    line: int = 1
    """Line that it stands in, from 1."""


def find_numbers(text: str) -> list[Number]:
    """List the numbers of a text from left to right."""
    found = []
    for match in _NUMBER.finditer(text):
        value = match.group().replace(",", "").replace("_", "").replace("\u2212", "-").lstrip("+")
        line = text.count("\n", 0, match.start()) + 1
        found.append(Number(match.group(), value, match.start(), match.end(), line))
    return found
