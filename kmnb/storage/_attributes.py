"""Attributes: names and values that UTF-8 can hold, both when they are stored and when they are read."""

from __future__ import annotations

import json

from kmnb.errors import BadRequest
from kmnb.storage._callers import from_caller
from kmnb.storage._protocols import Attributes


def final_attributes(attributes: Attributes | None) -> dict[str, str]:
    """Get the attributes once the last byte was read; a function is called here.

    Raises:
        BadRequest: They are no mapping, or a name or a value is not text, or not one that UTF-8 can hold.
    """
    with from_caller("the function for attributes"):
        told = attributes() if callable(attributes) else attributes
    try:
        found = dict(told or {})
    except (TypeError, ValueError):
        kind = type(told).__name__
        raise BadRequest(
            f"attributes of type {kind}", "they are no mapping", "Give names and values as a dict"
        ) from None
    for name, value in found.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise BadRequest(f"attribute {name!a:.200}", "names and values of attributes are texts")
        if whole(name) != name or whole(value) != value:
            reason = "it holds half of a surrogate pair, which no store keeps as it is"
            raise BadRequest(f"attribute {name!a:.200}", reason, "Decode it with errors='replace' first")
    return found


def parse_attributes(raw: bytes) -> dict[str, str]:
    """Read attributes that kmnb wrote as a JSON object.

    Raises:
        ValueError: They are none.
    """
    try:
        return read_attributes(json.loads(raw))
    except RecursionError:
        raise ValueError from None


def read_attributes(told: object) -> dict[str, str]:
    """Take attributes out of a JSON document that anybody may have written.

    Raises:
        ValueError: They are no texts.
    """
    if not isinstance(told, dict) or not all(isinstance(value, str) for value in told.values()):
        raise ValueError
    return {whole(name): whole(value) for name, value in told.items()}


def whole(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON can write and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()
