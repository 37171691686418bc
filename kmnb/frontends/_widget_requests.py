"""What the preview in a browser may ask, and how it is answered by sips.

The set is closed: a browser sends the name of a question and plain values, never a query of ours or code. Every
answer is bounded, and says in ``code`` which call of Python gives the same.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from kmnb.core.arguments import checked
from kmnb.core.cursors import seal
from kmnb.core.describe import Operation, Param
from kmnb.core.jsonable import jsonable
from kmnb.errors import BadRequest, KmnbError

ANSWER_BYTES = 256 * 1024
"""Largest answer that is sent to a browser, in bytes of content."""
PAGE_ROWS = 100
"""Most rows or lines of one page."""
PAGE_BYTES = 4096
"""Most bytes of one page of the hexadecimal view."""
CELL_CHARACTERS = 500
"""Longest cell that is sent; the full value is a matter for Python."""

Answer = Coroutine[Any, Any, dict[str, Any]]
_START = Param("start", "integer", "First one, from 0.", default=0, minimum=0)
_LIMIT = Param("limit", "integer", "Most of them.", default=20, minimum=0)
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "contains")


async def answer(artifact: Any, message: Any) -> dict[str, Any]:
    """Answer one message of a browser.

    Args:
        artifact: The handle that is shown.
        message: What came: a dict with ``id``, ``ask`` and ``arguments``; untrusted.

    Returns:
        Plain JSON with the same ``id``, and either ``answer`` or ``error`` (its code and one line of text).
    """
    told = message if isinstance(message, dict) else {}
    reply: dict[str, Any] = {"id": told.get("id") if isinstance(told.get("id"), int) else None}
    try:
        operation, handler = _known(told.get("ask"))
        given = told.get("arguments")
        arguments = checked(operation, given if isinstance(given, dict) else {})
        return reply | {"answer": jsonable(await handler(artifact, arguments))}
    except KmnbError as error:
        return reply | {"error": {"code": error.code, "text": str(error)}}


def _known(ask: Any) -> tuple[Operation, Callable[[Any, Mapping[str, Any]], Answer]]:
    if isinstance(ask, str) and ask in REQUESTS:
        return REQUESTS[ask]
    raise BadRequest("preview", "there is no such question", f"Known: {', '.join(REQUESTS)}.")


async def _lines(artifact: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    start, limit = given["start"], min(given["limit"], PAGE_ROWS)
    if not limit:
        raise BadRequest("lines: limit", "0 would mean the rest", "Use 1 or more.")
    page = await artifact.lines_async(start, limit, max_bytes=ANSWER_BYTES)
    return {
        "start": start,
        "lines": [_clip(text) for text in page.values],
        "total": page.total,
        "exact": not page.total_is_lower_bound,
        "notes": page.notes,
        "code": f"art.lines({start}, {limit})",
    }


async def _rows(artifact: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    start, limit = given["start"], min(given["limit"], PAGE_ROWS)
    columns = given["columns"] or ["*"]
    where = where_text(given["filters"] or [])
    # A cursor is the sip's own way of beginning at a record.
    cursor = seal("select", _identity(artifact), {"record": start}) if start else None
    page = await artifact.select_async(columns, where=where, limit=limit, cursor=cursor, max_bytes=ANSWER_BYTES)
    names = list(page.values[0]) if page.values else []
    options = "".join(
        f", {name}={value!r}" for name, value in (("where", where), ("limit", limit)) if value is not None
    )
    return {
        "start": start,
        "columns": names,
        "rows": [[_clip(_text(row.get(name))) for name in names] for row in page.values],
        "total": page.total,
        "exact": not page.total_is_lower_bound,
        "notes": page.notes,
        "skipped": page.skipped,
        "code": f"art.select({columns!r}{options})",
    }


async def _find(artifact: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: given[name] for name in ("fixed", "ignore_case")}
    page = await artifact.grep_async(
        given["pattern"], max=PAGE_ROWS, cursor=given["cursor"], max_bytes=ANSWER_BYTES, **options
    )
    told = "".join(f", {name}={value!r}" for name, value in options.items() if value)
    return {
        "matches": [[match.index, _clip(match.text)] for match in page.values],
        "total": page.total,
        "exact": not page.total_is_lower_bound,
        "cursor": page.cursor if not page.complete else None,
        "code": f"art.grep({given['pattern']!r}{told})",
    }


async def _bytes(artifact: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    start, limit = given["start"], min(given["limit"], PAGE_BYTES)
    content = await artifact.read_async(start, limit)
    data = base64.b64encode(content).decode()
    return {"start": start, "data": data, "total": artifact.size, "code": f"art.read({start}, {limit})"}


def where_text(filters: Any) -> str | None:
    """Write structured filters as a condition of ``select``; the values stay values.

    Args:
        filters: A list of dicts with ``column``, ``op`` and ``value``, from a browser.

    Returns:
        The condition; None where there is no filter.

    Raises:
        BadRequest: Not such a list, or an unknown comparison.
    """
    if not isinstance(filters, list) or len(filters) > 50 or not all(isinstance(one, dict) for one in filters):
        raise BadRequest("filters", "must be a list of at most 50 filters")
    return " and ".join(_test(one) for one in filters) or None


def _test(one: Mapping[str, Any]) -> str:
    column, comparison, value = one.get("column"), one.get("op"), one.get("value")
    if not isinstance(column, str) or comparison not in _COMPARISONS or not isinstance(value, str | int | float):
        raise BadRequest("filters", "a filter has a column, a comparison and a value", f"Use {' '.join(_COMPARISONS)}.")
    name = "`" + column.replace("`", "``") + "`"
    if comparison == "contains":
        pattern = str(value).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return f"{name} ilike {_quoted(f'%{pattern}%')}"
    return f"{name} {comparison} {_literal(value)}"


def _literal(value: Any) -> str:
    try:
        return repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else _number(str(value))
    except ValueError:
        return _quoted(str(value))


def _number(text: str) -> str:
    """Take a number as it was typed; anything else is text. Raises ValueError."""
    if not text.strip().lstrip("+-").replace(".", "", 1).isdecimal() or not text.isascii():
        raise ValueError(text)
    return text.strip()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identity(artifact: Any) -> str:
    return str(artifact.digest or artifact.key)


def _text(value: Any) -> str:
    from kmnb.core.jsonable import json_text

    return value if isinstance(value, str) else "" if value is None else json_text(value)


def _clip(text: str) -> str:
    return text if len(text) <= CELL_CHARACTERS else text[:CELL_CHARACTERS] + "…"


REQUESTS: Mapping[str, tuple[Operation, Callable[[Any, Mapping[str, Any]], Answer]]] = {
    "lines": (Operation("lines", "A page of lines.", (_START, _LIMIT)), _lines),
    "rows": (
        Operation(
            "rows",
            "A page of records.",
            (_START, _LIMIT, Param("columns", "texts", "Columns."), Param("filters", "json", "Conditions.")),
        ),
        _rows,
    ),
    "find": (
        Operation(
            "find",
            "Lines that match.",
            (
                Param("pattern", "text", "What is looked for.", required=True),
                Param("fixed", "flag", "Whether it is plain text.", default=True),
                Param("ignore_case", "flag", "Whether letters match in both cases.", default=True),
                Param("cursor", "text", "Where an earlier answer ended."),
            ),
        ),
        _find,
    ),
    "bytes": (Operation("bytes", "A page of bytes.", (_START, _LIMIT)), _bytes),
}
"""Every question that a browser may ask."""
