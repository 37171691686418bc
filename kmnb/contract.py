"""Refuse numbers that no computation backs.

``check(text, receipts)`` looks at every number of a text and says where it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from kmnb.core.numbers import Number, find_numbers
from kmnb.core.receipt import Receipt

Status = Literal["backed", "derived", "quoted", "unbacked"]
"""Where a number comes from: a run's output, one operation on it, a sip, or nowhere."""


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
    """Its numbers from left to right."""


def check(text: str, receipts: Iterable[Any], *, strict: bool = False) -> Check:
    """Judge the numbers of a text.

    Args:
        text: What somebody states.
        receipts: Receipts of Outcomes and Slices, as objects, dicts or JSON text.
        strict: Whether only numbers in the output of a successful run, or of a whole-artifact count, pass.

    Returns:
        Every number with its status and evidence.
    """
    known = [Receipt.from_value(one) for one in receipts]
    numbers = tuple(_judge(one, known) for one in find_numbers(text))
    return Check(all(one.status != "unbacked" for one in numbers), numbers)


def _judge(number: Number, receipts: list[Receipt]) -> Checked:
    for receipt in receipts:
        for other in receipt.numbers if receipt.ok else ():
            if other.value == number.value:
                place = f"line {other.line} of the output of run {receipt.digest}"
                return Checked(number.text, number.start, "backed", place)
    return Checked(number.text, number.start, "unbacked", "no run printed it")
