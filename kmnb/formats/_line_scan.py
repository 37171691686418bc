"""Find line ends, blank lines and comments in a block: plainly, or in whole-array steps where content is long."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, Protocol

from kmnb.core.bounds import KIB, MIB

Blank = Literal["space", "empty"]
"""Which lines are blank: those of white space only, or only those that hold nothing."""
PATTERNS: dict[Blank, re.Pattern[bytes]] = {
    "space": re.compile(rb"\n[ \t\r\v\f]*(?=\n)"),
    "empty": re.compile(rb"\n\r?(?=\n)"),
}
VECTOR_FROM_BYTES = 2 * MIB
"""Content of that size is worth importing numpy, which costs a tenth of a second."""
VECTOR_BLOCK_BYTES = 64 * KIB
_COMMENT = re.compile(rb"\n[ \t\r\v\f]*#")
_FEW = 1000


def is_space(line: bytes) -> bool:
    """Tell whether a line holds white space at most."""
    return not line or line.isspace()


def is_empty(line: bytes) -> bool:
    """Tell whether a line holds nothing but its line end."""
    return not line or line == b"\r"


IS_BLANK: dict[Blank, Callable[[bytes], bool]] = {"space": is_space, "empty": is_empty}


class Scan(Protocol):
    """Answers about one block."""

    def newlines(self, start: int, end: int) -> int:
        """Count line ends between two places, the second exclusive."""

    def blanks(self, blank: Blank) -> int:
        """Count blank lines that begin and end within the block."""

    def comments(self) -> int:
        """Count lines that begin with ``#`` after white space, the first one of the block left out."""


class PlainScan:
    """Searches a block with what bytes and patterns offer."""

    def __init__(self, block: bytes) -> None:
        self._block = block

    def newlines(self, start: int, end: int) -> int:
        """Count line ends."""
        return self._block.count(b"\n", start, end)

    def blanks(self, blank: Blank) -> int:
        """Count blank lines."""
        return len(PATTERNS[blank].findall(self._block))

    def comments(self) -> int:
        """Count comments."""
        return len(_COMMENT.findall(self._block))


class VectorScan:
    """Compares all bytes of a block at once, and looks closer only where a line begins with white space."""

    def __init__(self, block: bytes) -> None:
        import numpy

        self._block = block
        self._count, self._places = numpy.count_nonzero, numpy.flatnonzero
        self._data = numpy.frombuffer(block, dtype=numpy.uint8)
        self._ends = self._data == 10

    @cached_property
    def _starts(self) -> Any:
        """Line ends that white space or another line end follows."""
        return self._ends[:-1] & (self._data[1:] <= 32)

    def newlines(self, start: int, end: int) -> int:
        """Count line ends."""
        return int(self._count(self._ends[start:end]))

    def blanks(self, blank: Blank) -> int:
        """Count blank lines."""
        return self._matches(PATTERNS[blank])

    def comments(self) -> int:
        """Count comments."""
        return self._plain_comments() + self._matches(_COMMENT)

    def _matches(self, pattern: re.Pattern[bytes]) -> int:
        """Count the matches of a pattern that begins with a line end followed by white space or another line end."""
        found = int(self._count(self._starts))
        if found == 0:
            return 0
        if found < _FEW:
            match = pattern.match
            return sum(match(self._block, place) is not None for place in self._places(self._starts).tolist())
        return len(pattern.findall(self._block)) - (self._plain_comments() if pattern is _COMMENT else 0)

    def _plain_comments(self) -> int:
        return int(self._count(self._ends[:-1] & (self._data[1:] == 35)))


def expect_arrays() -> None:
    """Hear that the import of arrays costs nothing here, since it was done ahead."""
    global _arrays_from  # noqa: PLW0603 - modules are loaded once a process, too
    _arrays_from = 0


_arrays_from = VECTOR_FROM_BYTES


def arrays_pay(seen: int) -> bool:
    """Tell whether work in arrays is worth their import.

    Args:
        seen: How many bytes there are so far.
    """
    return seen >= _arrays_from


def scan_block(block: bytes, seen: int) -> Scan:
    """Choose how to search a block.

    Args:
        block: The block.
        seen: How many bytes went before it.
    """
    if len(block) >= VECTOR_BLOCK_BYTES and arrays_pay(seen):
        return VectorScan(block)
    return PlainScan(block)
