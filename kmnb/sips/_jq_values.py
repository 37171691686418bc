"""What jq means by its operators and functions, as far as it is plainly clear; else :class:`Doubt`."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

One = Callable[[Any], Any]


class Doubt(Exception):
    """Ask libjq."""


_RANK = {type(None): 0, bool: 1, int: 3, float: 3, str: 4}


def key_of(value: Any) -> tuple[int, Any]:
    """Give what scalars are ordered by; jq orders null, false, true, numbers, strings."""
    rank = _RANK.get(type(value))
    if rank is None:
        raise Doubt
    return rank, 0 if value is None else value


def is_true(value: Any) -> bool:
    """Tell what counts as true: all but null and false."""
    return value is not None and value is not False


def _equal(left: Any, right: Any) -> bool:
    if type(left) not in _RANK or type(right) not in _RANK:
        if type(left) in _RANK or type(right) in _RANK:
            return False
        raise Doubt
    return key_of(left) == key_of(right)


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": lambda left, right: key_of(left) < key_of(right),
    "<=": lambda left, right: key_of(left) <= key_of(right),
    ">": lambda left, right: key_of(left) > key_of(right),
    ">=": lambda left, right: key_of(left) >= key_of(right),
}


_NUMBERS = frozenset({int, float})
_BITS_MAX = 14_000
"""Largest integer that is calculated exactly; Python writes no more than 4,300 digits."""


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def calculated(operator: str, left: Any, right: Any) -> Any:
    """Calculate with numbers; ``+`` joins texts too and passes over null."""
    if _is_number(left) and _is_number(right):
        try:
            return _arithmetic(operator, left, right)
        except OverflowError:
            # An integer that no float can hold, with a float or in a division.
            raise Doubt from None
    if operator == "+":
        if left is None or right is None:
            return right if left is None else left
        if type(left) is str and type(right) is str:
            return left + right
    raise Doubt


def _arithmetic(operator: str, left: Any, right: Any) -> Any:
    if operator == "+":
        value = left + right
    elif operator == "-":
        value = left - right
    elif operator == "*":
        value = left * right
    elif right == 0:
        raise Doubt
    else:
        value = left / right
    return whole(value)


def whole(value: Any) -> Any:
    """Write a whole result of a calculation without a fraction, as jq does."""
    if type(value) is int and value.bit_length() > _BITS_MAX:
        raise Doubt
    if type(value) is float:
        if value - value != 0:
            raise Doubt
        return int(value) if value.is_integer() and abs(value) < 1e17 else value
    return value


def type_of(value: Any) -> str:
    """Name the type of a value."""
    kinds = {dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "boolean"}
    return kinds.get(type(value), "null")


def length(value: Any) -> Any:
    """Give the length of a text, list or object; of a number its size without the sign."""
    if isinstance(value, dict | list | str):
        return len(value)
    if value is None:
        return 0
    if _is_number(value):
        return abs(value)
    raise Doubt


def each(value: Any) -> list[Any]:
    """Give the elements of a list."""
    if type(value) is list:
        return value
    raise Doubt


def _first(value: Any) -> Any:
    return next(iter(each(value)), None) if value is not None else None


def _last(value: Any) -> Any:
    return each(value)[-1] if value else _first(value)


def total(values: list[Any], start: Any = None) -> Any:
    """Add up numbers, or join texts; null adds nothing."""
    if {type(value) for value in values} <= _NUMBERS and (start is None or type(start) in _NUMBERS):
        try:
            return whole(reduce(add, values, 0 if start is None and values else start))
        except OverflowError:
            raise Doubt from None
    for value in values:
        start = calculated("+", start, value)
    return start


def extreme(choose: Callable[..., Any], values: list[Any]) -> Any:
    """Give the least or the greatest value; null for none."""
    if len({type(value) for value in values}) == 1 and type(values[0]) in (int, float, str):
        return choose(values)
    return choose(values, key=key_of) if values else None


def sorted_by(values: list[Any], keys: list[Any]) -> list[int]:
    """Give the places of values in the order of their keys; equal ones stay in order."""
    ranks = [key_of(key) for key in keys]
    return sorted(range(len(values)), key=ranks.__getitem__)


def groups_by(values: list[Any], keys: list[Any]) -> list[list[Any]]:
    """Put values of equal keys together, in the order of the keys."""
    groups: dict[tuple[int, Any], list[Any]] = {}
    for value, key in zip(values, keys, strict=True):
        groups.setdefault(key_of(key), []).append(value)
    return [groups[rank] for rank in sorted(groups)]


def _least_by(values: list[Any], keys: list[Any]) -> Any:
    ranks = [key_of(key) for key in keys]
    return values[min(range(len(values)), key=ranks.__getitem__)] if values else None


def _greatest_by(values: list[Any], keys: list[Any]) -> Any:
    # Of equal ones jq takes the last.
    ranks = [key_of(key) for key in keys]
    return values[max(reversed(range(len(values))), key=ranks.__getitem__)] if values else None


BY: dict[str, Callable[[list[Any], list[Any]], Any]] = {
    "sort_by": lambda values, keys: [values[place] for place in sorted_by(values, keys)],
    "group_by": groups_by,
    "unique_by": lambda values, keys: [group[0] for group in groups_by(values, keys)],
    "min_by": _least_by,
    "max_by": _greatest_by,
}
"""Functions over the elements of a list and what they are compared by."""


def _keys(value: Any) -> list[Any]:
    if type(value) is dict:
        return sorted(value)
    return list(range(len(each(value))))


def _has(name: Any) -> One:
    def test(value: Any) -> bool:
        if type(value) is dict and type(name) is str:
            return name in value
        raise Doubt

    return test


def _text_test(method: str) -> Callable[[Any], One]:
    def make(part: Any) -> One:
        def test(value: Any) -> bool:
            if type(value) is str and type(part) is str:
                return bool(getattr(value, method)(part))
            raise Doubt

        return test

    return make


TESTS: dict[str, Callable[[Any], One]] = {
    "has": _has,
    "startswith": _text_test("startswith"),
    "endswith": _text_test("endswith"),
}
SIMPLE: dict[str, One] = {
    "length": length,
    "not": lambda value: not is_true(value),
    "type": type_of,
    "keys": _keys,
    "add": lambda value: total(each(value)),
    "min": lambda value: extreme(min, each(value)),
    "max": lambda value: extreme(max, each(value)),
    "sort": lambda value: BY["sort_by"](each(value), value),
    "unique": lambda value: BY["unique_by"](each(value), value),
    "first": _first,
    "last": _last,
    "reverse": lambda value: each(value)[::-1],
    "any": lambda value: any(map(is_true, each(value))),
    "all": lambda value: all(map(is_true, each(value))),
}
