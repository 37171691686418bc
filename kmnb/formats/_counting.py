"""Count lines and records at the speed of memory: windows are searched, no Python step is taken for each line."""

from __future__ import annotations

from kmnb.core.index import CHECK_BYTES, Entry, IndexBuilder
from kmnb.formats._line_scan import IS_BLANK, PATTERNS, Blank, Scan, is_empty, scan_block

_MARK = b"\xef\xbb\xbf"


def filled_lines(body: bytes) -> int:
    """Count the lines of a text that hold more than their line end."""
    empty = len(PATTERNS["empty"].findall(body)) + body.startswith((b"\n", b"\r\n"))
    rest = body[body.rfind(b"\n") + 1 :]
    return body.count(b"\n") - empty + (not is_empty(rest))


class RecordPlaces:
    """Notes where some records begin while the text passes by in blocks."""

    def __init__(self) -> None:
        self._builder = IndexBuilder()
        self._size = 0

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Places found so far; none begins at the very end."""
        found = self._builder.entries
        return tuple(found[:-1] if found and found[-1].offset >= self._size else found)

    @property
    def is_welcome(self) -> bool:
        """Whether a place at the end of what has passed by is far enough from the last one."""
        return self._builder.wanted <= self._size

    def passed(self, size: int) -> None:
        """Hear that so many bytes have passed by."""
        self._size += size

    def note(self, block: bytes, rest: int, number: int) -> None:
        """Note the record that is under way at the end of a block.

        Args:
            block: The last block.
            rest: How many bytes ago it begins.
            number: Its number, from 0.
        """
        at = len(block) - rest
        if at >= CHECK_BYTES and self._size - rest >= self._builder.wanted:
            self._builder.add(self._size - rest, number, block[at - CHECK_BYTES : at])


class LineCounter:
    """Count lines and lines that are not blank, and note where lines begin.

    Args:
        indexed: Whether places are noted.
        blank: Which lines are blank: those of white space only, only those that hold nothing, or None: do not ask.
        comments: Whether lines that begin with ``#`` after white space are counted.
    """

    def __init__(self, *, indexed: bool, blank: Blank | None = "space", comments: bool = False) -> None:
        self._kind = blank
        self._is_blank = IS_BLANK[blank or "space"]
        self._comments = comments
        self.comments = 0
        self._builder = IndexBuilder() if indexed else None
        self._newlines = self._blank = self._size = 0
        self._last = b"\n"
        self._edge = b""
        self._open, self._dark, self._is_first = b"", False, True

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
        scan = scan_block(block, self._size)
        if self._kind is not None:
            self._count_blank(block, scan, self._kind)
        if self._builder:
            self._note(block, scan, self._builder)
        else:
            self._newlines += scan.newlines(0, len(block))
        self._size += len(block)
        self._last = block[-1:]
        self._edge = (self._edge + block[-CHECK_BYTES:])[-CHECK_BYTES:]

    def _note(self, block: bytes, scan: Scan, builder: IndexBuilder) -> None:
        at = 0
        while builder.wanted - self._size < len(block):
            # A line that begins at the wanted byte ends its predecessor one byte earlier.
            found = block.find(b"\n", max(builder.wanted - self._size - 1, at))
            if found < 0:
                break
            self._newlines += scan.newlines(at, found + 1)
            at = found + 1
            before = block[max(0, at - CHECK_BYTES) : at]
            if len(before) < CHECK_BYTES:
                before = (self._edge + before)[-CHECK_BYTES:]
            builder.add(self._size + at, self._newlines, before)
        self._newlines += scan.newlines(at, len(block))

    def _count_blank(self, block: bytes, scan: Scan, kind: Blank) -> None:
        first = block.find(b"\n")
        if self._comments:
            start = self._unmarked(self._open + block[: first if first >= 0 else len(block)])
            self.comments += scan.comments() + (not self._dark and start.lstrip().startswith(b"#"))
        if first < 0:
            self._open_line(block)
            return
        if not self._dark and self._is_blank(self._unmarked(self._open + block[:first])):
            self._blank += 1
        self._blank += scan.blanks(kind)
        self._open, self._dark, self._is_first = b"", False, False
        self._open_line(block[block.rfind(b"\n") + 1 :])

    def _open_line(self, piece: bytes) -> None:
        """Go on with a line whose end was not seen; what matters is only whether it is blank so far."""
        if self._dark:
            return
        text = self._open + piece
        if self._is_first and _MARK.startswith(text):
            self._open = text
            return
        # Two bytes of a blank line tell as much as all of it.
        text = self._unmarked(text)
        self._dark = not self._is_blank(text)
        self._open = b"" if self._dark else text[:2]

    def _unmarked(self, line: bytes) -> bytes:
        """Take a byte order mark off the first line: alone it makes no record."""
        return line.removeprefix(_MARK) if self._is_first else line
