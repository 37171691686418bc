"""Pages of lines: collected under a budget of bytes, rendered in the peer's text form."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kmnb.core.bounds import LINE_MAX_BYTES

POSITION_RESERVE_BYTES = 96
"""Bytes of the cap kept free for the position line, when the cap is larger than that."""
_SHORT_RESERVE_BYTES, _SHORT_CAP_BYTES = 32, 48


@dataclass(frozen=True, slots=True)
class Line:
    """One line, or the beginning of one, that was collected."""

    number: int
    """Number of the line, from 0."""
    offset: int
    """Byte offset of the first collected byte in the decoded content."""
    data: bytes
    """What was collected of it, without its LF."""
    size: int
    """Size in bytes from ``offset`` on, without its LF; at least that many when ``is_open``."""
    is_open: bool = False
    """Whether the end of the line was not seen."""
    has_end: bool = True
    """Whether LF ended it; the last line of a content may lack one."""

    @property
    def is_cut(self) -> bool:
        """Whether bytes of the line are missing."""
        return len(self.data) < self.size or self.is_open

    @property
    def shown(self) -> bytes:
        """What a reader sees: a CR before the LF is dropped."""
        return self.data[:-1] if self.has_end and not self.is_cut and self.data.endswith(b"\r") else self.data


def body_budget(max_bytes: int) -> int:
    """Bytes that lines may take of a cap, so that the position line still fits."""
    if max_bytes > POSITION_RESERVE_BYTES:
        return max_bytes - POSITION_RESERVE_BYTES
    return max_bytes - _SHORT_RESERVE_BYTES if max_bytes >= _SHORT_CAP_BYTES else max_bytes


def position_line(first: int, shown: int, total: int, *, at_least: bool = False) -> str:
    """Write the line that says where a page stands.

    Args:
        first: Number of the first line of the page, from 0.
        shown: How many lines the page has.
        total: How many lines the artifact has.
        at_least: Whether there may be more than ``total``.

    Returns:
        The peer's form, without its line end.
    """
    of = f"of at least {total}" if at_least else f"of {total}"
    if shown:
        return f"[lines {first}-{first + shown - 1} {of}]"
    has = f"at least {total}" if at_least else str(total)
    return f"[no lines from line {first}; the artifact has {has} lines]"


def text_size(data: bytes) -> int:
    """Size in UTF-8 of the text that bytes are shown as; bytes that are no UTF-8 become U+FFFD, which takes three."""
    if data.isascii():
        return len(data)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return len(data.decode("utf-8", "replace").encode())
    return len(data)


def utf8_cut(data: bytes, size: int) -> bytes:
    """Cut bytes so that the text they are shown as has at most ``size`` bytes, not inside a character.

    Args:
        data: Bytes, not necessarily UTF-8.
        size: Most bytes of the shown text; at least one byte of the data is kept.

    Returns:
        The beginning of the data.
    """
    end = min(len(data), max(size, 1))
    while end := _boundary(data, end):
        shown = text_size(data[:end])
        if shown <= size:
            return data[:end]
        end = min(end - 1, end * size // shown)
    return data[: _first_character(data)]


def _boundary(data: bytes, end: int) -> int:
    """Move an end back to where no character is cut; never forward, so that whoever repeats it comes to an end."""
    for place in range(end, max(end - 4, -1), -1):
        if place in (0, len(data)) or data[place] & 0xC0 != 0x80:
            return place
    return end


def _first_character(data: bytes) -> int:
    place = min(1, len(data))
    while place < min(len(data), 4) and data[place] & 0xC0 == 0x80:
        place += 1
    return place


def nth_newline(block: bytes, count: int, start: int = 0) -> int:
    """Find where the ``count``-th LF of a block stands; the block must have that many.

    Args:
        block: Any bytes.
        count: Which LF, from 1.
        start: Where to begin looking.

    Returns:
        Its index. Halving keeps the work linear in the block and in C.
    """
    end = len(block)
    while end - start > 64:
        middle = (start + end) // 2
        before = block.count(b"\n", start, middle)
        if before >= count:
            end = middle
        else:
            count, start = count - before, middle
    place = start - 1
    for _ in range(count):
        place = block.index(b"\n", place + 1)
    return place


class LineCollector:
    """Takes blocks in order and keeps the lines of one stretch, as many as a budget of bytes allows.

    Args:
        start: First line wanted, from 0.
        limit: Most lines wanted; None for all that fit.
        max_bytes: Most bytes of lines, line ends counted in.
    """

    def __init__(self, start: int, limit: int | None, max_bytes: int) -> None:
        self.start, self.limit, self.budget = start, limit, max_bytes
        self.lines: list[Line] = []
        self.number = 0
        self.offset = 0
        self.is_full = limit == 0
        self.is_over = False
        self.long_line: int | None = None
        self._spent = 0
        self._head: list[bytes] = []
        self._held = 0
        self._size = 0

    def begin(self, number: int, offset: int) -> None:
        """Say which line the first block begins with, and at which byte."""
        self.number, self.offset = number, offset

    @property
    def is_satisfied(self) -> bool:
        """Whether more input can only tell the number of lines, or the size of a line that is too long."""
        return self.is_full or self._held > self.budget - self._spent

    @property
    def seen(self) -> int:
        """Number of lines met so far, the one under way included."""
        return self.number + (1 if self._size else 0)

    @property
    def next_spot(self) -> tuple[int, int]:
        """Line number and byte offset where the next page begins."""
        if not self.lines:
            return self.start, -1
        last = self.lines[-1]
        if last.is_cut:
            return last.number, last.offset + len(last.data)
        return last.number + 1, last.offset + last.size + 1

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        place = 0
        if self.number < self.start:
            place = self._skip(block)
        while not self.is_full and place < len(block):
            place = self._take(block, place)
        if place < len(block):
            self._count(block, place)
        self.offset += len(block)

    def finish(self) -> None:
        """Close the line under way: the content ended."""
        if self._size:
            self._close(is_last=True)

    def stop(self) -> None:
        """Close the line under way though its end was not seen."""
        if self._size and not self.is_full and self.number >= self.start:
            self._keep(Line(self.number, self.offset - self._size, b"".join(self._head), self._size, is_open=True))

    def _skip(self, block: bytes) -> int:
        found = block.count(b"\n")
        missing = self.start - self.number
        if found < missing:
            self.number += found
            last = block.rfind(b"\n")
            self._size = self._size + len(block) if last < 0 else len(block) - last - 1
            return len(block)
        self.number, self._size = self.start, 0
        return nth_newline(block, missing) + 1

    def _take(self, block: bytes, place: int) -> int:
        end = block.find(b"\n", place)
        stop = len(block) if end < 0 else end
        room = self.budget + 1 - self._held
        if room > 0:
            piece = block[place : min(stop, place + room)]
            self._head.append(piece)
            self._held += len(piece)
        self._size += stop - place
        if end < 0:
            return len(block)
        self._close(end_offset=self.offset + end)
        return end + 1

    def _close(self, *, end_offset: int | None = None, is_last: bool = False) -> None:
        if not self.is_full and self.number >= self.start:
            end = self.offset if end_offset is None else end_offset
            data = b"".join(self._head)
            self._keep(Line(self.number, end - self._size, data, self._size, has_end=not is_last))
        if self._size > LINE_MAX_BYTES and self.long_line is None:
            self.long_line = self.number
        self.number += 1
        self._head, self._held, self._size = [], 0, 0
        if is_last:
            self.is_full = True

    def _keep(self, line: Line) -> None:
        room = min(self.budget - self._spent - 1, LINE_MAX_BYTES)
        size = text_size(line.shown)
        if not line.is_cut and size <= room:
            self.lines.append(line)
            self._spent += size + 1
            self.is_full = self.limit is not None and len(self.lines) >= self.limit
            return
        self.is_full = self.is_over = True
        if not self.lines:
            self.lines.append(replace(line, data=utf8_cut(line.data, max(room, 1))))

    def _count(self, block: bytes, place: int) -> None:
        """Count lines that are not wanted any more."""
        first = block.find(b"\n", place)
        if self._size + (first if first >= 0 else len(block)) - place > LINE_MAX_BYTES and self.long_line is None:
            self.long_line = self.number
        found = block.count(b"\n", place)
        self.number += found
        last = block.rfind(b"\n", place)
        self._size = self._size + len(block) - place if last < 0 else len(block) - last - 1
