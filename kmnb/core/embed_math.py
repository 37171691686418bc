"""Arithmetic of ``«math:…»``: numbers, names, operators and known functions; nothing is executed. Pure."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from kmnb.errors import ExpressionError

EXPRESSION_MAX_CHARS = 1000
"""Longest expression in characters."""
INTEGER_MAX_BITS = 14_000
"""Largest integer, so that it can be written in decimal at once."""
FORMAT_MAX_DIGITS = 3
"""Longest width or precision of a number format in digits."""

ROUND_MAX_DIGITS = 5_000
"""Most digits that a number is rounded to, before or behind its point; Python makes a power of ten of them."""

Function = Callable[..., Any]


def _power(base: Any, exponent: Any) -> Any:
    if (
        isinstance(base, int)
        and isinstance(exponent, int)
        and abs(base).bit_length() * abs(exponent) > INTEGER_MAX_BITS
    ):
        raise ExpressionError("math", "the number is too large")
    return base**exponent


def _round(number: Any, digits: Any = None) -> Any:
    if isinstance(digits, int) and abs(digits) > ROUND_MAX_DIGITS:
        raise ExpressionError("math", f"numbers are rounded to at most {ROUND_MAX_DIGITS:,} digits")
    return round(number, digits)


def _factorial(number: Any) -> Any:
    if number > 1000:
        raise ExpressionError("math", "the number is too large")
    return math.factorial(number)


_OPERATORS: dict[type[ast.AST], Function] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_NAMES: dict[str, Any] = {
    "abs": abs,
    "round": _round,
    "min": min,
    "max": max,
    "sum": sum,
    "pow": _power,
    "factorial": _factorial,
    **{
        name: getattr(math, name)
        for name in (
            "sin", "cos", "tan", "sqrt", "exp", "log", "log10", "pi", "e", "inf", "ceil", "floor", "radians", "sinh",
            "cosh", "tanh",
        )
    },
}  # fmt: skip


def evaluate_math(text: str, functions: Mapping[str, Function] | None = None) -> Any:
    """Evaluate an arithmetic expression.

    Args:
        text: For example ``round(10 * 1.15, 2)``.
        functions: Further functions of numbers, for example random ones.

    Returns:
        A number, a truth value, or a list of them.

    Raises:
        ExpressionError: It is no such expression, has no value, or is too large.
    """
    if len(text) > EXPRESSION_MAX_CHARS:
        raise ExpressionError("math", f"has more than {EXPRESSION_MAX_CHARS} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _value(tree.body, {**_NAMES, **(functions or {})})
    except ExpressionError:
        raise
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ExpressionError("math", "is no arithmetic expression") from error
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ExpressionError("math", str(error)[:200]) from error


def format_number(value: Any, form: str | None) -> str:
    """Write a value; a format of Python such as ``.2f`` applies to numbers, any other is passed over.

    Args:
        value: Result of :func:`evaluate_math`.
        form: The format; None for none.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if form and is_number and not re.search(rf"[0-9]{{{FORMAT_MAX_DIGITS + 1}}}", form):
        try:
            return format(value, form)
        except (ValueError, OverflowError):
            pass
    return str(value)


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise ExpressionError("math", f"{type(node).__name__} is not arithmetic")
    value = handler(node, names)
    if isinstance(value, int) and value.bit_length() > INTEGER_MAX_BITS:
        raise ExpressionError("math", "the number is too large")
    return value


def _constant(node: ast.Constant, names: Mapping[str, Any]) -> Any:
    if isinstance(node.value, int | float):
        return node.value
    raise ExpressionError("math", "only numbers can be reckoned with")


def _name(node: ast.Name, names: Mapping[str, Any]) -> Any:
    value = names.get(node.id)
    if isinstance(value, int | float):
        return value
    raise ExpressionError("math", f"{node.id!a:.80} is not a known number")


def _list(node: ast.List | ast.Tuple, names: Mapping[str, Any]) -> list[Any]:
    return [_value(item, names) for item in node.elts]


def _number(node: ast.expr, names: Mapping[str, Any]) -> Any:
    value = _value(node, names)
    if not isinstance(value, int | float):
        raise ExpressionError("math", "a number is missing")
    return value


def _unary(node: ast.UnaryOp, names: Mapping[str, Any]) -> Any:
    return _operator(node.op)(_number(node.operand, names))


def _binary(node: ast.BinOp, names: Mapping[str, Any]) -> Any:
    return _operator(node.op)(_number(node.left, names), _number(node.right, names))


def _compare(node: ast.Compare, names: Mapping[str, Any]) -> bool:
    left = _number(node.left, names)
    for sign, item in zip(node.ops, node.comparators, strict=True):
        right = _number(item, names)
        if not _operator(sign)(left, right):
            return False
        left = right
    return True


def _choice(node: ast.IfExp, names: Mapping[str, Any]) -> Any:
    return _value(node.body if _value(node.test, names) else node.orelse, names)


def _call(node: ast.Call, names: Mapping[str, Any]) -> Any:
    function = names.get(node.func.id) if isinstance(node.func, ast.Name) else None
    if not callable(function) or node.keywords:
        raise ExpressionError("math", f"{ast.unparse(node.func)!a:.80} is not a known function")
    return function(*[_value(item, names) for item in node.args])


def _operator(node: ast.AST) -> Function:
    found = _OPERATORS.get(type(node))
    if found is None:
        raise ExpressionError("math", f"{type(node).__name__} is not a known operator")
    return found


_HANDLERS: dict[type[ast.expr], Function] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.List: _list,
    ast.Tuple: _list,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.IfExp: _choice,
    ast.Call: _call,
}
