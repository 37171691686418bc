"""Refuse numbers that no computation backs.

``check(text, receipts)`` looks at every number of a text and says where it comes from: the output of a successful run
(``backed``), the answer of a sip (``quoted``), one operation on at most two numbers of one receipt (``derived``), or
nowhere (``unbacked``). With ``strict=True`` only successful runs and whole-artifact counts and statistics pass. What is
written like a number and cannot be read is unbacked; what has digits and states no quantity is listed as ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from kmnb.core.claims import NUMERIC, STATED, Claim, claims
from kmnb.core.evidence import Evidence, Stated
from kmnb.core.proofs import Proof, read_proof
from kmnb.core.shown import Shown
from kmnb.core.units import unit_of
from kmnb.errors import BadRequest

if TYPE_CHECKING:
    from kmnb.core.display import Card

Status = Literal["backed", "derived", "quoted", "unbacked"]
"""Where a number comes from."""
TEXT_MAX = 256 * 1024
"""Longest text in characters that is checked."""
RECEIPTS_MAX = 10_000
"""Most receipts that a text is checked against."""
_DIGITS = 4000


@dataclass(frozen=True, slots=True)
class Checked:
    """One number of a text, judged."""

    text: str
    """Its characters as a reader sees them."""
    place: int
    """Where it starts in the text, from 0."""
    status: Status
    """Where it comes from."""
    evidence: str
    """What backs it, or why nothing does."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """Something with digits that was not taken for a number."""

    text: str
    """Its characters as a reader sees them."""
    place: int
    """Where it starts in the text, from 0."""
    reason: str
    """What it was taken for: ``date``, ``name``, ``version``, ``address`` and others; docs/explain/numbers.md."""
    doubtful: bool
    """Whether it may be meant as a quantity; with ``strict=True`` such ones are judged instead."""


@dataclass(frozen=True, slots=True)
class Check(Shown):
    """A text, judged."""

    ok: bool
    """Whether no number is unbacked."""
    numbers: tuple[Checked, ...]
    """Its numbers from left to right; dates, identifiers and labels are none."""
    ignored: tuple[Ignored, ...] = ()
    """What has digits and was not taken for a number, from left to right."""

    def card(self) -> Card:
        """Every number with its status."""
        from kmnb.core.display import Card, count_text

        unbacked = sum(one.status == "unbacked" for one in self.numbers)
        title = f"{'ok' if self.ok else 'not ok'} · {count_text(len(self.numbers), 'numbers')}, {unbacked} unbacked"
        rows = [(one.text, one.status, one.evidence) for one in self.numbers]
        notes = [f"ignored: {', '.join(one.text for one in self.ignored[:20])}"] if self.ignored else []
        return Card(title, columns=("number", "status", "evidence") if rows else (), rows=rows, notes=notes)


def check(text: str, receipts: Iterable[Any], *, strict: bool = False) -> Check:
    """Judge the numbers of a text.

    Rounding counts where the text shows it: by decimals ("3.1" for 3.14) or by saying so ("about 1,200", within half a
    unit of the last digit shown and 5 %). Units have to agree, or be convertible.

    Args:
        text: What somebody states, at most 262,144 characters.
        receipts: Receipts of Outcomes and Slices as objects, dicts or JSON text, or Outcomes and Slices themselves.
        strict: Whether only numbers in the output of a successful run, or of a whole-artifact count or statistics,
            pass; arithmetic outside a program and numbers merely seen in a slice do not, and what is doubtful
            ("May 12", "line 43", "three") has to be backed like a number.

    Returns:
        Every number with its status and evidence, and what was ignored.

    Raises:
        BadRequest: Something that is no receipt or that was changed, or a text that is too long.
    """
    if not isinstance(text, str):
        raise BadRequest(f"text of type {type(text).__name__}", "holds no numbers to check", "Give a string.")
    if len(text) > TEXT_MAX:
        raise BadRequest(f"text of {len(text):,} characters", f"is longer than {TEXT_MAX:,}", "Check it in parts.")
    if isinstance(receipts, str | bytes | Mapping) or not isinstance(receipts, Iterable):
        raise BadRequest(f"receipts of type {type(receipts).__name__}", "is no list", "Give a list of receipts.")
    given = list(islice(receipts, RECEIPTS_MAX + 1))
    if len(given) > RECEIPTS_MAX:
        raise BadRequest("receipts", f"are more than {RECEIPTS_MAX:,}", "Give those that the text stands on.")
    proofs = [proof for one in given if (proof := read_proof(one)) is not None]
    with localcontext() as context:
        # Comparisons are exact: no number that is read has more digits.
        context.prec = _DIGITS
        return _judged(
            claims(text, frozenset(proof.program for proof in proofs if proof.program)), proofs, strict=strict
        )


def _judged(found: list[Claim], proofs: list[Proof], *, strict: bool) -> Check:
    judge = _Judge([proof.evidence for proof in proofs], strict=strict)
    numbers, ignored = [], []
    groups: dict[int, list[Claim]] = {}
    for one in found:
        groups.setdefault(one.group, []).append(one)
    joint = {group: judge.together(members) for group, members in groups.items() if group}
    for one in found:
        stated = one.kind in STATED and not one.doubtful
        if not stated and not (one.doubtful and strict):
            ignored.append(Ignored(one.text, one.place, one.kind, one.doubtful))
        else:
            known = joint.get(one.group)
            numbers.append(Checked(one.text, one.place, *known) if known else judge.judge(one))
    return Check(all(one.status != "unbacked" for one in numbers), tuple(numbers), tuple(ignored))


class _Judge:
    """Finds the best evidence for numbers; the same number is looked for once."""

    def __init__(self, sources: list[Evidence], *, strict: bool) -> None:
        self._sources = sorted(sources, key=lambda one: not one.is_run)
        self._strict = strict
        self._known: dict[tuple[str, str, str], tuple[Status, str]] = {}

    def judge(self, one: Claim) -> Checked:
        """Judge what a text states."""
        if one.kind in NUMERIC:
            if not one.value:
                return self.refused(one, "it is written so that it cannot be read as one number")
            found = self._found(one.value, one.unit or one.heading, one.rounding)
            if found[0] == "unbacked" and one.heading and unit_of(one.heading).scale == 1:
                # The program may have printed the bare number; "thousands" it cannot have left out.
                found = self._found(one.value, "", one.rounding)
            return Checked(one.text, one.place, *found)
        # What is doubtful is a number for strict readers.
        results = [self._found(value, "", "") for value in one.readings]
        failed = next((evidence for status, evidence in results if status == "unbacked"), None)
        if failed is not None or not results:
            return self.refused(one, f"it may be a {one.kind} or a quantity, and {failed or 'cannot be read'}")
        return Checked(one.text, one.place, *results[0])

    def refused(self, one: Claim, why: str) -> Checked:
        """Refuse what a text states."""
        return Checked(one.text, one.place, "unbacked", why)

    def together(self, members: list[Claim]) -> tuple[Status, str] | None:
        """Judge neighbours that may be one number; None where an output has them in a row, so that they are several."""
        values, joined = tuple(one.value for one in members), members[0].joined
        if joined and len(joined) < _DIGITS:
            found = self._found(joined, members[-1].unit, members[-1].rounding)
            if found[0] in ("backed", "quoted"):
                return found
        if any(source.has_row(values) for source in self._sources if source.whole or not self._strict):
            return None
        return (
            "unbacked",
            f"with its neighbours it may be read as {joined or 'one number'!s:.80}, and no output has them in a row",
        )

    def _found(self, value: str, unit: str, rounding: str) -> tuple[Status, str]:
        known = self._known.get((value, unit, rounding))
        if known is None:
            known = self._known[value, unit, rounding] = self._look(value, unit, rounding)
        return known

    def _look(self, value: str, unit: str, rounding: str) -> tuple[Status, str]:
        step = _unit_of_last_place(value, rounding)
        # "Nearly" is said of the next number up, not of the nearest one.
        stated = Stated(Decimal(value), unit_of(unit), step * 2 if rounding == "below" else step, rounding)
        why = ""
        for source in self._sources:
            place = source.find(stated)
            if place is None:
                other = source.elsewhere(stated)
                if other is not None and not why:
                    why = f"line {other.line} of {source.name} has {other.text}, which is another amount"
                continue
            number = source.numbers[place]
            if not self._strict or source.whole:
                return "backed" if source.is_run else "quoted", f"line {number.line} of {source.name}: {number.text}"
            why = f"only seen in {source.name}; let a program print it"
        for source in () if self._strict else self._sources:
            formula = source.derive(stated)
            if formula is not None:
                return "derived", f"{formula} of {source.name}"
        return "unbacked", why or "no run printed it"


def _unit_of_last_place(value: str, rounding: str) -> Decimal:
    """How coarse a number is as it stands: its last decimal, or, where rounding is said, its last digit but zeros."""
    whole, _, decimals = value.lstrip("-").partition(".")
    if decimals:
        return Decimal(1).scaleb(-len(decimals))
    return Decimal(1).scaleb(len(whole) - len(whole.rstrip("0"))) if rounding and whole.strip("0") else Decimal(0)
