"""Modifiers of embeds that need nothing but the value: columns, rows, lines. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kmnb.core.embed_grammar import split_argument, unquote
from kmnb.core.embed_values import Value, to_lines, to_rows, to_text
from kmnb.errors import ExpressionError

Rows = list[dict[str, Any]]


def _select_cols(rows: Rows, argument: str) -> Rows:
    names = split_argument(argument, ",")
    for name in names:
        _known(rows, name)
    return [{name: row.get(name) for name in names} for row in rows]


def _filter_rows_eq(rows: Rows, argument: str) -> Rows:
    parts = split_argument(argument, ":", 1)
    if len(parts) != 2:
        raise ExpressionError("filter_rows_eq", "needs column:value")
    _known(rows, parts[0])
    return [row for row in rows if str(row.get(parts[0])) == parts[1]]


def _slice_rows(rows: Rows, argument: str) -> Rows:
    return rows[_slice(argument)]


def _select_fields(rows: Rows, argument: str) -> Rows:
    names = split_argument(argument, ",")
    return [{name: row[name] for name in names if name in row} for row in rows]


def _slice_lines(lines: list[str], argument: str) -> list[str]:
    return lines[_slice(argument)]


def _head(lines: list[str], argument: str) -> list[str]:
    return lines[: _count(argument)]


def _tail(lines: list[str], argument: str) -> list[str]:
    count = _count(argument)
    return lines[-count:] if count else []


ROW_STEPS: dict[str, Callable[[Rows, str], Rows]] = {
    "select_cols": _select_cols,
    "filter_rows_eq": _filter_rows_eq,
    "slice_rows": _slice_rows,
    "select_fields": _select_fields,
}
"""Modifiers of rows."""
LINE_STEPS: dict[str, Callable[[list[str], str], list[str]]] = {
    "slice_lines": _slice_lines,
    "head": _head,
    "tail": _tail,
}
"""Modifiers of lines; a line keeps its end."""


def apply_rows(value: Value, name: str, argument: str) -> Value:
    """Apply a modifier of :data:`ROW_STEPS`.

    Raises:
        ExpressionError: No rows, or an argument that cannot be meant.
    """
    return replace(value, kind="rows", data=ROW_STEPS[name](to_rows(value), argument))


def apply_lines(value: Value, name: str, argument: str) -> Value:
    """Apply a modifier of :data:`LINE_STEPS`.

    Raises:
        ExpressionError: An argument that cannot be meant.
    """
    lines = to_lines(to_text(value))
    return replace(value, kind="text", data="".join(LINE_STEPS[name](lines, argument)))


def _known(rows: Rows, name: str) -> None:
    if rows and name not in rows[0]:
        known = ", ".join(list(rows[0])[:50])
        raise ExpressionError(f"column {name!a:.80}", "is not there", f"Its columns are {known:.500}")


def _slice(argument: str) -> slice:
    start, colon, end = argument.partition(":")
    if not colon:
        raise ExpressionError(f"slice {argument!a:.80}", "needs start:end")
    return slice(_index(start) or 0, _index(end))


def _index(text: str) -> int | None:
    try:
        return int(text[:20]) if text.strip() else None
    except ValueError:
        raise ExpressionError(f"{text!a:.80}", "is not a whole number") from None


def _count(argument: str) -> int:
    number = _index(unquote(argument))
    if number is None or number < 0:
        raise ExpressionError(f"{argument!a:.80}", "is not a number of lines")
    return number
