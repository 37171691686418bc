"""Numbers that JSON does not know: programs write NaN and infinities all the same, and text stands for them here.

The rule is one for all that read JSON: ``NaN``, ``Infinity`` and ``-Infinity`` where a value may stand are read as
texts of these names, as are numbers beyond floats (``1e999``), so that whatever is answered can be parsed strictly.
"""

from __future__ import annotations

import math
import re

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|-?Infinity|NaN', re.DOTALL)


def named(text: bytes) -> bytes | None:
    """Put the names of such values into quotes.

    Args:
        text: JSON text that does not begin inside of a string.

    Returns:
        The text; None where there is nothing to be changed.
    """
    if b"NaN" not in text and b"Infinity" not in text:
        return None
    return _TOKEN.sub(lambda found: found.group() if found.group()[:1] == b'"' else b'"%b"' % found.group(), text)


def finite(text: str) -> float | str:
    """Read the text of a number; one beyond floats stays text."""
    value = float(text)
    return value if math.isfinite(value) else text
