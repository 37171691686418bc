"""Parse JMESPath, and say what it means by truth, equality and order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kmnb.errors import ExpressionError, clip

EXPRESSION_MAX_BYTES = 64 * 1024
"""Longest expression in UTF-8 bytes."""

Node = Mapping[str, Any]
One = Callable[[Any], Any]


def parse_expression(text: str) -> Node:
    """Parse an expression.

    Raises:
        ExpressionError: It is too long, too deep, or not JMESPath; the message says where.
    """
    from jmespath.exceptions import JMESPathError
    from jmespath.parser import Parser

    size = len(text.encode("utf-8", "replace"))
    if size > EXPRESSION_MAX_BYTES:
        reason = f"it has {size} bytes; the limit is {EXPRESSION_MAX_BYTES}"
        raise ExpressionError("jmespath expression", reason, "Use run.")
    try:
        parsed: Node = Parser().parse(text).parsed
    except RecursionError:
        raise ExpressionError("jmespath expression", "it is nested too deeply") from None
    except (JMESPathError, ValueError) as error:
        raise ExpressionError("jmespath expression", clip(str(error), 1000)) from None
    return parsed


class Expression:
    """An expression that is handed to a function; the library knows the class by its name."""

    def __init__(self, expression: One) -> None:
        self.expression = expression

    @staticmethod
    def visit(node: One, value: Any) -> Any:
        """Evaluate it on a value."""
        return node(value)


Expression.__name__ = "_Expression"


class Fault:
    """Stands for a value that cannot be had.

    Args:
        error: Why not; raised when the value is asked for.
    """

    def __init__(self, error: ExpressionError) -> None:
        self.error = error


def is_false(value: Any) -> bool:
    """Tell what counts as false: null, false, and what is empty; zero does not."""
    return value is None or value is False or value in ("", [], {})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equals(left: Any, right: Any) -> bool:
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    return bool(left == right)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def test(left: Any, right: Any) -> Any:
        # Numbers are ordered among themselves and texts among themselves; everything else has no order.
        if (_is_number(left) and _is_number(right)) or (isinstance(left, str) and isinstance(right, str)):
            return compare(left, right)
        return None

    return test


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "eq": _equals,
    "ne": lambda left, right: not _equals(left, right),
    "lt": _ordered(lambda left, right: left < right),
    "lte": _ordered(lambda left, right: left <= right),
    "gt": _ordered(lambda left, right: left > right),
    "gte": _ordered(lambda left, right: left >= right),
}


def flattened(values: list[Any]) -> list[Any]:
    """Put the elements of lists in a list in their place."""
    merged: list[Any] = []
    for value in values:
        if type(value) is list:
            merged += value
        else:
            merged.append(value)
    return merged
