"""Count lines and records at the speed of memory: windows are searched, no Python step is taken for each line."""

from __future__ import annotations

import re

from kmnb.core.bounds import LINE_MAX_BYTES
from kmnb.core.index import CHECK_BYTES, Entry, IndexBuilder
from kmnb.formats._csv_records import RecordCutter

_BLANK = re.compile(rb"\n[ \t\r\v\f]*(?=\n)")
_EMPTY = re.compile(rb"\n\r?(?=\n)")


class LineCounter:
    """Count lines and lines that are not blank, and note where lines begin.

    Args:
        indexed: Whether places are noted.
    """

    def __init__(self, *, indexed: bool) -> None:
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
        if first < 0:
            self._dark = self._dark or not block.isspace()
            return
        if not self._dark and not block[:first].strip():
            self._blank += 1
        self._blank += len(_BLANK.findall(block, first))
        rest = block[block.rfind(b"\n") + 1 :]
        self._dark = bool(rest) and not rest.isspace()


class RecordCounter:
    """Count the records of a delimited text; empty lines are none, quotes may hold line breaks.

    Stretches without a quote are counted without being cut into lines.

    Args:
        delimiter: One character between cells.
        quote: The quote character; empty for none.
        newline: What ends a record.
    """

    def __init__(self, delimiter: str, quote: str, newline: bytes = b"\n") -> None:
        self._cutter, self._quote, self._newline = RecordCutter(delimiter, quote), quote.encode(), newline
        self._carry = b""
        self.records = 0

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        data = self._carry + block if self._carry else block
        cut = data.rfind(self._newline) + 1
        if not cut and len(data) > LINE_MAX_BYTES:
            cut = len(data)
        self._carry = data[cut:]
        if cut:
            self._count(data[:cut] if self._carry else data)

    def finish(self) -> int:
        """Count what is left and give the number of records, a header included."""
        if self._carry:
            self._count(self._carry)
        self.records += self._cutter.is_open
        return self.records

    def _count(self, body: bytes) -> None:
        if not self._cutter.is_open and (not self._quote or self._quote not in body):
            self.records += self._plain(body)
            return
        lines = body.split(self._newline)
        for line in lines if lines[-1] else lines[:-1]:
            if self._cutter.is_open or self._quote in line:
                self.records += self._cutter.take(line) is not None
                if self._cutter.open_bytes > LINE_MAX_BYTES:
                    self._cutter.release()
                    self.records += 1
            else:
                self.records += bool(line.removesuffix(b"\r"))

    def _plain(self, body: bytes) -> int:
        if self._newline == b"\r":
            return sum(map(bool, body.split(b"\r")))
        # The newline before the body ends the line before it.
        empty = len(_EMPTY.findall(body)) + body.startswith((b"\n", b"\r\n"))
        open_end = not body.endswith(b"\n") and bool(body.rpartition(b"\n")[2].removesuffix(b"\r"))
        return body.count(b"\n") - empty + open_end
