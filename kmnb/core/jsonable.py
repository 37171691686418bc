"""Turn answers into plain JSON values that every strict parser reads."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any

from kmnb.errors import BoundExceeded


def jsonable(value: Any) -> Any:
    """Make plain JSON values of a value.

    Args:
        value: Values of Python, dataclasses included; an object with ``to_dict()`` or the like speaks for itself.

    Returns:
        None, bool, int, float, str, lists and dicts. Numbers that JSON does not know (NaN, infinities) become their
        names as text, bytes become Base64, times become ISO 8601, anything else its ``str()``.
    """
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool | int | str):
        return value
    for kinds, convert in _CONVERSIONS:
        if isinstance(value, kinds):
            return convert(value)
    return _object(value)


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")


def _object(value: Any) -> Any:
    for name in ("as_dict", "to_dict", "to_json"):
        if callable(speaks := getattr(value, name, None)) and isinstance(told := speaks(), Mapping):
            return jsonable(told)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in fields(value)}
    return str(value)


_CONVERSIONS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (float, _number),
    (datetime | date, lambda value: value.isoformat()),
    (bytes | bytearray | memoryview, lambda value: base64.b64encode(value).decode()),
    (Mapping, lambda value: {str(name): jsonable(item) for name, item in value.items()}),
    (list | tuple | set | frozenset, lambda value: [jsonable(item) for item in value]),
)


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Write a value as JSON text in UTF-8 that a strict parser reads; lone surrogates are escaped.

    Raises:
        BoundExceeded: It is nested too deeply.
    """
    try:
        try:
            # What is JSON already goes deeper this way, and faster.
            text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=jsonable)
        except (ValueError, TypeError):
            text = json.dumps(jsonable(value), ensure_ascii=False, allow_nan=False, indent=indent)
    except RecursionError:
        raise BoundExceeded("the value", "it is nested too deeply to be written", "Ask for a part of it.") from None
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
