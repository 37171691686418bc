"""What a line is, for every operation: it ends at LF, a CR right before that is dropped, nothing else breaks it.

Bare CR, form feed, U+0085 and U+2028 are content. A last line without LF counts; an empty content has no line. A
line longer than the cap is cut, never joined with another, and reported as a problem.
"""

from __future__ import annotations

from kmnb.core.bounds import LINE_MAX_BYTES
from kmnb.core.records import Batch, Problem


def drop_return(line: bytes) -> bytes:
    """Take the CR off a line that ended in LF."""
    return line[:-1] if line.endswith(b"\r") else line


class LineSplitter:
    """Cut content into lines, fed in blocks of any size.

    Memory is bounded by the line cap plus one block, however long a line is.

    Args:
        limit_bytes: Longest line that is kept whole; of a longer one this many bytes are kept.
        first_line: Number of the line where the text begins, from 0.
    """

    columns = None

    def __init__(self, *, limit_bytes: int = LINE_MAX_BYTES, first_line: int = 0) -> None:
        self._limit = limit_bytes
        self._parts: list[bytes] = []
        self._held = 0
        self._length = 0
        self._last = b""
        self._count = first_line

    def resume(self, number: int, line: int) -> LineSplitter:
        """Make a splitter that goes on with a line."""
        return LineSplitter(limit_bytes=self._limit, first_line=line)

    def feed(self, block: bytes) -> Batch:
        """Take the next block and give the lines that ended in it."""
        first, found, rest = block.partition(b"\n")
        if not found:
            self._hold(block)
            return Batch(start=self._count)
        start, problems = self._count, list[Problem]()
        self._hold(first)
        rows = [self._close(problems, ended=True)]
        body, found, tail = rest.rpartition(b"\n")
        if found:
            rows.extend(self._whole(body, problems))
        self._hold(tail)
        return Batch(rows, start, problems)

    def finish(self) -> Batch:
        """Give the last line where it had no LF."""
        start, problems = self._count, list[Problem]()
        if not self._length:
            return Batch(start=start)
        return Batch([self._close(problems, ended=False)], start, problems)

    def _whole(self, body: bytes, problems: list[Problem]) -> list[bytes]:
        """Cut a stretch that holds whole lines only; its last LF is already taken off."""
        lines = body.split(b"\n")
        if b"\r\n" in body or body.endswith(b"\r"):
            lines = [line[:-1] if line.endswith(b"\r") else line for line in lines]
        if len(body) > self._limit:
            lines = [self._cut(line, self._count + at, problems) for at, line in enumerate(lines)]
        self._count += len(lines)
        return lines

    def _cut(self, line: bytes, number: int, problems: list[Problem]) -> bytes:
        if len(line) <= self._limit:
            return line
        problems.append(_too_long(number, len(line), self._limit))
        return line[: self._limit]

    def _hold(self, piece: bytes) -> None:
        if not piece:
            return
        self._length += len(piece)
        self._last = piece[-1:]
        # One byte over the cap is kept, so that a CR at the cap can still be dropped.
        room = self._limit + 1 - self._held
        if room > 0:
            self._parts.append(piece[:room])
            self._held += min(room, len(piece))

    def _close(self, problems: list[Problem], *, ended: bool) -> bytes:
        length = self._length - (ended and self._last == b"\r")
        line = b"".join(self._parts)[: min(length, self._limit)]
        if length > self._limit:
            problems.append(_too_long(self._count, length, self._limit))
        self._parts, self._held, self._length, self._last = [], 0, 0, b""
        self._count += 1
        return line


def _too_long(number: int, length: int, limit: int) -> Problem:
    return Problem(number + 1, f"the line has {length:,} bytes; the first {limit:,} are kept")
