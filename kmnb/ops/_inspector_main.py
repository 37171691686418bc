"""The other end of :mod:`kmnb.ops._inspector`: looks at content in a process of its own until nobody listens."""

from __future__ import annotations

import gc
import json
import mmap
import socket
import sys
from collections.abc import Callable

from kmnb.core.bounds import WINDOW_BYTES
from kmnb.formats._detect import detect
from kmnb.formats._inspect import Inspector
from kmnb.formats._line_scan import expect_arrays
from kmnb.ops._inspector import SLOTS, TOLD_SLOTS
from kmnb.ops._isolated_main import limit_process


def main() -> None:
    """Serve the process that started this one."""
    limit_process()
    _import_all()
    # What is counted makes no cycles; looking for some takes a tenth of the time.
    gc.disable()
    memory = mmap.mmap(int(sys.argv[2]), SLOTS * WINDOW_BYTES, prot=mmap.PROT_READ)
    with socket.socket(fileno=0) as control:
        control.sendall(b"A")
        try:
            _serve(control, memory)
        except (BrokenPipeError, ConnectionResetError, EOFError):
            return


def _import_all() -> None:
    """Load what large content needs, so that the first does not wait for it."""
    import msgspec.json
    import numpy

    numpy.zeros(1), msgspec.json
    expect_arrays()
    detect(b"text")


def _serve(control: socket.socket, memory: mmap.mmap) -> None:
    look, count = _Look(None, None), 0
    while True:
        head = _read(control, 9)
        kind, size = head[:1], int.from_bytes(head[1:], "big")
        if kind == b"S":
            look = _Look(*json.loads(_read(control, size)))
        elif kind == b"B":
            start = count % SLOTS * WINDOW_BYTES
            count += 1
            look.feed(memory[start : start + size])
            if count % TOLD_SLOTS == 0:
                control.sendall(b"A")
        else:
            reply = look.finish()
            control.sendall((b"X" if look.trouble else b"R") + len(reply).to_bytes(8, "big") + reply)
            look = _Look(None, None)
            gc.collect()


class _Look:
    """One piece of content; whatever goes wrong with it is told at its end."""

    def __init__(self, media_type: str | None, name: str | None) -> None:
        self._inspector = Inspector(media_type, name)
        self.trouble = ""

    def feed(self, block: bytes) -> None:
        self._try(lambda: self._inspector.feed(block))

    def finish(self) -> bytes:
        reply = self._try(lambda: json.dumps(self._inspector.attributes()).encode())
        return reply if reply is not None else self.trouble.encode("utf-8", "replace")

    def _try(self, step: Callable[[], bytes | None]) -> bytes | None:
        if self.trouble:
            return None
        try:
            return step()
        except Exception as error:
            self.trouble = f"{type(error).__name__}: {error}"[:200]
            return None


def _read(control: socket.socket, size: int) -> bytes:
    pieces: list[bytes] = []
    while size:
        piece = control.recv(size)
        if not piece:
            raise EOFError
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
