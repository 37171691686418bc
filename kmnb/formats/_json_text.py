"""A place in JSON text that arrives in blocks: strings, values and white space, taken as they come."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from kmnb.core.bounds import DOCUMENT_MAX_BYTES
from kmnb.core.index import CHECK_BYTES
from kmnb.core.lenient import told
from kmnb.errors import BadRequest, BoundExceeded

_SPACE = re.compile(rb"[ \t\n\r]*")
_SCALAR = re.compile(rb'[^\s,\]}\[{:"]+')
_ATOM = re.compile(rb"(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)")
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(")?|[\[\]{}]', re.DOTALL)
_STEP = "Look at it with lines or grep."

Step = Generator[None, None, Any]
"""Something that may have to wait for more input."""


class TextReader:
    """Holds the text from the present place on. What takes a value waits for more input where it is not all there."""

    def __init__(self) -> None:
        self._buffer, self._place, self._base = b"", 0, 0
        self._incoming: list[bytes] = []
        self._waiting = 0
        self._is_last = False
        self._is_over = False
        self._steps: Step

    def _take(self, block: bytes) -> None:
        """Take the next block and go on as far as that leads."""
        self._incoming.append(block)
        self._waiting += len(block)
        left = len(self._buffer) - self._place
        if left > DOCUMENT_MAX_BYTES:
            raise BoundExceeded(
                "one record",
                f"it has more than {DOCUMENT_MAX_BYTES} bytes",
                "Use run.",
                limit="DOCUMENT_MAX_BYTES",
                value=DOCUMENT_MAX_BYTES,
                unit="bytes",
            )
        # A value that does not end is looked at again only when the buffer has doubled: linear in the long run.
        if self._waiting >= left:
            self._advance()

    def _end(self) -> None:
        """Hear that no more comes."""
        self._is_last = True
        self._advance()

    def _advance(self) -> None:
        # A little of what is done with stays, for the checks of places.
        kept = min(self._place, CHECK_BYTES)
        self._buffer = b"".join((self._buffer[self._place - kept :], *self._incoming))
        self._base += self._place - kept
        self._place, self._waiting = kept, 0
        self._incoming.clear()
        if not self._is_over:
            try:
                next(self._steps)
            except StopIteration:
                self._is_over = True

    def _more(self) -> Step:
        """Wait for more input; tell whether there may be more to come."""
        if self._is_last:
            return False
        yield
        return True

    def _peek(self) -> Step:
        """Pass over white space and give the next byte; None at the end."""
        while True:
            match = _SPACE.match(self._buffer, self._place)
            self._place = match.end() if match is not None else self._place
            if self._place < len(self._buffer):
                return self._buffer[self._place]
            if not (yield from self._more()):
                return None

    def _fail(self, what: str) -> BadRequest:
        return BadRequest("the content", f"is not JSON: {what} at byte {self._base + self._place}", _STEP)

    def _refused(self, fault: ValueError, place: int) -> BadRequest:
        """Make the error of a value at a place that a decoder refused."""
        return BadRequest("the content", f"is {told(fault, start=place)}", _STEP)

    def _string(self) -> Step:
        """Take a whole string, quotes included."""
        looked = 1
        while True:
            end = self._buffer.find(b'"', self._place + looked)
            if end < 0:
                looked = max(1, len(self._buffer) - self._place)
                if not (yield from self._more()):
                    raise self._fail("a string does not end")
                continue
            slashes = end - len(self._buffer[self._place + 1 : end].rstrip(b"\\")) - self._place - 1
            if slashes % 2 == 0:
                raw = self._buffer[self._place : end + 1]
                self._place = end + 1
                return raw
            looked = end + 1 - self._place

    def _capture(self) -> Step:
        """Take a whole value."""
        while (end := self._end_of_value()) < 0:
            if not (yield from self._more()):
                raise self._fail("the end is missing")
        raw = self._buffer[self._place : end]
        self._place = end
        return raw

    def _skip_tokens(self) -> Step:
        """Pass over an object or an array by its brackets; nothing of it is kept."""
        depth = 0
        while True:
            place = len(self._buffer)
            for token in _TOKEN.finditer(self._buffer, self._place):
                kind = self._buffer[token.start()]
                if kind == 0x22:
                    if token.group(1) is None:
                        place = token.start()
                        break
                else:
                    depth += 1 if kind in (0x5B, 0x7B) else -1
                if depth == 0:
                    self._place = token.end()
                    return
            self._place = place
            if not (yield from self._more()):
                raise self._fail("the end is missing")

    def _end_of_value(self) -> int:
        """Find where the value at the current place ends; −1 when it is not all there."""
        first = self._buffer[self._place : self._place + 1]
        if first in (b"{", b"[", b'"'):
            return self._end_of_tokens()
        match = _SCALAR.match(self._buffer, self._place)
        if match is None:
            raise self._fail("a value is missing")
        if match.end() == len(self._buffer) and not self._is_last:
            return -1
        if _ATOM.fullmatch(match.group()) is None:
            raise self._fail("a bad value")
        return match.end()

    def _end_of_tokens(self) -> int:
        depth = 0
        for token in _TOKEN.finditer(self._buffer, self._place):
            kind = self._buffer[token.start()]
            if kind == 0x22:
                if token.group(1) is None:
                    return -1
            elif kind in (0x5B, 0x7B):
                depth += 1
            else:
                depth -= 1
            if depth == 0:
                return token.end()
        return -1
