"""Walk JSON documents without building them, fed in blocks of any size.

Only the path to what is wanted is parsed in Python. The elements of the walked array are cut off in large pieces: a
likely boundary near the end of the buffer is guessed from how the first elements began, and the decoder that is
needed anyway proves it. The text before a boundary, closed by ``]``, is a JSON array if and only if the boundary is
one, since a JSON text has exactly one reading from left to right. Where the guess fails the brackets are counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kmnb.core.index import CHECK_BYTES
from kmnb.core.lenient import TooDeep, mending, slow_value
from kmnb.core.walks import Begins, DocumentEnds, Event, Found, Key, Path, Records, Walk, tree
from kmnb.errors import BadRequest
from kmnb.formats._json_text import Step, TextReader

_TOKEN_OR_COMMA = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(")?|[\[\]{},]', re.DOTALL)
_COMMA = re.compile(rb"[ \t\n\r]*,[ \t\n\r]*")
_GUESSES = 4
_LIKE_BYTES = 48
"""Most bytes of the beginning of an element that serve to recognise the next one."""


class DocumentWalker(TextReader):
    """Walks documents that stand one after the other.

    Args:
        walk: What is wanted of each.
    """

    def __init__(self, walk: Walk) -> None:
        super().__init__()
        self._decode, self._tree = walk.decode, tree(walk)
        self._events: list[Event] = []
        self._like: bytes | None = None
        self._steps = self._documents()
        next(self._steps)

    def feed(self, block: bytes) -> list[Event]:
        """Take the next block and give what has passed by."""
        self._take(block)
        return self._passed()

    def finish(self) -> list[Event]:
        """Give what is left at the end of the content."""
        self._end()
        return self._passed()

    def _passed(self) -> list[Event]:
        events = self._events.copy()
        self._events.clear()
        return events

    def _documents(self) -> Step:
        yield
        if (yield from self._peek()) == 0xEF and self._buffer.startswith(b"\xef\xbb\xbf", self._place):
            self._place += 3
        while (yield from self._peek()) is not None:
            self._like = None
            yield from self._value(self._tree, ())
            self._events.append(DocumentEnds())

    def _value(self, node: Mapping[str, Any] | None, path: Path) -> Step:
        first = yield from self._peek()
        wanted = node.get("") if node else None
        if node is None:
            yield from self._skip()
        elif wanted == "records" and first == 0x5B:
            self._events.append(Begins())
            yield from self._elements(self._hand_over)
        elif wanted in ("records", "value") or (wanted == "keys" and first != 0x7B):
            self._events.append(Found(path, (yield from self._proved())))
        elif first == 0x7B:
            yield from self._object(node, path)
        else:
            yield from self._in_the_way(first, path)

    def _in_the_way(self, first: int | None, path: Path) -> Step:
        if first == 0x5B:
            self._events.append(Found(path, b"["))
            yield from self._skip()
        else:
            self._events.append(Found(path, (yield from self._proved())))

    def _proved(self) -> Step:
        """Take a whole value that is handed on: its brackets alone do not make it JSON."""
        place = self._base + self._place
        raw = yield from self._capture()
        try:
            array_elements(b"[%b]" % raw)
        except ValueError as error:
            raise self._refused(error, place) from None
        return raw

    def _object(self, node: Mapping[str, Any], path: Path) -> Step:
        self._place += 1
        if node.get("") == "keys":
            self._events.append(Begins())
        seen: set[str] = set()
        if (yield from self._peek()) == 0x7D:
            self._place += 1
            return
        while True:
            name = yield from self._key()
            if node.get("") == "keys":
                self._events.append(Key(name))
            child = node.get(f".{name}")
            if child is not None and name in seen and child.get("") == "records":
                raise BadRequest("the content", f"has the key {name!r:.80} twice in one object", "Use run.")
            seen.add(name) if child is not None else None
            yield from self._value(child, (*path, name) if child is not None else path)
            if (yield from self._separator(0x7D)):
                return

    def _key(self) -> Step:
        if (yield from self._peek()) != 0x22:
            raise self._fail("a key is missing")
        raw = yield from self._string()
        if (yield from self._peek()) != 0x3A:
            raise self._fail("a colon is missing")
        self._place += 1
        if b"\\" not in raw:
            return raw[1:-1].decode("utf-8", "replace")
        return self._decode_text(raw)

    def _decode_text(self, raw: bytes) -> str:
        try:
            return str(slow_value(raw))
        except ValueError:
            raise self._fail("a bad key") from None

    def _separator(self, closing: int) -> Step:
        """Pass a comma, or the end of a container; tell whether it was the end."""
        found = yield from self._peek()
        if found not in (0x2C, closing):
            raise self._fail("a comma is missing" if found is not None else "the end is missing")
        self._place += 1
        return found == closing

    def _skip(self) -> Step:
        """Pass over a whole value; arrays are passed in pieces and objects by brackets, so that little is kept."""
        first = yield from self._peek()
        if first == 0x5B:
            yield from self._elements(None)
        elif first == 0x7B:
            yield from self._skip_tokens()
        else:
            yield from self._capture()

    def _hand_over(self, text: bytes) -> None:
        before = self._buffer[max(0, self._place - CHECK_BYTES) : self._place]
        self._events.append(Records(self._decode(text), (), self._base + self._place, before))

    def _elements(self, take: Any) -> Step:
        """Pass over an array; ``take`` is handed its elements as texts of arrays, and raises when one is none."""
        outer, self._like = self._like, None
        self._place += 1
        if (yield from self._peek()) == 0x5D:
            self._place += 1
            self._like = outer
            return
        take = take if take is not None else array_elements
        while True:
            if (end := self._guess(take)) < 0:
                end = yield from self._exact(take)
            self._place = end
            if (yield from self._separator(0x5D)):
                break
            yield from self._peek()
        self._like = outer

    def _guess(self, take: Any) -> int:
        """Hand over what stands before a likely boundary; give where that is, −1 when no guess was right."""
        if self._like is None:
            return -1
        border = len(self._buffer)
        for _ in range(_GUESSES):
            border = self._buffer.rfind(self._like, self._place, border)
            if border <= self._place:
                return -1
            try:
                take(b"[%b]" % self._buffer[self._place : border])
            except ValueError:
                continue
            return border
        return -1

    def _exact(self, take: Any) -> Step:
        """Hand over the elements that are all there, at least one, by counting brackets; give where they end."""
        while (end := self._end_of_value()) < 0:
            if not (yield from self._more()):
                raise self._fail("the end of an array is missing")
            if (border := self._guess(take)) > 0:
                return border
        is_first = self._like is None
        if self._learn(end) and not is_first and (border := self._guess(take)) > 0:
            return border
        if not is_first:
            end = self._last_boundary(end)
        try:
            take(b"[%b]" % self._buffer[self._place : end])
        except ValueError as error:
            raise self._refused(error, self._base + self._place) from None
        return end

    def _last_boundary(self, end: int) -> int:
        """Find the last boundary between elements in the buffer, or the end of the array."""
        depth = 0
        for token in _TOKEN_OR_COMMA.finditer(self._buffer, end):
            kind = self._buffer[token.start()]
            if kind == 0x22:
                if token.group(1) is None:
                    break
            elif kind == 0x2C:
                end = token.start() if depth == 0 else end
            elif kind in (0x5B, 0x7B):
                depth += 1
            else:
                depth -= 1
                if depth < 0:
                    return token.start()
        return end

    def _learn(self, end: int) -> bool:
        """Remember how an element begins, the comma before it included; tell whether that is news.

        What elements have in common gets shorter as more of them are seen, for example while numbers in names grow.
        """
        match = _COMMA.match(self._buffer, end)
        if match is None or match.end() + _LIKE_BYTES > len(self._buffer):
            return False
        second = self._buffer[match.end() : match.end() + _LIKE_BYTES]
        known = self._like
        if known is None:
            first = self._buffer[self._place : self._place + _LIKE_BYTES]
            alike = _common(first, second) if second[:1] in b'{["' else 0
            self._like = match.group() + second[:alike]
        else:
            self._like = known[: max(len(match.group()), _common(known, match.group() + second))]
        return self._like != known


def _common(first: bytes, second: bytes) -> int:
    """Tell how many bytes two texts begin alike with."""
    return next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def array_elements(text: bytes) -> list[Any]:
    """Find the elements of a JSON array without copying them.

    Raises:
        ValueError: It is no JSON array, or an element is too deep.
    """
    import msgspec

    try:
        found: list[Any] = mending(msgspec.json.Decoder(list[msgspec.Raw]).decode)(text)
    except RecursionError:
        raise TooDeep from None
    return found
