"""Refuse numbers that no computation backs.

``check(text, receipts)`` looks at every number of a text and says where it comes from: the output of a successful run
(``backed``), the answer of a sip (``quoted``), one operation on at most two numbers of one receipt (``derived``), or
nowhere (``unbacked``). With ``strict=True`` only successful runs and whole-artifact counts and statistics pass.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any, Literal

from kmnb.core.numbers import Number, find_numbers, plain_decimal
from kmnb.core.outcome import Outcome
from kmnb.core.receipt import Receipt, read_numbers
from kmnb.core.slice import Slice
from kmnb.errors import BadRequest

Status = Literal["backed", "derived", "quoted", "unbacked"]
"""Where a number comes from."""
DERIVED_MAX = 40
"""Most different numbers of a receipt that are combined: of many, some two give almost any number."""
WHOLE_SIPS = frozenset({"count", "stats"})
"""Sips that look at every record, so that their numbers pass in strict mode too."""
_ROUNDED = re.compile(
    r"(?:\b(?:about|approximately|approx\.?|around|roughly|circa|ca\.|nearly|almost|rounded(?: to)?)|[~≈])\s*$", re.I
)
_DIGITS = 60


@dataclass(frozen=True, slots=True)
class Checked:
    """One number of a text, judged."""

    text: str
    """Its characters."""
    place: int
    """Where it starts in the text, from 0."""
    status: Status
    """Where it comes from."""
    evidence: str
    """What backs it, or why nothing does."""


@dataclass(frozen=True, slots=True)
class Check:
    """A text, judged."""

    ok: bool
    """Whether no number is unbacked."""
    numbers: tuple[Checked, ...]
    """Its numbers from left to right; dates, identifiers and labels are none."""


@dataclass(frozen=True, slots=True)
class _Source:
    """Numbers that count, with what they come from."""

    numbers: tuple[Number, ...]
    name: str
    is_run: bool
    whole: bool


def check(text: str, receipts: Iterable[Any], *, strict: bool = False) -> Check:
    """Judge the numbers of a text.

    Rounding counts where the text shows it: by decimals ("3.1" for 3.14) or by saying so ("about 1,200").

    Args:
        text: What somebody states.
        receipts: Receipts of Outcomes and Slices as objects, dicts or JSON text, or Outcomes and Slices themselves.
        strict: Whether only numbers in the output of a successful run, or of a whole-artifact count or statistics,
            pass; arithmetic outside a program and numbers merely seen in a slice do not.

    Returns:
        Every number with its status and evidence.

    Raises:
        BadRequest: Something that is no receipt, or that was changed.
    """
    if not isinstance(text, str):
        raise BadRequest(f"text of type {type(text).__name__}", "holds no numbers to check", "Give a string.")
    if isinstance(receipts, str | bytes) or not isinstance(receipts, Iterable):
        raise BadRequest(f"receipts of type {type(receipts).__name__}", "is no list", "Give a list of receipts.")
    sources = [source for one in receipts if (source := _source(one)) is not None]
    with localcontext() as context:
        context.prec = _DIGITS
        numbers = tuple(_judge(number, text, sources, strict=strict) for number in find_numbers(text))
    return Check(all(one.status != "unbacked" for one in numbers), numbers)


def _source(given: Any) -> _Source | None:
    """Read what a receipt lets pass; the run that failed lets nothing pass."""
    if isinstance(given, Outcome):
        given = given.receipt
    if given is None:
        return None
    if isinstance(given, Slice):
        return _of_sip(given.receipt or {}, given.text)
    if isinstance(given, str | bytes):
        try:
            given = json.loads(given)
        except ValueError as error:
            raise BadRequest("this receipt", f"is no JSON ({error})") from error
    if isinstance(given, Mapping) and "op" in given:
        return _of_sip(given, None)
    receipt = Receipt.from_value(given)
    if not receipt.ok:
        return None
    return _Source(receipt.numbers, f"run {receipt.digest}", is_run=True, whole=True)


def _of_sip(receipt: Mapping[str, Any], text: str | None) -> _Source:
    """Read a sip's receipt; its numbers stand in it, or in the answer's own text."""
    name = f"{receipt.get('op', 'sip')} of {receipt.get('key')} ({receipt.get('artifactDigest')})"
    whole = receipt.get("op") in WHOLE_SIPS and not dict(receipt.get("parameters") or {}).get("where")
    if text is None:
        numbers = read_numbers(receipt.get("numbers", ()))
        return _Source(numbers, name, is_run=False, whole=whole)
    told = receipt.get("textDigest")
    if told is not None and told != "sha256:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest():
        raise BadRequest("this slice", "has another text than its receipt tells", "Ask again.")
    return _Source(tuple(find_numbers(text)), name, is_run=False, whole=whole)


def _judge(number: Number, text: str, sources: list[_Source], *, strict: bool) -> Checked:
    """Find the best evidence for one number."""
    rounded = bool(_ROUNDED.search(text, max(0, number.start - 24), number.start))
    why = "no run printed it"
    for source in sorted(sources, key=lambda one: not one.is_run):
        found = next((one for one in source.numbers if _same(number, one, rounded)), None)
        if found is None:
            continue
        place = f"line {found.line} of {source.name}: {found.text}"
        if strict and not source.whole:
            why = f"only seen in {source.name}; let a program print it"
            continue
        return Checked(number.text, number.start, "backed" if source.is_run else "quoted", place)
    if strict:
        return Checked(number.text, number.start, "unbacked", why)
    for source in sources:
        formula = next(_derivations(number, source.numbers, rounded), None)
        if formula is not None:
            return Checked(number.text, number.start, "derived", f"{formula} of {source.name}")
    return Checked(number.text, number.start, "unbacked", why)


def _unit_of_last_place(number: Number, rounded: bool) -> Decimal:
    """How coarse a number is as it stands: its last decimal, or, where rounding is said, its last digit but zeros."""
    if number.decimals:
        step = Decimal(1).scaleb(-number.decimals)
    elif rounded:
        zeros = len(number.value) - len(number.value.rstrip("0")) if number.value.strip("-0") else 0
        step = Decimal(10) ** zeros
    else:
        return Decimal(0)
    return step * (number.exact / Decimal(number.value)) if Decimal(number.value) else step


def _close(number: Number, value: Decimal, step: Decimal) -> bool:
    return abs(number.exact - value) * 2 <= step


def _same(number: Number, found: Number, rounded: bool) -> bool:
    """Tell whether a number of the text is one of a receipt."""
    if number.exact == found.exact:
        return True
    return _close(number, found.exact, _unit_of_last_place(number, rounded))


def _derivations(number: Number, numbers: tuple[Number, ...], rounded: bool) -> Iterator[str]:
    """Try one operation on two numbers of a receipt."""
    values = list(dict.fromkeys(one.exact for one in numbers))
    if len(values) > DERIVED_MAX:
        return
    step = _unit_of_last_place(number, rounded)
    quotient_step = max(step, Decimal(1)) if number.unit == "%" and not number.decimals else step
    exact_step = step if rounded else Decimal(0)
    for first in values:
        for second in values:
            if first is second:
                continue
            for sign, value, allowed in _operations(first, second, quotient_step, exact_step=exact_step):
                if (sign == "%") <= (number.unit == "%") and _close(number, value, allowed):
                    yield f"{plain_decimal(first)} {sign} {plain_decimal(second)}"


def _operations(
    first: Decimal, second: Decimal, quotient_step: Decimal, *, exact_step: Decimal
) -> Iterator[tuple[str, Decimal, Decimal]]:
    yield "+", first + second, exact_step
    yield "-", first - second, exact_step
    yield "*", first * second, exact_step
    if second:
        yield "/", first / second, quotient_step
        yield "%", 100 * first / second, quotient_step
