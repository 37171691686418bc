"""The order of a column's values: numbers, then texts, then nothing; some eight bytes a row while it is found out."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from kmnb.core.shape import text_of
from kmnb.sips._compare import number_of


class Ordering:
    """Takes the values of a column and tells their order; equal values stay as they stand.

    Args:
        descending: Whether large values come first; what is no value stays last.
    """

    def __init__(self, *, descending: bool) -> None:
        self._descending = descending
        self._numbers, self._numbered = array("d"), array("q")
        self._large: dict[int, Any] = {}
        self._texts: list[tuple[str, int]] = []
        self._nothing = array("q")

    def add(self, values: Sequence[Any], rows: Sequence[int]) -> None:
        """Take values and the numbers of their rows."""
        for value, row in zip(values, rows, strict=True):
            if value is None or value == "":
                self._nothing.append(row)
            elif (number := number_of(value)) is None:
                self._texts.append((text_of(value), row))
            else:
                self._number(number, row)

    def _number(self, number: Any, row: int) -> None:
        try:
            short = float(number)
        except OverflowError:
            short = float("inf") if number > 0 else float("-inf")
        if short != number:
            self._large[row] = number
        self._numbers.append(short)
        self._numbered.append(row)

    def rows(self) -> Sequence[int]:
        """Give the numbers of the rows in order."""
        self._texts.sort(key=lambda one: one[0], reverse=self._descending)
        return array("q", [*self._sorted(), *(row for _, row in self._texts), *self._nothing])

    def _sorted(self) -> list[int]:
        import numpy

        keys = numpy.frombuffer(self._numbers) if self._numbers else numpy.empty(0)
        places = numpy.argsort(-keys if self._descending else keys, kind="stable").tolist()
        if self._large:
            # Where a float cannot tell two numbers apart, the numbers themselves can.
            exact = [self._large.get(self._numbered[place], self._numbers[place]) for place in range(len(keys))]
            places.sort(key=exact.__getitem__, reverse=self._descending)
        return [self._numbered[place] for place in places]
