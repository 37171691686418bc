"""Count lines and records at the speed of memory: windows are searched, no Python step is taken for each line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from kmnb.core.index import CHECK_BYTES, Entry, IndexBuilder

Blank = Literal["space", "empty"]
_BLANK: dict[Blank, re.Pattern[bytes]] = {
    "space": re.compile(rb"\n[ \t\r\v\f]*(?=\n)"),
    "empty": re.compile(rb"\n\r?(?=\n)"),
}
_COMMENT = re.compile(rb"\n[ \t\r\v\f]*#")


def _is_space(line: bytes) -> bool:
    return not line or line.isspace()


def _is_empty(line: bytes) -> bool:
    return not line or line == b"\r"


_IS_BLANK: dict[Blank, Callable[[bytes], bool]] = {"space": _is_space, "empty": _is_empty}


def filled_lines(body: bytes) -> int:
    """Count the lines of a text that hold more than their line end."""
    empty = len(_BLANK["empty"].findall(body)) + body.startswith((b"\n", b"\r\n"))
    rest = body[body.rfind(b"\n") + 1 :]
    return body.count(b"\n") - empty + (not _is_empty(rest))


class LineCounter:
    """Count lines and lines that are not blank, and note where lines begin.

    Args:
        indexed: Whether places are noted.
        blank: Which lines are blank: those of white space only, only those that hold nothing, or None: do not ask.
        comments: Whether lines that begin with ``#`` after white space are counted.
    """

    def __init__(self, *, indexed: bool, blank: Blank | None = "space", comments: bool = False) -> None:
        self._asks = blank is not None
        self._pattern, self._is_blank = _BLANK[blank or "space"], _IS_BLANK[blank or "space"]
        self._comments = comments
        self.comments = 0
        self._builder = IndexBuilder() if indexed else None
        self._newlines = self._blank = self._size = 0
        self._last = b"\n"
        self._edge = b""
        self._dark = False

    @property
    def lines(self) -> int:
        """Number of lines so far, an unfinished last one included."""
        return self._newlines + (self._last != b"\n")

    @property
    def filled(self) -> int:
        """Number of lines so far that hold more than white space."""
        return self.lines - self._blank - (self._last != b"\n" and not self._dark)

    @property
    def closed(self) -> int:
        """Number of filled lines so far that have ended."""
        return self.filled - (self._last != b"\n" and self._dark)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Places of lines found so far; none begins at the very end."""
        found = self._builder.entries if self._builder else []
        if found and found[-1].offset >= self._size:
            found = found[:-1]
        return tuple(found)

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        if not block:
            return
        if self._asks:
            self._count_blank(block)
        if self._builder:
            self._note(block, self._builder)
        else:
            self._newlines += block.count(b"\n")
        self._size += len(block)
        self._last = block[-1:]
        self._edge = (self._edge + block[-CHECK_BYTES:])[-CHECK_BYTES:]

    def _note(self, block: bytes, builder: IndexBuilder) -> None:
        at = 0
        while builder.wanted - self._size < len(block):
            # A line that begins at the wanted byte ends its predecessor one byte earlier.
            found = block.find(b"\n", max(builder.wanted - self._size - 1, at))
            if found < 0:
                break
            self._newlines += block.count(b"\n", at, found + 1)
            at = found + 1
            before = block[max(0, at - CHECK_BYTES) : at]
            if len(before) < CHECK_BYTES:
                before = (self._edge + before)[-CHECK_BYTES:]
            builder.add(self._size + at, self._newlines, before)
        self._newlines += block.count(b"\n", at)

    def _count_blank(self, block: bytes) -> None:
        first = block.find(b"\n")
        if self._comments:
            self._count_comments(block, first)
        if first < 0:
            self._dark = self._dark or not self._is_blank(block)
            return
        if not self._dark and self._is_blank(block[:first]):
            self._blank += 1
        self._blank += len(self._pattern.findall(block, first))
        self._dark = not self._is_blank(block[block.rfind(b"\n") + 1 :])

    def _count_comments(self, block: bytes, first: int) -> None:
        start = block[: first if first >= 0 else len(block)]
        if not self._dark and start.lstrip().startswith(b"#"):
            self.comments += 1
        if first >= 0:
            self.comments += len(_COMMENT.findall(block, first))
