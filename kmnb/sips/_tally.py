"""Summarise one column value by value: counts exact, sums exact, distinct and top values in bounded memory."""

from __future__ import annotations

import hashlib
import heapq
import math
import operator
import re
from collections import Counter
from collections.abc import Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any

from kmnb.core.shape import text_of
from kmnb.sips._compare import Number, number_of

DISTINCT_EXACT_MAX = 10_000
"""Most different values of a column that are all kept; above that distinct and top are estimates."""
_SMALLEST = 4096
_KEY_MAX = 256
_SUM = Context(prec=80, Emax=MAX_EMAX, Emin=MIN_EMIN)
_INTEGERS = re.compile(r"(?:-?[0-9]{1,30}\n)*+-?[0-9]{1,30}")
_NOT_FINITE = frozenset({"nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"})


class ColumnTally:
    """What is known of a column so far.

    Args:
        decimal: Character between whole and fraction in texts: a point or a comma.
        most: Most different values that are kept.
    """

    def __init__(self, *, decimal: str = ".", most: int = DISTINCT_EXACT_MAX) -> None:
        self._comma, self._most = decimal == ",", most
        self.values = self.nulls = self.not_finite = self.numbers = 0
        self._sum: Number = 0
        self._low: Number | None = None
        self._high: Number | None = None
        self._first: str | None = None
        self._last: str | None = None
        self._counts: Counter[Any] = Counter()
        self._lost = 0
        self._hashes: list[int] = []
        self._known_hashes: set[int] = set()

    def add(self, counts: Mapping[Any, int]) -> None:
        """Take values with the number of times that each was met; see :func:`keyed`."""
        if self._add_integers(counts):
            return
        for key, times in counts.items():
            value = key[0] if isinstance(key, tuple) else key
            if value is None or value == "":
                self.nulls += times
                continue
            self._note(value, times)
            self._counts[key] += times
        self._settle(counts)

    def _settle(self, counts: Mapping[Any, int]) -> None:
        if self._lost:
            for key in counts:
                self._hash(key)
        if len(self._counts) > self._most:
            self._thin()

    def _add_integers(self, counts: Mapping[Any, int]) -> bool:
        """Take values that are all whole numbers written plainly, without a step for each; tell whether they were."""
        try:
            text = "\n".join(counts)
        except TypeError:
            return False
        if not counts or not _INTEGERS.fullmatch(text):
            return False
        numbers = list(map(int, counts))
        times = sum(counts.values())
        self.values += times
        self.numbers += times
        weighed = sum(map(operator.mul, numbers, counts.values()))
        self._sum = _plus(self._sum, weighed, 1)
        low, high = min(numbers), max(numbers)
        self._low = low if self._low is None or low < self._low else self._low
        self._high = high if self._high is None or high > self._high else self._high
        self._counts.update(counts)
        self._settle(counts)
        return True

    def _note(self, value: Any, times: int) -> None:
        number = number_of(value.replace(",", ".", 1) if self._comma and isinstance(value, str) else value)
        if number is not None:
            self.values += times
            self.numbers += times
            self._sum = _plus(self._sum, number, times)
            self._low = number if self._low is None or number < self._low else self._low
            self._high = number if self._high is None or number > self._high else self._high
            return
        text = text_of(value)
        if text.strip().lower() in _NOT_FINITE:
            self.not_finite += times
            return
        self.values += times
        self._first = text if self._first is None or text < self._first else self._first
        self._last = text if self._last is None or text > self._last else self._last

    def _thin(self) -> None:
        """Drop the rarest values; what is left is short by at most the number of times this was done."""
        if not self._lost:
            for key in self._counts:
                self._hash(key)
        while len(self._counts) > self._most // 2:
            self._lost += 1
            self._counts = Counter({key: times - 1 for key, times in self._counts.items() if times > 1})

    def _hash(self, key: Any) -> None:
        """Keep the smallest hashes that were met: how small they are tells how many there are."""
        text = repr(key) if isinstance(key, tuple) else text_of(key)
        mark = int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")
        if mark in self._known_hashes or (len(self._hashes) >= _SMALLEST and mark >= -self._hashes[0]):
            return
        self._known_hashes.add(mark)
        heapq.heappush(self._hashes, -mark)
        if len(self._hashes) > _SMALLEST:
            self._known_hashes.discard(-heapq.heappop(self._hashes))

    @property
    def is_estimate(self) -> bool:
        """Whether distinct and top are estimates."""
        return self._lost > 0

    @property
    def is_numeric(self) -> bool:
        """Whether most values are numbers, so that minimum and maximum are too."""
        return self.numbers > 0 and 2 * self.numbers >= self.values

    def distinct(self) -> int:
        """Number of different values; within some 5 % where it is an estimate."""
        if not self._lost:
            return len(self._counts)
        if len(self._hashes) < _SMALLEST:
            return len(self._hashes)
        return round((_SMALLEST - 1) * 2**64 / -self._hashes[0])

    def top(self, most: int) -> list[list[Any]]:
        """Most frequent values with their counts (at least, where they are estimates), frequent ones first."""
        found = sorted(self._counts.items(), key=lambda item: -item[1])[:most]
        return [[key[0] if isinstance(key, tuple) else key, times] for key, times in found]

    def facts(self) -> dict[str, Any]:
        """Give counts, minimum, maximum, sum and mean as JSON can hold them."""
        numeric = self.is_numeric
        total = self._sum if self.numbers else None
        mean = None
        if total is not None and self.numbers:
            mean = _SUM.divide(Decimal(total), Decimal(self.numbers))
        return {
            "count": self.values,
            "nulls": self.nulls,
            "min": told(self._low) if numeric else self._first,
            "max": told(self._high) if numeric else self._last,
            "sum": told(total),
            "mean": told(mean),
        }


def keyed(value: Any) -> Any:
    """Make a value that can be counted: true is not 1, lists and objects count as their JSON, long texts by digest."""
    if isinstance(value, bool):
        return (value,)
    text = text_of(value) if isinstance(value, (list, dict)) else value
    if isinstance(text, str) and len(text) > _KEY_MAX:
        return (text[:_KEY_MAX] + "…", hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest())
    return text


def told(number: Number | None) -> int | float | str | None:
    """Give an exact number as JSON can hold it: whole numbers as they are, others as floats, huge ones as text."""
    if number is None or isinstance(number, int):
        return number
    value = float(number)
    return value if math.isfinite(value) else str(number.normalize(_SUM))


def _plus(total: Number, number: Number, times: int) -> Number:
    if isinstance(total, int) and isinstance(number, int):
        return total + number * times
    return _SUM.add(Decimal(total), _SUM.multiply(Decimal(number), Decimal(times)))
