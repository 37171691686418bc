"""Keep the beginning and the end of an output that may be endless.

The answer is often the last line, so three quarters of the cap go to the beginning and the rest to the end, with a
line between that says how much was left out. Under a small cap there is no room for that line: then only the
beginning is kept.
"""

from __future__ import annotations

SMALL_BYTES = 1024
"""Caps below this keep the beginning only."""


class Keeper:
    """Takes the blocks of one pipe and gives the text that is kept of them."""

    def __init__(self, cap_bytes: int) -> None:
        self.cap = cap_bytes
        self.written = 0
        self._head_max = cap_bytes * 3 // 4 if cap_bytes >= SMALL_BYTES else cap_bytes
        self._head, self._tail = bytearray(), bytearray()

    def feed(self, block: bytes) -> None:
        """Take the next block of the pipe."""
        self.written += len(block)
        room = self._head_max - len(self._head)
        if room > 0:
            self._head += block[:room]
            block = block[room:]
        self._tail += block
        if len(self._tail) > 2 * self.cap:
            del self._tail[: -self.cap]

    @property
    def truncated(self) -> bool:
        """Whether something is left out of the text."""
        return self.written > self.cap

    def text(self) -> tuple[str, int]:
        """Give the kept text, never longer than the cap in bytes of output, and how many places were no UTF-8."""
        if not self.truncated:
            return _decode(bytes(self._head + self._tail))
        head = _whole_end(bytes(self._head))
        if self._head_max == self.cap:
            return _decode(head)
        room = self.cap - len(self._head) - len(_note(self.written).encode())
        tail = _whole_start(bytes(self._tail[-room:]))
        first, bad = _decode(head)
        last, more = _decode(tail)
        return first + _note(self.written - len(head) - len(tail)) + last, bad + more


def _note(left_out: int) -> str:
    return f"\n[… {left_out} bytes left out …]\n"


def _whole_end(raw: bytes) -> bytes:
    """Drop a character that was cut at the end; at most three bytes, so that garbage is not eaten."""
    for back in range(1, min(4, len(raw)) + 1):
        byte = raw[-back]
        if byte & 0xC0 != 0x80:
            need = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return raw[:-back] if need > back else raw
    return raw


def _whole_start(raw: bytes) -> bytes:
    """Drop what is left of a character that was cut at the start."""
    start = 0
    while start < min(3, len(raw)) and raw[start] & 0xC0 == 0x80:
        start += 1
    return raw[start:]


def _decode(raw: bytes) -> tuple[str, int]:
    text = raw.decode("utf-8", "replace")
    return text, text.count("\ufffd") - raw.count(b"\xef\xbf\xbd")
