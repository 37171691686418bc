"""One number as it stands: its sign, currency, digits, power and unit.

A number that can be read in two ways ("No.43", "1..5", "4^3", letters that look like digits) is not read at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal

from kmnb.core.units import CURRENCIES, PERCENT, unit_at, unit_of

DIGITS_MAX = 1000
"""Longest number in characters that is compared."""
EXPONENT_MAX = 400
"""Largest power of ten that is read."""
_GROUPED = r"\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:[\u00a0\u202f\u2009'_]\d{3})+(?!\d)"
_EUROPEAN = (
    r"\d{1,3}(?:\.\d{3})+,\d+(?![.,]?\d)|\d{1,3}(?:[\u00a0\u202f\u2009]\d{3})+,\d+(?!\d)"
    r"|\d{1,3}(?:\.\d{3}){2,}(?![.,]?\d)"
)
_NUMBER = re.compile(
    rf"(?P<based>0(?:[xX][0-9a-fA-F]+|[bB][01]+|[oO][0-7]+)(?!\w))|(?P<european>{_EUROPEAN})"
    rf"|(?P<plain>(?:{_GROUPED}|\d+)(?:\.\d+)?)(?P<power>[eE][-+]?\d+(?!\w)|\s?[×x*·]\s?10\^[-+]?\d+)?",
    re.ASCII,
)
_TIMES = {"d": 86400, "h": 3600, "m": 60, "min": 60, "s": 1}
_DURATION = re.compile(
    r"\d{1,6}[dh](?: ?\d{1,6}(?:h|min|m|s)){1,3}(?!\w)|\d{1,6}m ?\d{1,2}(?:\.\d{1,9})?s(?!\w)", re.ASCII
)
MONEY = "|".join(re.escape(sign) for sign in sorted(CURRENCIES, key=len, reverse=True))
_BEFORE = re.compile(
    r"(?:(?P<word>\b(?i:minus|negative)[ -])|(?P<lone>(?<=[=:|(])[-–\u2212] |(?<=[=:|(] )[-–\u2212] )"
    r"|(?P<sign>[-–\u2212+]))?"
    rf"(?:(?<![A-Za-z])(?P<money>{MONEY})[ \u00a0]?(?P<inner>[-–\u2212])?)?(?P<dot>\.)?$"
)
_QUIET = frozenset({",", ";", ".", ")", "]", '"', "'", "*", "+", "/", *"0123456789"})
"""What has nothing to do with a number that a space parts it from."""
_LOST = re.compile(
    r"(?:[.'_\u00a0\u202f\u2009]?\d)+[\d.,'_\u00a0]*|[\^\u2044]\S{0,64}"
    r"|[ \u00a0\u3000]?[一二三四五六七八九十百千万萬億亿兆만억조]+"
    r"|-(?=[\s|;)]|$)(?! (?:or|and|to) )",
    re.ASCII,
)
_NOUNS = frozenset({"rows", "lines"})
LIKE_DIGITS = frozenset("OoQlI\u041e\u043e\u039f\u03bf\u0406\u0456\u04cf")
_LONE_LETTER = re.compile(r"(?![°µ])[^\W\d_\x00-\x7f\u2e80-\U0001ffff](?![^\W\d_])")
"""A letter of another alphabet beside a digit, which may look like one."""
_GLUED = re.compile(r"[A-Za-z_]\w*|[\u041e\u043e\u039f\u03bf\u0406\u0456\u04cf]\w*")


@dataclass(frozen=True, slots=True)
class Token:
    """Something with digits in a readable text."""

    kind: str
    """``number``, ``glued`` (a number with letters at it), ``unreadable``, or the kind of a lookalike."""
    start: int
    """Where it begins."""
    end: int
    """Where it ends."""
    value: str = ""
    """A number's value."""
    unit: str = ""
    """A number's unit."""
    doubtful: bool = False
    """Whether a lookalike may be meant as a quantity."""


def number_at(text: str, place: int) -> Token:
    """Read the number whose first digit is at a place, with its sign and unit; what cannot be read is a token too.

    Args:
        text: A readable text.
        place: Where the first digit is.
    """
    start, negative, money, dot = _before(text, place)
    if duration := _DURATION.match(text, place):
        parts = re.findall(r"([\d.]+) ?(\D+?)(?: |$|(?=\d))", duration[0])
        seconds = sum((Decimal(digits) * _TIMES[unit] for digits, unit in parts), Decimal(0))
        return Token("number", start, duration.end(), negative + plain_decimal(seconds), "s")
    match = _NUMBER.match(text, place)
    assert match is not None
    value, end = _value(match, dot), match.end()
    if lost := _LOST.match(text, end):
        return Token("unreadable", start, lost.end())
    if value is None or _LONE_LETTER.match(text, end) or _LONE_LETTER.fullmatch(text[start - 1 : start]):
        return Token("unreadable", start, end)
    return _with_unit(text, Token("number", start, end, negative + value), money)


