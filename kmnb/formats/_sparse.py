"""A file of which only some ranges are at hand; a missing one is asked for and the reading done again.

Readers of columnar files want a file object, while formats here do no I/O. So a reader is run over what is there;
where it meets a hole the hole is noted, asked for, filled, and the step repeated.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Callable, Generator
from typing import TypeVar

from kmnb.core.records import Need
from kmnb.errors import StoreError

READ_AHEAD_BYTES = 65_536
"""Smallest range that is asked for; readers ask for a few bytes at a time."""
T = TypeVar("T")


class Hole(Exception):
    """The bytes are not at hand."""


class SparseFile(io.RawIOBase):
    """A seekable file with holes.

    Args:
        size: Its size in bytes.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._at = 0
        self._starts: list[int] = []
        self._pieces: list[bytes] = []
        self.wanted: Need | None = None

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """Any place can be read."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place; see :meth:`io.IOBase.seek`."""
        self._at = offset + (0, self._at, self.size)[whence]
        return self._at

    def tell(self) -> int:
        """Give the place."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Read, or note the hole and raise it."""
        end = self.size if size is None or size < 0 else min(self.size, self._at + size)
        found = self._range(self._at, end)
        self._at = end
        return found

    def fill(self, start: int, data: bytes) -> None:
        """Put bytes into a hole."""
        place = bisect_right(self._starts, start)
        self._starts.insert(place, start)
        self._pieces.insert(place, data)

    def forget(self) -> None:
        """Make everything a hole again."""
        self._starts.clear()
        self._pieces.clear()

    def _range(self, start: int, end: int) -> bytes:
        parts: list[bytes] = []
        while start < end:
            place = bisect_right(self._starts, start) - 1
            # What begins last counts, and what is below it behind its end.
            border = min(end, self._starts[place + 1]) if place + 1 < len(self._starts) else end
            while place >= 0 and start - self._starts[place] >= len(self._pieces[place]):
                place -= 1
            if place < 0:
                self.wanted = self._hole(start, end)
                raise Hole
            offset = start - self._starts[place]
            parts.append(self._pieces[place][offset : offset + border - start])
            start += len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _hole(self, start: int, end: int) -> Need:
        after = bisect_right(self._starts, start)
        border = self._starts[after] if after < len(self._starts) else self.size
        return Need(start, min(max(end, start + READ_AHEAD_BYTES), border, self.size))


def reading(file: SparseFile, step: Callable[[], T]) -> Generator[Need, bytes | None, T]:
    """Run a step over a file with holes until nothing is missing.

    Args:
        file: The file that the step reads.
        step: What is done; it may be done several times and must not matter the second time.

    Returns:
        What the step gave.

    Raises:
        StoreError: Fewer bytes came than were asked for.
    """
    while True:
        file.wanted = None
        try:
            result = step()
        except Exception:
            # The reader may wrap the exception of the hole in one of its own.
            if file.wanted is None:
                raise
        need = file.wanted
        if need is None:
            return result
        yield from fetching(file, need)


def fetching(file: SparseFile, need: Need) -> Generator[Need, bytes | None, None]:
    """Ask for a range and put it into the file."""
    data = yield need
    if data is None or len(data) != need.end - need.start:
        raise StoreError("the content", f"bytes {need.start} to {need.end} could not be read whole")
    file.fill(need.start, data)
