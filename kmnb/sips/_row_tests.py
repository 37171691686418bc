"""Tests of rows, put together from comparisons; a test may also say that it cannot be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kmnb.sips._compare import Literal, against, compare

Row = Callable[[str], Any]
"""Gives the value of a column of the row that is judged; None when there is none."""
Test = Callable[[Row], bool | None]
"""Judges a row: true, false, or None when that cannot be told."""


def comparison(operator: str, left: str | Literal, right: str | Literal) -> Test:
    """Make the test that two values compare as told."""
    if isinstance(left, str) and isinstance(right, Literal):
        name, holds = left, against(operator, right)
        return lambda row: holds(row(name))

    def test(row: Row) -> bool | None:
        one = row(left) if isinstance(left, str) else left
        other = row(right) if isinstance(right, str) else right
        return compare(operator, one, other)

    return test


def membership(left: str | Literal, items: list[Literal]) -> Test:
    """Make the test that a value is one of some."""
    tests = [against("=", item) for item in items]

    def test(row: Row) -> bool | None:
        value = row(left) if isinstance(left, str) else left.value
        found = [holds(value) for holds in tests]
        return True if True in found else None if None in found else False

    return test


def null_test(left: str | Literal, negated: bool) -> Test:
    """Make the test that a value is nothing: null, missing or an empty text."""

    def test(row: Row) -> bool:
        value = row(left) if isinstance(left, str) else left.value
        return (value is None or value == "") is not negated

    return test


def negation(inner: Test) -> Test:
    """Turn a test round; what cannot be told stays so."""

    def test(row: Row) -> bool | None:
        found = inner(row)
        return None if found is None else not found

    return test


def joined(tests: list[Test], *, settles: bool) -> Test:
    """Make the test that one of some holds, or that all of them do.

    Args:
        tests: The tests.
        settles: The answer of a single test that is the answer of all: true for "or", false for "and".
    """

    def test(row: Row) -> bool | None:
        unknown = False
        for each in tests:
            found = each(row)
            if found is settles:
                return settles
            unknown = unknown or found is None
        return None if unknown else not settles

    return test