def _with_unit(text: str, token: Token, money: str) -> Token:
    """Look at what stands behind a number: a unit, or letters that are none."""
    unit, end = unit_at(text, token.end)
    glued = None if unit else _GLUED.match(text, end)
    if glued and set(re.sub(r"\d", "", glued[0])) <= LIKE_DIGITS:
        return Token("unreadable", token.start, glued.end())
    if glued and glued[0] not in _NOUNS:
        return replace(token, kind="glued", end=glued.end())
    if not unit and re.match(r"-[A-Za-z]", text[end : end + 2]):
        return replace(token, kind="glued")
    known = _with_money(unit, money)
    return replace(token, kind="number" if known is not None else "unreadable", end=end, unit=known or "")


def _before(text: str, place: int) -> tuple[int, str, str, str]:
    """Look at what stands before a number: where it begins, its sign, its currency, and a point without a zero."""
    near = text[place - 1 : place]
    if not near or near in ",;|\n\t" or (near == " " and text[place - 2 : place - 1] in _QUIET):
        return place, "", "", ""
    begin = max(0, place - 16)
    match = _BEFORE.search(text, begin, place)
    assert match is not None
    start, before = match.start(), text[match.start() - 1 : match.start()] if match.start() else ""
    negative = bool(match["word"] or match["lone"] or match["inner"])
    if match["sign"]:
        if before.isalnum() or before in (")", "]", "%", "-", "–"):
            start = match.end("sign")
        else:
            negative = match["sign"] != "+"
    if text[start - 1 : start] == "(" and re.match(r"[\d.,]+\)", text[place : place + 40]):
        # Accountants put what is missing in parentheses: alone in a cell, or with a currency.
        alone = re.search(r"\|\s*\($", text[max(0, start - 4) : start]) and re.match(
            r"[\d.,]+\)\s*\|", text[place : place + 40]
        )
        negative = negative or bool(alone or match["money"] or re.search(r"[$€£¥]\($", text[max(0, start - 2) : start]))
    dot = match["dot"] or ""
    if dot and re.search(r"\d\.\.$", text[max(0, place - 3) : place]):
        # "40..45" is a range.
        return place, "", "", ""
    if dot and re.match(r"[\w.)\]]", text[match.start("dot") - 1 : match.start("dot")]):
        # "No.43" and "1..43" can be read in two ways.
        dot = "?"
    return start, "-" if negative else "", CURRENCIES.get(match["money"] or "", ""), dot


def _with_money(unit: str, money: str) -> str | None:
    """Put a currency that stands before an amount into its unit; None where the two do not go together."""
    if not money:
        return "%" if unit in PERCENT else unit
    known = unit_of(unit)
    if unit in ("B", "b", "bn"):
        return f"billion {money}"
    if known.dimension.startswith("/"):
        return f"{money}{unit}"
    if known.dimension in ("", money):
        return f"{unit} {money}".strip() if not known.dimension else unit
    return None


def _value(match: re.Match[str], dot: str) -> str | None:
    """Give the plain decimal notation of a number as it stands; None where it cannot be told or compared."""
    if len(match[0]) > DIGITS_MAX or dot == "?":
        return None
    if match["based"] or match["european"]:
        plain = re.sub(r"[.\s\u00a0\u202f\u2009]", "", match[0]).replace(",", ".")
        return None if dot else str(int(plain, 0)) if match["based"] else plain
    plain = re.sub(r"[,\u00a0\u202f\u2009'_]", "", match["plain"])
    if dot and not plain.isdigit():
        return None
    plain = f"0.{plain}" if dot else plain
    if not match["power"]:
        return plain
    exponent = match["power"].rpartition("^")[2].lstrip("eE")
    fits = len(exponent) < 6 and abs(int(exponent)) <= EXPONENT_MAX
    return plain_decimal(Decimal(f"{plain}E{exponent}")) if fits else None


def plain_decimal(value: Decimal) -> str:
    """Write a decimal without an exponent."""
    return format(value, "f")
