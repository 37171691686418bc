"""What it means to compare two values, the same on every format.

A literal says how: against a number, values are read as exact numbers (``9007199254740993``, ``0.1`` and the text
``"00010"`` too); against a text, they are taken as they stand, code point by code point; against true and false, as
flags. Two columns are compared as numbers where both are written as numbers, else as texts. Values that are not
comparable are not equal, and their order cannot be told: such rows are left out, nothing raises. Comparing with
nothing (a missing field, null) cannot be told either; ``is null`` asks for it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from kmnb.core.shape import text_of

Number = int | Decimal
_LENIENT = re.compile(r"\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,9})?\s*\Z", re.ASCII)
_STRICT = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d{1,9})?\Z", re.ASCII)
_INT_DIGITS_MAX = 4000
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that was written in a condition."""

    kind: str
    """``text``, ``number`` or ``flag``."""
    value: Any
    """The text, the exact number, or the flag."""

    @staticmethod
    def of_text(text: str) -> Literal:
        """Make a text."""
        return Literal("text", text)

    @staticmethod
    def of_number(text: str) -> Literal:
        """Make an exact number of its digits."""
        return Literal("number", _number_of(text))

    @staticmethod
    def of_flag(value: bool) -> Literal:
        """Make true or false."""
        return Literal("flag", value)


def number_of(value: Any, *, strict: bool = False) -> Number | None:
    """Read a value as an exact number; None when it is none.

    Args:
        value: A cell.
        strict: Whether a text with leading zeros, blanks or a plus is a code and no number.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | Decimal):
        return value
    if isinstance(value, float):
        return Decimal(repr(value)) if value - value == 0 else None
    if isinstance(value, str) and (_STRICT if strict else _LENIENT).match(value):
        return _number_of(value.strip())
    return None


def _number_of(text: str) -> Number:
    bare = text.lstrip("+-")
    return int(text) if bare.isdigit() and len(bare) <= _INT_DIGITS_MAX else Decimal(text)


def compare(sign: str, one: Any, other: Any) -> bool | None:
    """Compare two values, at most one of them a literal or both.

    Args:
        sign: ``=``, ``!=``, ``<``, ``<=``, ``>`` or ``>=``.
        one: A cell or a literal.
        other: A cell or a literal.

    Returns:
        The answer; None when it cannot be told.
    """
    if isinstance(other, Literal):
        return against(sign, other)(one.value if isinstance(one, Literal) else one)
    if isinstance(one, Literal):
        return against(_TURNED[sign], one)(other)
    if one is None or other is None:
        return None
    left, right = number_of(one, strict=True), number_of(other, strict=True)
    if left is None or right is None:
        return _ORDER[sign](text_of(one), text_of(other))
    return _ORDER[sign](left, right)


def against(sign: str, literal: Literal) -> Callable[[Any], bool | None]:
    """Make the test of cells against a literal, which stands on the right; see :func:`compare`."""
    order, wanted, unlike = _ORDER[sign], literal.value, {"=": False, "!=": True}.get(sign)
    read = _READERS[literal.kind]

    def test(cell: Any) -> bool | None:
        if cell is None:
            return None
        mine = read(cell)
        return unlike if mine is None else order(mine, wanted)

    return test


def _flag_of(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return _FLAGS.get(value.lower()) if isinstance(value, str) else None


_READERS: dict[str, Callable[[Any], Any]] = {"text": text_of, "number": number_of, "flag": _flag_of}
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TURNED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def like_pattern(pattern: str, *, ignore_case: bool) -> Callable[[str], bool]:
    """Make a test of texts from a pattern with ``%`` and ``_``.

    The pieces between ``%`` are looked for one after the other, so the time is linear in text times piece, whatever
    the pattern.
    """
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    pieces: list[str] = [""]
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "%":
            pieces.append("")
        elif char == "_":
            pieces[-1] += "."
        else:
            if char == "\\" and at + 1 < len(pattern):
                at += 1
                char = pattern[at]
            pieces[-1] += re.escape(char)
        at += 1
    if len(pieces) == 1:
        whole = re.compile(pieces[0], flags)
        return lambda text: whole.fullmatch(text) is not None
    first, *middle, last = pieces
    start, end = re.compile(first, flags), re.compile(f"(?:{last})\\Z", flags)
    searched = [re.compile(piece, flags) for piece in middle if piece]

    def matches(text: str) -> bool:
        found = start.match(text)
        for piece in searched:
            found = piece.search(text, found.end()) if found else None
        if found is None:
            return False
        # The last piece has a fixed length in characters, so its place is known.
        return end.match(text, max(found.end(), len(text) - _length(last))) is not None

    return matches


def _length(piece: str) -> int:
    return len(re.sub(r"\\(.)", r"\1", piece, flags=re.DOTALL))
