"""Read JSON that quick decoders refuse though it is JSON: halves of characters, bad UTF-8, numbers beyond floats."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from kmnb.core.finite import exact, finite, refuse
from kmnb.errors import clip

_TO_LONE = re.compile(
    rb"((?:[^\\]++|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\(?!u[dD][89a-fA-F]).)*+)(\\u....)?", re.DOTALL
)
"""The text before an escaped half of a surrogate pair whose other half is missing, and that half."""
_READER = json.JSONDecoder(parse_int=exact, parse_float=finite, parse_constant=refuse)
_PLACE = re.compile(r" \(byte (\d+)\)\Z")
_SPACE = frozenset(" \t\r\n")
T = TypeVar("T")


class TooDeep(ValueError):
    """It may be JSON, but is nested deeper than Python reads."""

    def __init__(self) -> None:
        super().__init__("nested too deeply to be read")


def told(fault: ValueError, *, start: int = 0) -> str:
    """Say what is wrong with a text; what it says goes on a sentence: "the content is …".

    Args:
        fault: What a decoder of msgspec said of the text as the first element of an array.
        start: Where the text begins; the fault is told as bytes from 0.
    """
    if isinstance(fault, TooDeep):
        return f"{fault}, in what begins at byte {start}" if start else str(fault)
    text = str(fault).removeprefix("JSON is malformed: ")
    if (place := _PLACE.search(text)) is None:
        return f"not JSON: {clip(text, 200)}, in what begins at byte {start}"
    return f"not JSON: {text[: place.start()]} at byte {start + int(place[1]) - 1}"


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
        ValueError: It is not JSON; :class:`TooDeep` where it may be.
    """
    try:
        return _READER.decode(without_lone(text).decode("utf-8", "replace"))
    except RecursionError:
        raise TooDeep from None


def documents(content: bytes) -> Iterator[Any]:
    """Read JSON documents that stand one after the other.

    Raises:
        ValueError: What comes next is not JSON, or too deep; those before it were given.
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
            raise TooDeep from None
        yield value
