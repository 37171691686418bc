"""Numbers that JSON does not know: programs write NaN and infinities all the same.

The rule is one for all that read JSON: ``NaN``, ``Infinity`` and ``-Infinity`` where a value may stand are no JSON. A
document that has them is refused, a line of NDJSON is left out and counted. Numbers beyond floats (``1e999``) are texts
of their digits. So whatever is answered can be parsed strictly, and nothing becomes null without a word.
"""

from __future__ import annotations

import math
import re
from typing import Any

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|(-?Infinity|NaN)', re.DOTALL)


def has_unknown(text: bytes) -> bool:
    """Tell whether such a value stands in JSON text that does not begin inside of a string."""
    if b"NaN" not in text and b"Infinity" not in text:
        return False
    return any(found.group(1) for found in _TOKEN.finditer(text))


def finite(text: str) -> float | str:
    """Read the text of a number; one beyond floats stays text."""
    value = float(text)
    return value if math.isfinite(value) else text


def refuse(word: str) -> Any:
    """Refuse the name of a value that JSON does not know; for ``parse_constant`` of :mod:`json`.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"{word} is no JSON value")
