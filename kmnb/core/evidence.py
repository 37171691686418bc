"""What receipts let a text state: their numbers, found by value and dimension, and what follows from two of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property

from kmnb.core.number_reading import plain_decimal
from kmnb.core.numbers import Number
from kmnb.core.units import Unit, unit_of

DERIVED_MAX = 40
"""Most different numbers of a receipt that are combined: of many, some two give almost any number."""
DERIVED_DIGITS = 60
"""Digits to which combinations are calculated; longer numbers are not combined."""
_CONTEXT = Context(prec=DERIVED_DIGITS)
ROUNDED_SHARE = Decimal("0.05")
"""How far a number that is said to be rounded may be from the true one, as a part of the true one."""


@dataclass(frozen=True, slots=True)
class Stated:
    """An amount that a text states, and how exactly."""

    value: Decimal
    """Its value without unit."""
    unit: Unit
    """Its unit."""
    step: Decimal
    """The unit of the last digit that it shows; 0 where it is exact."""
    rounding: str
    """``about`` or ``below`` where the text says so."""

    @property
    def amounts(self) -> Iterator[tuple[str, Decimal, Decimal]]:
        """What it can be compared with: dimension, amount and step."""
        scale, factor = self.unit.scale, self.unit.factor
        yield self.unit.dimension, self.value * scale * factor, self.step * scale * factor
        if self.unit.dimension and self.unit.known and (self.unit.dimension != "%" or factor == 1):
            # Programs often print the bare number: bytes as they are counted, all else in the unit that the text says.
            factor = factor if self.unit.dimension == "byte" else Decimal(1)
            yield "", self.value * scale * factor, self.step * scale * factor

    def fits(self, given: Decimal, found: Decimal, step: Decimal) -> bool:
        """Tell whether an amount is a found one, rounded as the text shows."""
        off = abs(given - found)
        if not off:
            return True
        if off * 2 > step or (self.rounding == "below" and (found > given) is (given > 0)):
            return False
        return not self.rounding or off <= abs(found) * ROUNDED_SHARE


@dataclass(frozen=True)
class Evidence:
    """The numbers of one receipt."""

    numbers: tuple[Number, ...]
    """As the receipt lists them."""
    name: str
    """What they come from."""
    is_run: bool
    """Whether a program printed them."""
    whole: bool
    """Whether they pass in strict mode."""

    @cached_property
    def _amounts(self) -> dict[str, tuple[list[Decimal], list[int]]]:
        found: dict[str, list[tuple[Decimal, int]]] = {}
        for place, one in enumerate(self.numbers):
            found.setdefault(unit_of(one.unit).dimension, []).append((one.exact, place))
        return {
            dimension: ([value for value, _ in pairs], [place for _, place in pairs])
            for dimension, pairs in ((name, sorted(listed)) for name, listed in found.items())
        }

    @cached_property
    def _derived(self) -> dict[str, tuple[list[Decimal], list[str]]]:
        found: dict[str, list[tuple[Decimal, str]]] = {}
        for dimension, value, formula in _combined(self.numbers):
            found.setdefault(dimension, []).append((value, formula))
        return {
            dimension: ([value for value, _ in pairs], [formula for _, formula in pairs])
            for dimension, pairs in ((name, sorted(listed)) for name, listed in found.items())
        }

    def find(self, stated: Stated) -> int | None:
        """Give the place in ``numbers`` of what a text states; the nearest where several fit."""
        best: tuple[Decimal, int] | None = None
        for dimension, amount, step in stated.amounts:
            values, places = self._amounts.get(dimension, ([], []))
            for at in range(bisect_left(values, amount - step / 2), bisect_right(values, amount + step / 2)):
                off = abs(values[at] - amount)
                if stated.fits(amount, values[at], step) and (best is None or off < best[0]):
                    best = off, places[at]
                if best is not None and not best[0]:
                    return best[1]
        return best[1] if best else None

    @cached_property
    def _rows(self) -> dict[Decimal, list[int]]:
        found: dict[Decimal, list[int]] = {}
        for place, one in enumerate(self.numbers):
            found.setdefault(Decimal(one.value), []).append(place)
        return found

    def has_row(self, values: tuple[str, ...]) -> bool:
        """Tell whether these values stand one after the other in one line."""
        if len(values) > len(self.numbers):
            return False
        wanted = [Decimal(one) for one in values]
        for place in self._rows.get(wanted[0], ()):
            row = self.numbers[place : place + len(wanted)]
            if [Decimal(one.value) for one in row] == wanted and row[0].line == row[-1].line:
                return True
        return False

    def elsewhere(self, stated: Stated) -> Number | None:
        """Give a number of the same digits that has another unit."""
        places = self._rows.get(stated.value)
        return self.numbers[places[0]] if places else None

    def derive(self, stated: Stated) -> str | None:
        """Give the one operation on two numbers that makes what a text states."""
        for dimension, amount, step in stated.amounts:
            values, formulas = self._derived.get(dimension, ([], []))
            # One of its kind: of a per mille a tenth of a per cent.
            whole_percent = stated.unit.factor if stated.unit.dimension == "%" and not step else step
            for at in range(
                bisect_left(values, amount - whole_percent / 2), bisect_right(values, amount + whole_percent / 2)
            ):
                quotient = " / " in formulas[at] or "%" in formulas[at]
                allowed = whole_percent if quotient else step if stated.rounding else Decimal(0)
                if stated.fits(amount, values[at], allowed):
                    return formulas[at]
        return None


def _combined(numbers: tuple[Number, ...]) -> Iterator[tuple[str, Decimal, str]]:
    """Walk what one operation on two numbers of a receipt gives: dimension, amount, formula."""
    listed = [one for one in numbers if len(one.value) <= DERIVED_DIGITS]
    amounts = list(dict.fromkeys((unit_of(one.unit).dimension, one.exact, unit_of(one.unit).factor) for one in listed))
    if len(amounts) > DERIVED_MAX:
        return
    for dimension, first, factor in amounts:
        if not dimension:
            yield "%", _CONTEXT.multiply(Decimal(100), first), f"{plain_decimal(first)} in %"
        for other, second, other_factor in amounts:
            if (dimension, first) == (other, second):
                continue
            names = plain_decimal(first), plain_decimal(second)
            if bool(dimension) is not bool(other):
                # "623 of 1461 days": a bare number may be meant in the unit of its neighbour.
                yield from _alike(
                    first * (1 if dimension else other_factor),
                    second * (1 if other else factor),
                    dimension=dimension or other,
                    names=names,
                )
            if dimension == other:
                yield from _alike(first, second, dimension=dimension, names=names)
            if not dimension or not other:
                yield dimension or other, _CONTEXT.multiply(first, second), " * ".join(names)
            if second and dimension and not other:
                yield dimension, _CONTEXT.divide(first, second), " / ".join(names)


def _alike(
    first: Decimal, second: Decimal, *, dimension: str, names: tuple[str, str]
) -> Iterator[tuple[str, Decimal, str]]:
    """Walk what two amounts of one dimension give."""
    yield dimension, _CONTEXT.add(first, second), " + ".join(names)
    yield dimension, _CONTEXT.subtract(first, second), " - ".join(names)
    if second:
        quotient = _CONTEXT.divide(first, second)
        yield "", quotient, " / ".join(names)
        yield "%", _CONTEXT.multiply(Decimal(100), quotient), " % ".join(names)
