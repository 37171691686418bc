"""Numbers in a text: which characters, what exact value, and what only looks like a number.

Dates, times, identifiers (``ns-12``, ``v1.2``, paths, addresses, digests), ordinals and labels (``1.`` at the start of
a line, ``[3]``, ``step 2``) are told apart: they state no quantity. Number words are not looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)[a-z]*\.?"
_DIGIT_FIRST = "|".join(
    (
        # Dates and times.
        r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?",
        r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?!\d)",
        r"\d{1,2}/\d{1,2}/\d{2,4}(?!\d)",
        r"\d{1,2}\.\d{1,2}\.(?:19|20)\d{2}(?!\d)",
        rf"\d{{1,2}}(?:st|nd|rd|th)?\.?\s+{_MONTH}(?:\s+(?:19|20)\d{{2}})?(?![a-z])",
        # Identifiers: UUIDs, commit names, addresses and versions, 12-abc.
        r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b",
        r"(?=\d*[a-f])[0-9a-f]{7,64}\b(?!\.\d)",
        r"\d+(?:\.\d+){2,}(?:/\d+)?(?![\w%])",
        r"\d+(?:-[A-Za-z]\w*)+",
        # Ordinals, and labels of lists at the start of a line.
        r"\d+(?:st|nd|rd|th)\b",
        r"(?m:(?<=^)|(?<=^ )|(?<=^  )|(?<=^# )|(?<=^## )|(?<=^### ))\d{1,3}[.)](?=[ \t])",
    )
)
_LETTER_FIRST = "|".join(
    (
        rf"{_MONTH}\s+(?:\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+(?:19|20)\d{{2}})?|\d{{4}})\b",
        r"(?:in|since|until|year|during)\s+(?:19|20)\d{2}(?=\s*(?:[.,;:!?)]|$))",
        r"(?i:(?:step|figure|fig\.|table|section|chapter|page|appendix|part|line|issue)\s+\d+)(?![\w%]|[.,]\d)",
        r"[A-Za-z][A-Za-z0-9+.-]*://[^\s<>\"')\]]+",
        r"(?:sha\d+|md5):[0-9a-fA-F]+",
        r"[A-Za-z_]+(?:[-_.][A-Za-z_]+)*[-_]?\d\w*(?:[-.:]\w+)*",
        r"\w+",
    )
)
_SIGN_FIRST = "|".join((r"(?:~|\.{1,2})?/(?:[\w.@%+=:,~-]+/?)+", r"\[\d{1,3}\]", r"\#\d+"))
_DIGITS = (
    r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:[\u00a0\u202f\u2009'_]\d{3})+(?!\d)|\d+)(?:\.\d+)?"
    r"(?:[eE][-+]?\d+)?"
)
_EUROPEAN = r"\d{1,3}(?:\.\d{3})+,\d+"
_UNIT = (
    r"(?:[ \u00a0\u202f]?(?:%|percent\b|per cent\b|[kKMGT]i?B\b|bytes?\b|B\b"
    r"|thousand\b|million\b|billion\b|[kKMG](?![\w/])))"
)
_NUMBER = re.compile(
    rf"(?<!\w)(?:(?=[A-Za-z_])(?:{_LETTER_FIRST})|(?=[/~.\[#])(?<!\.)(?:{_SIGN_FIRST})|(?=\d)(?<!\.)(?:{_DIGIT_FIRST})"
    rf"|(?P<number>(?:(?<![)\]])[-+\u2212])?(?<!\w)(?<!\.)(?:{_EUROPEAN}|{_DIGITS}))(?P<unit>{_UNIT})?"
    rf"(?P<glued>[A-Za-z_]\w*)?)"
)
_FAST = re.compile(r"\d")

SCALES = {
    "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "thousand": 10**3, "million": 10**6, "billion": 10**9,
    "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "kiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip
"""What a unit multiplies by; units that are not here multiply by one."""
PERCENT = frozenset({"%", "percent", "per cent"})
"""Ways of writing per cent."""
GLUED_UNITS = frozenset(
    {"s", "ms", "us", "µs", "ns", "h", "m", "min", "d", "x", "px", "rows", "lines", "m²", "C", "V", "W"}
)
"""Letters right after a number that do not make it an identifier."""


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
    """``%``, a unit that scales it, or nothing."""

    @property
    def exact(self) -> Decimal:
        """The value with its unit's scale; per cent are left as they are."""
        return Decimal(self.value) * SCALES.get(self.unit, 1)

    @property
    def decimals(self) -> int:
        """Digits that it shows after the point."""
        return len(self.value.partition(".")[2])


def find_numbers(text: str, *, begin: int = 0, most: int | None = None) -> list[Number]:
    """List the numbers of a text from left to right; what only looks like one is passed over.

    Args:
        text: Any text.
        begin: Where to begin; the start of a line.
        most: Numbers after which to stop; None for all.

    Returns:
        Numbers with their places, values and units.
    """
    found: list[Number] = []
    line, counted = 1 + text.count("\n", 0, begin), begin
    first = _FAST.search(text, begin)
    # Nothing before the line of the first digit can matter.
    at = text.rfind("\n", 0, first.start()) + 1 if first else len(text)
    while at < len(text) and len(found) != most and (match := _NUMBER.search(text, at)):
        at = max(match.end(), at + 1)
        if match["number"] is None:
            continue
        glued, unit = match["glued"], (match["unit"] or "").strip()
        if glued is not None and glued not in GLUED_UNITS:
            continue
        start = match.start("number")
        end = match.end("unit") if unit else match.end("number")
        line += text.count("\n", counted, start)
        counted = start
        value = _value(match["number"])
        if value is not None:
            found.append(Number(text[start:end], value, start, end, line, "%" if unit in PERCENT else unit))
    return found


def _value(digits: str) -> str | None:
    """Give the plain decimal notation of a number as it stands."""
    if digits.isascii() and digits.isdigit():
        return digits
    plain = digits.replace("\u2212", "-")
    if re.fullmatch(rf"[-+]?{_EUROPEAN}", plain):
        plain = plain.replace(".", "").replace(",", ".")
    plain = re.sub(r"[,\u00a0\u202f\u2009'_]", "", plain)
    exponent = re.search(r"[eE]([-+]?\d+)$", plain)
    if exponent and abs(int(exponent[1])) > 400:
        return None
    return plain_decimal(Decimal(plain)) if exponent else plain.lstrip("+")


def plain_decimal(value: Decimal) -> str:
    """Write a decimal without an exponent."""
    return format(value, "f")
