"""Count JSON records while content passes by, and note where some begin; records are found and never kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kmnb.core.bounds import LINE_MAX_BYTES
from kmnb.core.index import CHECK_BYTES, Entry, IndexBuilder
from kmnb.core.lenient import mending
from kmnb.core.walks import DocumentEnds, Event, Found, Records
from kmnb.formats._counting import LineCounter, RecordPlaces


class ListCounter:
    """Counts the elements of a document's list.

    Args:
        splitter: Cuts the elements out; it has ``events(block)`` and ``last_events()``.
        indexed: Whether places are noted.
    """

    def __init__(self, splitter: Any, *, indexed: bool) -> None:
        self.lines: LineCounter | None = LineCounter(indexed=indexed, blank=None)
        self._splitter = splitter
        self._builder = IndexBuilder() if indexed else None
        self._count = 0

    @property
    def places(self) -> tuple[Entry, ...]:
        """Where some of the elements of the first document begin."""
        return tuple(self._builder.entries) if self._builder is not None else ()

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        self._pass(self._splitter.events(block))

    def finish(self) -> int:
        """Give the number of elements."""
        self._pass(self._splitter.last_events())
        return self._count

    def _pass(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, Records):
                self._note(event)
                self._count += len(event.rows)
            elif isinstance(event, Found):
                self._count += event.data != b"["
            elif isinstance(event, DocumentEnds) and self._builder is not None:
                # The next document is one of its own, though numbers go on in it.
                self._builder.close()

    def _note(self, event: Records) -> None:
        builder, offset = self._builder, event.offset
        if builder is None or offset is None or offset < builder.wanted or len(event.before) < CHECK_BYTES:
            return
        builder.add(offset, self._count, event.before)


class JsonLinesCounter:
    """Counts the lines that are one JSON document each."""

    def __init__(self, *, indexed: bool) -> None:
        import msgspec

        self._counter = LineCounter(indexed=indexed)
        self._noted = RecordPlaces() if indexed else None
        self.lines: LineCounter | None = self._counter
        self._decode_lines: Any = mending(msgspec.json.Decoder(msgspec.Raw).decode_lines)
        self._carry: list[bytes] = []
        self._rows = 0
        self._filled = 0
        self._is_first = True
        self._is_lost = False
        self._is_sure = True

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        if self._is_lost:
            # The rest of a line that is too long to be read is passed over.
            _, found, block = block.partition(b"\n")
            self._is_lost = not found
        start, cut = 0, block.rfind(b"\n") + 1
        if self._carry and cut:
            # Only the line that was begun is joined: to copy all of the block would take long.
            start = block.find(b"\n") + 1
            self._count_lines([self._unmarked(b"".join((*self._carry, block[: start - 1])))])
            self._carry = []
        if start < cut:
            self._count(block, start, cut)
        if cut < len(block):
            self._carry.append(block[cut:])
        if sum(map(len, self._carry)) > LINE_MAX_BYTES:
            self._carry, self._is_lost, self._is_sure = [], True, False
        if self._noted is not None:
            self._noted.passed(len(block))
        if self._noted is not None and not self._is_lost:
            self._noted.note(block, sum(map(len, self._carry)), self._counter.closed)

    @property
    def row_lines(self) -> int | None:
        """0 where each line is a record; None where some are blank."""
        return 0 if self._counter.filled == self._counter.lines else None

    @property
    def places(self) -> tuple[Entry, ...]:
        """Where some of the records begin, where lines do not tell it."""
        return self._noted.entries if self._noted is not None and self.row_lines is None else ()

    @property
    def skipped(self) -> int:
        """Number of lines that are no document, at the end."""
        return max(0, self._counter.filled - self._rows)

    def finish(self) -> int:
        """Give the number of documents."""
        self._count_lines([self._unmarked(b"".join(self._carry))])
        return self._rows

    def _unmarked(self, text: bytes) -> bytes:
        """Take a byte order mark off the beginning of the content."""
        is_first, self._is_first = self._is_first, False
        return text.removeprefix(b"\xef\xbb\xbf") if is_first else text

    def _count(self, block: bytes, start: int, end: int) -> None:
        """Count whole lines that end where the lines of the counter end."""
        text: bytes | memoryview = memoryview(block)[start:end]
        if self._is_first:
            text = self._unmarked(bytes(text))
        filled = self._counter.closed - self._filled if self._is_sure else -1
        found = self._documents(text)
        # As many documents as filled lines: each line is one. Else the lines are looked at one by one.
        if found is not None and found == filled and len(text) <= LINE_MAX_BYTES:
            self._rows += found
        else:
            self._count_lines(bytes(text).split(b"\n"))
        self._filled, self._is_sure = self._counter.closed, True

    def _count_lines(self, lines: list[bytes]) -> None:
        filled = [line for line in lines if line and not line.isspace()]
        self._filled += len(filled)
        self._rows += sum(len(line) <= LINE_MAX_BYTES and self._documents(line) == 1 for line in filled)

    def _documents(self, text: bytes | memoryview) -> int | None:
        try:
            return len(self._decode_lines(text))
        except (ValueError, RecursionError):
            return None
