"""JSON values: decode only what is needed of records, and write answers as compact text."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Union

from kmnb.core.jsonable import jsonable
from kmnb.core.lenient import TooDeep, documents, mending, slow_value, told
from kmnb.errors import BadRequest


class Need:
    """Which parts of a value are looked at, as a tree.

    Nothing asked means that only the kind of the value matters.
    """

    def __init__(self) -> None:
        self.is_whole = self.is_counted = False
        self.keys: dict[str, Need] = {}
        self.items: Need | None = None

    def key(self, name: str) -> Need:
        """What is needed of the value under a key."""
        return self.keys.setdefault(name, Need())

    def elements(self) -> Need:
        """What is needed of every element of a list."""
        self.items = self.items or Need()
        return self.items

    def whole(self) -> None:
        """Everything is needed."""
        self.is_whole = True

    def counted(self) -> None:
        """The number of elements or keys is needed."""
        self.is_counted = True

    def type(self, *, as_text: bool = False) -> Any:
        """Give the type that a decoder of msgspec needs to build just that.

        Args:
            as_text: Whether what is wanted whole stays the text that it is, digits of numbers included.
        """
        import msgspec

        # Of keys that are named in a type msgspec finds only those that are ASCII.
        is_found = all(name.isascii() for name in self.keys)
        if self.is_whole or not is_found or (self.keys and self.is_counted):
            return msgspec.Raw if as_text else Any
        kinds: list[Any] = [str, int, float, bool, None, dict[str, msgspec.Raw], list[msgspec.Raw]]
        if self.keys:
            from typing import TypedDict

            fields = {name: need.type(as_text=as_text) for name, need in self.keys.items()}
            make: Any = TypedDict
            kinds[5] = make("Record", fields, total=False)
        if self.items is not None:
            kinds[6] = list.__class_getitem__(self.items.type(as_text=as_text))
        return Union.__getitem__(tuple(kinds))


class ListNeed(Need):
    """What is needed of a list that is collected here.

    Args:
        items: What its elements are; None where they are made, not read.
    """

    def __init__(self, items: Need | None) -> None:
        super().__init__()
        self.items = items if items is not None else Need()

    def whole(self) -> None:
        """Everything of every element is needed."""
        self.elements().whole()


def counting_decoder() -> Callable[[bytes], list[Any]]:
    """Make a decoder that only tells how many elements there are."""
    import msgspec

    return mending(msgspec.json.Decoder(list[msgspec.Raw]).decode)


def decoder(need: Need | None, *, as_text: bool = False) -> Callable[[bytes], list[Any]]:
    """Make a decoder of the text of a JSON array.

    Args:
        need: What is looked at of each element; None gives the elements as their text.
        as_text: Whether of each element what is wanted whole stays text, for :func:`msgspec.json.encode`.

    Returns:
        A function that raises ValueError for text that is not JSON.
    """
    import msgspec

    cut = mending(msgspec.json.Decoder(list[msgspec.Raw]).decode)
    if need is None:
        return lambda text: [bytes(raw) for raw in cut(text)]
    kind = list.__class_getitem__(need.type(as_text=as_text))
    quick: Callable[[bytes], list[Any]] = mending(msgspec.json.Decoder(kind).decode)

    def decode(text: bytes) -> list[Any]:
        try:
            return quick(text)
        except (ValueError, RecursionError):
            # Not JSON at all, or something that is JSON but has no exact value here: the latter is read slowly.
            try:
                return [slow_value(bytes(raw)) for raw in cut(text)]
            except RecursionError:
                raise TooDeep from None

    return decode


def one_decoder(need: Need | None) -> Callable[[bytes], Any]:
    """Make a decoder of single JSON values; None decodes them whole."""
    import msgspec

    quick = msgspec.json.Decoder(Any if need is None else need.type()).decode

    def decode(text: bytes) -> Any:
        try:
            return quick(text)
        except (ValueError, RecursionError):
            return slow_value(text)

    return decode


def documents_of(text: bytes, decode: Callable[[bytes], list[Any]]) -> Iterator[Any]:
    """Give the documents of a text: usually one, else several one after the other.

    Args:
        text: The whole content.
        decode: Decodes the text of an array.

    Raises:
        BadRequest: It is not JSON; the message says where.
    """
    text = text.removeprefix(b"\xef\xbb\xbf")
    if not text.strip():
        return
    try:
        found = decode(b"[%b]" % text)
        fault = ValueError("a comma between documents")
    except ValueError as error:
        found, fault = [], error
    if len(found) == 1:
        yield found[0]
        return
    try:
        yield from documents(text)
    except ValueError:
        raise BadRequest("the content", f"is {told(fault)}", "Look at it with lines or grep.") from None


def check_documents(text: bytes) -> None:
    """Refuse a text that is not JSON documents, one after the other; libjq reads deeper ones, and judges these itself.

    Raises:
        BadRequest: It is not; the message says where.
    """
    with suppress(RecursionError):
        deque(documents_of(text, counting_decoder()), maxlen=0)


def compact(value: Any) -> str:
    """Write a value as JSON text without blanks; strict parsers read it and it encodes to UTF-8."""
    text = json.dumps(jsonable(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def sized(values: Iterable[Any]) -> Iterable[tuple[Any, str, int]]:
    """Give each value with its text and the size of that in UTF-8 bytes, line end included."""
    for value in values:
        text = compact(value)
        yield value, text, len(text.encode()) + 1
