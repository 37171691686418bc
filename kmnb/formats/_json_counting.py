"""Count NDJSON records while content passes by; documents are found by the decoder and never kept."""

from __future__ import annotations

from typing import Any

from kmnb.core.bounds import LINE_MAX_BYTES
from kmnb.formats._counting import LineCounter


class JsonLinesCounter:
    """Counts the lines that are one JSON document each."""

    def __init__(self, *, indexed: bool) -> None:
        import msgspec

        self._counter = LineCounter(indexed=indexed)
        self.lines: LineCounter | None = self._counter
        self._decoder: Any = msgspec.json.Decoder(msgspec.Raw)
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
            return len(self._decoder.decode_lines(text))
        except (ValueError, RecursionError):
            return None
