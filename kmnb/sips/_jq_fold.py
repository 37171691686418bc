"""What becomes of the outputs of the records: counted, added up, compared, collected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kmnb.sips._jq_body import text_of, value_of
from kmnb.sips._jq_library import outputs
from kmnb.sips._jq_plan import Plan
from kmnb.sips._jq_values import Doubt, calculated, extreme, key_of, total


class Folding:
    """A fold under way.

    Args:
        plan: What to do, and which outputs count.
    """

    def __init__(self, plan: Plan) -> None:
        self._fold = plan.fold
        self._start, self._stop = plan.start, plan.stop
        self._place = 0
        self._kept: list[Any] = []
        self._value: Any = None
        self._is_empty = True
        self.count = 0

    @property
    def is_done(self) -> bool:
        """Whether further outputs change nothing."""
        return self._stop is not None and self._place >= self._stop

    def passed(self, count: int) -> None:
        """Hear that so many outputs in all are left out; none of them counts."""
        self._place = count

    def add(self, found: Iterable[Any]) -> None:
        """Take outputs; no more are drawn than count."""
        if self.is_done:
            return
        if self._stop is None and not self._start and isinstance(found, list) and self._at_once(found):
            return
        for output in found:
            self._place += 1
            if self._place > self._start:
                self._take(output)
            if self.is_done:
                return

    def _at_once(self, found: list[Any]) -> bool:
        """Take a whole batch where the fold can; tell whether it could."""
        if self._fold == "count":
            self.count += len(found)
        elif self._fold == "collect":
            self._kept += found
        elif self._fold in ("add", "min", "max") and found:
            try:
                self._value = self._combined(found)
            except Doubt:
                return False
            self._is_empty = False
        else:
            return self._fold != "emit" and not found
        return True

    def _combined(self, found: list[Any]) -> Any:
        if self._fold == "add":
            return total(found, self._value)
        known = [] if self._is_empty else [self._value]
        return extreme(min if self._fold == "min" else max, [*known, *found])

    def _take(self, output: Any) -> None:
        if self._fold == "count":
            self.count += 1
        elif self._fold in ("emit", "collect"):
            self._kept.append(output)
        elif self._fold in ("last", "nth"):
            self._value = output
        else:
            self._combine(value_of(output))

    def _combine(self, value: Any) -> None:
        try:
            if self._fold == "add":
                self._value = calculated("+", self._value, value)
            elif self._is_empty:
                self._value = value
            else:
                less = key_of(value) < key_of(self._value)
                if less == (self._fold == "min"):
                    self._value = value
        except Doubt:
            self._value = next(outputs(self._fold, text_of([self._value, value]))).value
        self._is_empty = False

    def results(self) -> list[Any]:
        """Give what came of it: the outputs themselves, or one value."""
        if self._fold == "emit":
            return self._kept
        if self._fold == "collect":
            return [[value_of(one) for one in self._kept]]
        return [self.count if self._fold == "count" else self._value]
