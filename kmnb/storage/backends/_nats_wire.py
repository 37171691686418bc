"""The NATS client protocol, as far as a bulk transfer needs it. Pure: fed bytes, gives frames; does no I/O.

Received bytes stay where the socket put them. A frame's parts are views of that buffer, so that a chunk is copied
once, straight into the window that its reader gets; the views are valid until :meth:`Scanner.room` is called.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kmnb.core.bounds import MIB

BUFFER_BYTES = 2 * MIB
"""Size of the receive buffer; it grows for a single larger message."""
ROOM_BYTES = 256 * 1024
"""Least room that a read gets."""
LINE_MAX_BYTES = MIB
"""Longest control line; INFO names all servers of a cluster."""
MESSAGE_MAX_BYTES = 80 * MIB
"""Largest message that is believed; nats-server refuses a larger ``max_payload``."""
_NOTHING: Final = memoryview(b"")
_CRLF: Final = b"\r\n"
_HEAD: Final = b"NATS/1.0"


class WireError(Exception):
    """What came is not the NATS protocol."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of the protocol, with its payload where it has one."""

    verb: bytes
    """``MSG``, ``INFO``, ``PING``, ``PONG``, ``+OK`` or ``-ERR``. A message with headers is a ``MSG`` too."""
    subject: bytes = b""
    """Subject of a message; the rest of the line for everything else."""
    reply: bytes = b""
    """Reply subject of a message; a consumer's message tells its place there."""
    header: bytes = b""
    """Header block of a message, ``NATS/1.0`` included."""
    payload: memoryview = _NOTHING
    """Payload of a message."""

    @property
    def status(self) -> str:
        """Status of a message that is none but says something, for example ``404``; empty for real ones."""
        first = self.header[len(_HEAD) : self.header.find(_CRLF)].strip() if self.header else b""
        return first[:3].decode("ascii", "replace")

    @property
    def description(self) -> str:
        """What stands beside the status."""
        first = self.header[len(_HEAD) : self.header.find(_CRLF)].strip() if self.header else b""
        return first[3:].strip().decode("utf-8", "replace")

    def field(self, name: bytes) -> str | None:
        """Give a header; the last one of that name, which is the server's own."""
        start = self.header.rfind(_CRLF + name + b":")
        if start < 0:
            return None
        start += len(name) + 3
        return self.header[start : self.header.find(_CRLF, start)].strip().decode("utf-8", "replace")

    def number(self, name: bytes) -> int | None:
        """Give a header that is a number; None when it is none."""
        text = self.field(name)
        return int(text) if text is not None and text.isascii() and text.isdigit() else None


class Scanner:
    """Finds frames in the bytes that a socket writes into its buffer."""

    def __init__(self) -> None:
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._start = self._end = 0
        self._wanted = 0

    @property
    def has_grown(self) -> bool:
        """Whether a large message made the buffer larger than usual."""
        return len(self._buffer) > BUFFER_BYTES

    def is_full(self) -> bool:
        """Tell whether :meth:`room` will move bytes, which ends the life of all views."""
        return len(self._buffer) - self._end < ROOM_BYTES

    def room(self) -> memoryview:
        """Give the part of the buffer that the next bytes go to."""
        if self.is_full():
            self._move()
        return self._view[self._end :]

    def _move(self) -> None:
        held = self._end - self._start
        source = self._view[self._start : self._end]
        if self._wanted + ROOM_BYTES > len(self._buffer):
            self._buffer = bytearray(self._wanted + BUFFER_BYTES)
            self._view = memoryview(self._buffer)
        self._view[:held] = bytes(source)
        self._start, self._end = 0, held

    def feed(self, count: int) -> None:
        """Take note of bytes that were written into the room."""
        self._end += count

    def next(self) -> Frame | None:
        """Give the next whole frame; None until more bytes have come.

        Raises:
            WireError: It is not the NATS protocol.
        """
        if self._end - self._start < self._wanted:
            return None
        line_end = self._buffer.find(_CRLF, self._start, self._end)
        if line_end < 0:
            if self._end - self._start > LINE_MAX_BYTES:
                raise WireError("a line without end")
            return None
        line = bytes(self._view[self._start : line_end])
        verb, _, rest = line.partition(b" ")
        verb = verb.upper()
        if verb in (b"MSG", b"HMSG"):
            return self._message(rest.split(), line_end + 2, has_header=verb == b"HMSG")
        if verb not in (b"INFO", b"PING", b"PONG", b"+OK", b"-ERR"):
            raise WireError(f"an unknown line {line[:40]!r}")
        self._start, self._wanted = line_end + 2, 0
        return Frame(verb, rest)

    def _message(self, words: list[bytes], start: int, *, has_header: bool) -> Frame | None:
        sizes = 2 if has_header else 1
        if not 2 <= len(words) - sizes <= 3 or not all(word.isdigit() and len(word) < 12 for word in words[-sizes:]):
            raise WireError("a message line that cannot be read")
        size, split = int(words[-1]), int(words[-2]) if has_header else 0
        if size > MESSAGE_MAX_BYTES or split > size:
            raise WireError(f"a message of {size} bytes")
        if self._end < start + size + 2:
            self._wanted = start + size + 2 - self._start
            return None
        if self._buffer[start + size : start + size + 2] != _CRLF:
            raise WireError("a message longer than it said")
        self._start, self._wanted = start + size + 2, 0
        return Frame(
            b"MSG",
            words[0],
            words[2] if len(words) - sizes == 3 else b"",
            bytes(self._view[start : start + split]),
            self._view[start + split : start + size],
        )


def read_info(frame: Frame) -> dict[str, Any]:
    """Read what a server tells about itself.

    Raises:
        WireError: It is no INFO line.
    """
    try:
        info = json.loads(frame.subject) if frame.verb == b"INFO" else None
    except ValueError:
        info = None
    if not isinstance(info, dict):
        raise WireError("no INFO line: this is not a NATS server")
    return info


def write_connect(options: Mapping[str, Any]) -> bytes:
    """Write the login line, and a PING whose answer says that it was accepted."""
    return b"CONNECT " + json.dumps(options).encode() + b"\r\nPING\r\n"


def write_subscribe(subject: str, number: int) -> bytes:
    """Write a subscription."""
    return f"SUB {subject} {number}\r\n".encode()


def write_message(
    subject: str, reply: str, payload: bytes | memoryview, *, headers: bytes = b""
) -> tuple[bytes, bytes | memoryview, bytes]:
    """Write a message, as parts that follow one another; the payload is copied at most once on its way.

    Args:
        subject: Where it goes.
        reply: Where the answer goes.
        payload: Its bytes.
        headers: Lines ``Name: value`` with their line ends.
    """
    if not headers:
        return f"PUB {subject} {reply} {len(payload)}\r\n".encode(), payload, _CRLF
    head = b"".join((_HEAD, _CRLF, headers, _CRLF))
    line = f"HPUB {subject} {reply} {len(head)} {len(head) + len(payload)}\r\n".encode()
    return line + head, payload, _CRLF
