"""Structured filters and orders of a browser, written in the language of ``select``; values stay values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kmnb.errors import BadRequest

FILTERS_MAX = 50
"""Most filters of one question."""
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "contains")
"""How a column may be compared with a value."""


def where_text(filters: Any) -> str | None:
    """Write filters as a condition.

    Args:
        filters: A list of dicts with ``column``, ``op`` and ``value``, from a browser; all of them must hold.

    Returns:
        The condition; None where there is no filter.

    Raises:
        BadRequest: Not such a list, or an unknown comparison.
    """
    if not isinstance(filters, list) or len(filters) > FILTERS_MAX or not all(isinstance(one, dict) for one in filters):
        raise BadRequest("filters", f"must be a list of at most {FILTERS_MAX} filters")
    return " and ".join(_test(one, "`") for one in filters) or None


def sql_text(filters: Any) -> str | None:
    """Write the same filters as :func:`where_text` as a condition of SQL, for people to run elsewhere."""
    where_text(filters)
    return " and ".join(_test(one, '"') for one in filters) or None


def _test(one: Mapping[str, Any], quote: str) -> str:
    column, comparison, value = one.get("column"), one.get("op"), one.get("value")
    if not isinstance(column, str) or comparison not in COMPARISONS or not isinstance(value, str | int | float):
        raise BadRequest("filters", "a filter has a column, a comparison and a value", f"Use {' '.join(COMPARISONS)}.")
    name = quote + column.replace(quote, quote * 2) + quote
    if comparison == "contains":
        pattern = str(value).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        escape = r" escape '\'" if quote == '"' else ""
        return f"{name} ilike {_quoted(f'%{pattern}%')}{escape}"
    return f"{name} {comparison} {_literal(value)}"


def _literal(value: str | float) -> str:
    """Take a number as it was typed; anything else is text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value) if math.isfinite(value) else _quoted(str(value))
    digits = value.strip().removeprefix("-").replace(".", "", 1)
    return value.strip() if digits.isdecimal() and digits.isascii() else _quoted(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def order_of(order: Any) -> tuple[str, bool] | None:
    """Read an order.

    Args:
        order: None, or a dict with ``column`` and ``descending``, from a browser.

    Returns:
        The column, and whether large values come first.

    Raises:
        BadRequest: Anything else.
    """
    if order is None:
        return None
    column = order.get("column") if isinstance(order, dict) else None
    if not isinstance(column, str):
        raise BadRequest("order", "names a column and whether it is descending")
    return column, order.get("descending") is True
