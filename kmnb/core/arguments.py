"""Check the arguments of an operation against its declaration; the same for Python, command line, REST and MCP.

Models and query strings hand every value over as text, so text is coerced to the declared kind. Nothing here guesses
beyond that: what cannot be meant is a :class:`~kmnb.errors.BadRequest` that names the parameter.
"""

from __future__ import annotations

import csv
import difflib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from kmnb.core.describe import Operation, Param
from kmnb.errors import BadRequest, clip

_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})


def checked(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check and complete the arguments of an operation.

    Args:
        operation: The declaration.
        given: Values by Python name; None means "not given".

    Returns:
        One value for every declared parameter, defaults filled in.

    Raises:
        BadRequest: Unknown name, missing value, wrong kind, not among the choices, or too small.
    """
    known = {param.name: param for param in operation.params}
    for name in given:
        if name not in known:
            raise BadRequest(f"{operation.name}: {_shown(name)}", "there is no such argument", _near(name, known))
    return {name: _value(operation, param, given.get(name)) for name, param in known.items()}


def _value(operation: Operation, param: Param, value: Any) -> Any:
    if value is None:
        if param.required:
            raise BadRequest(f"{operation.name}: {param.name}", "is missing", f"Give it: {_lower(param.help)}")
        return param.default
    thing = f"{operation.name}: {param.name}"
    value = _KINDS[param.kind](thing, value)
    if param.choices and value not in param.choices:
        raise BadRequest(thing, f"{_shown(value)} is not a choice", f"Use {' or '.join(param.choices)}.")
    if param.minimum is not None and isinstance(value, int | float) and value < param.minimum:
        if param.below == "default":
            return param.default
        raise BadRequest(thing, f"{_shown(value)} is too small", f"Use {param.minimum:g} or more.")
    return value


def as_text(thing: str, value: Any) -> str:
    """Check that a value is text that UTF-8 can write. Raises :class:`BadRequest`."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            # Bytes of a command line that are not UTF-8 arrive like this too.
            raise BadRequest(thing, "holds a lone surrogate", "Give text that UTF-8 can write.") from None
        return value
    raise BadRequest(thing, f"must be text, not {_shown(value)}")


def as_integer(thing: str, value: Any) -> int:
    """Read a whole number, from text too. Raises :class:`BadRequest`."""
    if isinstance(value, str):
        try:
            return int(value.strip().replace("_", ""))
        except ValueError:
            raise BadRequest(thing, f"must be a whole number, not {_shown(value)}") from None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return int(value.__index__())
    raise BadRequest(thing, f"must be a whole number, not {_shown(value)}")


def as_number(thing: str, value: Any) -> float:
    """Read a finite number, from text too. Raises :class:`BadRequest`."""
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isfinite(number):
        return number
    raise BadRequest(thing, f"must be a finite number, not {_shown(value)}")


def _flag(thing: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else _shown(value)
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise BadRequest(thing, f"must be true or false, not {_shown(value)}")


def as_texts(thing: str, value: Any) -> list[str]:
    """Read a list of texts; one text is cut at its commas. Raises :class:`BadRequest`."""
    if isinstance(value, str):
        value = split_texts(value)
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return [as_text(thing, item) for item in value]
    raise BadRequest(thing, f"must be a list of texts, not {_shown(value)}")


def _json(_thing: str, value: Any) -> Any:
    return value


_KINDS: Mapping[str, Callable[[str, Any], Any]] = {
    "text": as_text,
    "integer": as_integer,
    "number": as_number,
    "flag": _flag,
    "texts": as_texts,
    "json": _json,
}


def split_texts(text: str) -> list[str]:
    """Read a list of texts that was written as one: a JSON list of texts, else one record of CSV.

    Args:
        text: For example ``a,b``, ``"with, comma",b`` or ``["a","b"]``.

    Returns:
        The texts; spaces around them are dropped, empty ones too.

    Raises:
        BadRequest: It is no such list; one text is longer than 128 KiB.
    """
    if text.lstrip().startswith("["):
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return value
    try:
        fields = next(csv.reader([text.replace("\n", " ").replace("\r", " ")], skipinitialspace=True), [])
    except csv.Error as error:
        raise BadRequest(f"list of texts {_shown(text)}", str(error), "Give a JSON list of texts.") from None
    return [field.strip() for field in fields if field.strip()]


def _near(name: object, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(str(name), known, n=1)
    return f"Did you mean {near[0]}?" if near else f"Known: {', '.join(known) or 'none'}."


def _shown(value: Any) -> str:
    try:
        return clip(repr(value), 100)
    except (RecursionError, ValueError):
        # A value that is too deep, or a number with too many digits.
        return f"a {type(value).__name__}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
