"""A second process for libjq, forked from the one that runs a query, so that two cores work at its batches.

It ends with the process that forked it, whatever that dies of.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from kmnb.errors import BoundExceeded, ExpressionError
from kmnb.sips._jq_library import JsonText, failure, outputs

_HEAD = struct.Struct(">cQ")
_PR_SET_PDEATHSIG = 1


def is_worthwhile() -> bool:
    """Tell whether there is a second core, and a system that ends the helper together with its parent."""
    return sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1


class Helper:
    """Runs programs over batches; every second one in a process of its own, which the first one starts."""

    def __init__(self) -> None:
        self._to = self._from = -1
        self._process = 0

    def first_outputs(self, program: str, texts: Sequence[str]) -> Iterator[JsonText]:
        """Give the first output of a program for each text, in their order.

        Raises:
            ExpressionError: The program failed on one of them.
        """
        if self._to < 0:
            self._start()
        for at in range(0, len(texts), 2):
            pair = texts[at : at + 2]
            if len(pair) == 2:
                self._send(program.encode(), pair[0].encode("utf-8", "surrogatepass"))
            own, error = None, None
            try:
                own = next(outputs(program, pair[-1]))
            except ExpressionError as found:
                error = found
            if len(pair) == 2:
                yield self._received()
            if error is not None:
                raise error
            assert own is not None
            yield own

    def close(self) -> None:
        """End the second process and wait for that, so that nobody else has to."""
        if self._process:
            os.close(self._to)
            os.close(self._from)
            os.waitpid(self._process, 0)
        self._to = self._from = -1
        self._process = 0

    def _start(self) -> None:
        reads, self._to = os.pipe()
        self._from, writes = os.pipe()
        parent = os.getpid()
        self._process = os.fork()
        if self._process == 0:
            os.close(self._to)
            os.close(self._from)
            _serve(reads, writes, parent)
        os.close(reads)
        os.close(writes)

    def _send(self, program: bytes, text: bytes) -> None:
        _write(self._to, b"P", program)
        _write(self._to, b"T", text)

    def _received(self) -> JsonText:
        kind, body = _read(self._from)
        if kind == b"X":
            raise failure(body.decode("utf-8", "replace"))
        return JsonText(body.decode("utf-8", "surrogatepass"))


def _serve(reads: int, writes: int, parent: int) -> NoReturn:
    """Answer until the other end is closed."""
    import ctypes

    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        while os.getppid() == parent:
            program = _read(reads)[1].decode()
            text = _read(reads)[1].decode("utf-8", "surrogatepass")
            try:
                _write(writes, b"A", next(outputs(program, text)).encode("utf-8", "surrogatepass"))
            except ExpressionError as error:
                _write(writes, b"X", error.reason.encode("utf-8", "replace"))
    finally:
        # Nothing of the process that was copied may run: neither its handlers nor its buffers.
        os._exit(0)


def _write(file: int, kind: bytes, body: bytes) -> None:
    rest = memoryview(_HEAD.pack(kind, len(body)) + body)
    while rest:
        rest = rest[os.write(file, rest) :]


def _read(file: int) -> tuple[bytes, bytes]:
    kind, size = _HEAD.unpack(_read_exactly(file, _HEAD.size))
    return kind, _read_exactly(file, size)


def _read_exactly(file: int, size: int) -> bytes:
    pieces: list[bytes] = []
    while size:
        piece = os.read(file, min(size, 1 << 20))
        if not piece:
            raise BoundExceeded("the query", "its second process ended: out of memory, or too deep", "Ask for less.")
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
