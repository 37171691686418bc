"""Read JSON that quick decoders refuse though it is JSON: halves of characters, bad UTF-8, numbers beyond floats."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from kmnb.core.finite import finite, refuse

_TO_LONE = re.compile(
    rb"((?:[^\\]++|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\(?!u[dD][89a-fA-F]).)*+)(\\u....)?", re.DOTALL
)
"""The text before an escaped half of a surrogate pair whose other half is missing, and that half."""
_READER = json.JSONDecoder(parse_float=finite, parse_constant=refuse)
_SPACE = frozenset(" \t\r\n")
T = TypeVar("T")


def without_lone(text: bytes) -> bytes:
    """Write the replacement character for lone surrogates in JSON text, as is done with bytes that are no UTF-8.

    They are halves of characters that were cut. Nothing can print, encode or store them, and libjq refuses them. The
    text keeps its length.
    """
    if b"\\ud" not in text and b"\\uD" not in text:
        return text
    return _TO_LONE.sub(lambda found: found[1] + (b"\\ufffd" if found[2] else b""), text)


def mending(decode: Callable[[Any], T]) -> Callable[[bytes | memoryview], T]:
    """Make a decoder that reads text that was refused once more, without lone surrogates."""

    def decoded(text: bytes | memoryview) -> T:
        try:
            return decode(text)
        except ValueError:
            if (sound := without_lone(bytes(text))) == text:
                raise
            return decode(sound)

    return decoded


def slow_value(text: bytes) -> Any:
    """Decode one JSON value that the quick decoder refuses; a number beyond floats is the text of its digits.

    Raises:
        ValueError: It is not JSON, or nested too deeply.
    """
    try:
        return _READER.decode(without_lone(text).decode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def documents(content: bytes) -> Iterator[Any]:
    """Read JSON documents that stand one after the other.

    Raises:
        ValueError: What comes next is not JSON, or nested too deeply; those before it were given.
    """
    text = without_lone(content).decode("utf-8", "replace")
    place = 0
    while True:
        while text[place : place + 1] in _SPACE:
            place += 1
        if place == len(text):
            return
        if place and text[place - 1].isalnum() and text[place].isalnum():
            raise ValueError("two values without a space between them")
        try:
            value, place = _READER.raw_decode(text, place)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        yield value
