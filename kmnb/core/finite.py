"""Numbers that JSON does not know: programs write NaN and infinities all the same.

The rule is one for all that read JSON: ``NaN``, ``Infinity`` and ``-Infinity`` where a value may stand are no JSON. A
document that has them is refused, a line of NDJSON is left out and counted. Numbers beyond floats (``1e999``), and
integers of more digits than Python reads, are texts of their digits. So whatever is answered can be parsed strictly,
and nothing becomes null without a word.
"""

from __future__ import annotations

import math
from typing import Any

DIGITS_MAX = 4300
"""Longest integer that is read as one; Python refuses longer ones, since to read them takes quadratic time."""


def finite(text: str) -> float | str:
    """Read the text of a number; one beyond floats stays text."""
    value = float(text)
    return value if math.isfinite(value) else text


def exact(text: str) -> int | str:
    """Read the text of an integer; one with more digits than Python reads stays text."""
    return int(text) if len(text) - text.startswith("-") <= DIGITS_MAX else text


def refuse(word: str) -> Any:
    """Refuse the name of a value that JSON does not know; for ``parse_constant`` of :mod:`json`.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"{word} is no JSON value")
