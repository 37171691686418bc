"""Name the types of columns and values. Types are told, never applied: a value stays as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_INTEGER = re.compile(r"[-+]?\d+\Z")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\Z")
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?\s*(Z|[-+]\d\d:?\d\d)?)?\Z")


_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (Mapping, "object"),
    (list, "list"),
    (tuple, "list"),
)


def type_of(value: Any) -> str | None:
    """Name the type of a value: null (as None), boolean, integer, number, timestamp, text, list or object."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return _text_type(value)
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "text")


def _text_type(text: str) -> str:
    # A leading zero or a plus is part of a code, not of a number.
    bare = text.removeprefix("-")
    is_code = bare.startswith("+") or (len(bare) > 1 and bare[0] == "0" and bare[1].isdigit())
    if text.isascii() and not is_code:
        if _INTEGER.match(text):
            return "integer"
        if _NUMBER.match(text):
            return "number"
        if _TIME.match(text):
            return "timestamp"
        if text in ("true", "false", "True", "False", "TRUE", "FALSE"):
            return "boolean"
    return "text"


def join_types(types: Iterable[str | None]) -> tuple[str, bool]:
    """Find the narrowest type that covers others; the second answer tells whether nothing was among them."""
    found = set(types)
    nullable = None in found
    kinds = {kind for kind in found if kind}
    if not kinds:
        return "null" if nullable else "text", True
    if len(kinds) == 1:
        return kinds.pop(), nullable
    if kinds == {"integer", "number"}:
        return "number", nullable
    return "mixed" if kinds & {"list", "object"} else "text", nullable


def column_types(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[dict[str, Any], ...]:
    """Name the types of table columns from some rows."""
    answer = []
    for at, name in enumerate(names):
        kind, nullable = join_types({type_of(row[at]) for row in rows})
        answer.append({"name": name, "type": kind, "nullable": nullable})
    return tuple(answer)
