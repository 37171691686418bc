"""Slots of a JMESPath plan under way: collect elements, or fold them in batches."""

from __future__ import annotations

from typing import Any

from kmnb.errors import ExpressionError
from kmnb.sips._jmes_functions import Part, caller
from kmnb.sips._jmes_plan import Slot
from kmnb.sips._jmes_values import Expression, Fault


class SlotRun:
    """One slot.

    Args:
        slot: What to do.
    """

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._call = caller(slot.fold) if slot.fold is not None else None
        self.values: list[Any] = []
        self._count = 0
        self._total: Any = 0
        self._fault: Fault | None = None

    @property
    def is_done(self) -> bool:
        """Whether further elements change nothing."""
        return self._fault is not None or (self._slot.stop is not None and len(self.values) >= self._slot.stop)

    @property
    def skippable(self) -> int:
        """How many of the first elements are never looked at."""
        return self._slot.start if self._slot.fold is None and not self._slot.stages else 0

    def passed(self, elements: int) -> None:
        """Hear that so many elements in all are left out; something else stands in their places."""
        self.values[:] = [None] * elements
        self._count = elements

    def feed(self, rows: Any) -> None:
        """Take the next elements."""
        if self.is_done:
            return
        try:
            self._take(rows)
        except ExpressionError as error:
            # It is one only if the value is asked for: what stands before ``||`` may make that needless.
            self._fault = Fault(error)

    def _take(self, rows: Any) -> None:
        for stage in self._slot.stages:
            rows = stage(rows)
        self._count += len(rows)
        if self._slot.fold is None:
            self.values += rows
        elif rows and self._slot.fold != "length":
            self._fold(list(rows))

    def _fold(self, rows: list[Any]) -> None:
        assert self._call is not None
        if self._slot.fold in ("sum", "avg"):
            # The library's sum also checks that all are numbers.
            self._total += caller("sum")([rows])
            return
        if self._slot.key is None:
            self.values = [self._call([[*self.values, *rows]])]
        else:
            part = Part([*self.values, *rows], self._count - len(rows) - len(self.values))
            self.values = [self._call([part, Expression(self._slot.key)])]

    def result(self) -> Any:
        """Give the value of the slot."""
        fold = self._slot.fold
        if self._fault is not None:
            return self._fault
        if fold is None:
            return self.values
        if fold == "length":
            return self._count
        if fold == "sum":
            return self._total
        if fold == "avg":
            return self._total / self._count if self._count else None
        return self.values[0] if self.values else None
