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

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        if self._is_lost:
            # The rest of a line that is too long to be read is passed over.
            _, found, block = block.partition(b"\n")
            self._is_lost = not found
        cut = block.rfind(b"\n") + 1
        if cut:
            self._count(b"".join((*self._carry, block[:cut])), self._counter.closed)
            self._carry = []
        if cut < len(block):
            self._carry.append(block[cut:])
        if sum(map(len, self._carry)) > LINE_MAX_BYTES:
            self._carry, self._is_lost = [], True

    def finish(self) -> int:
        """Give the number of documents."""
        self._count(b"".join(self._carry), self._counter.filled)
        return self._rows

    def _count(self, body: bytes, filled: int) -> None:
        """Count whole lines; ``filled`` is the number of filled lines up to their end."""
        text = body.removeprefix(b"\xef\xbb\xbf") if self._is_first else body
        self._is_first = False
        filled, self._filled = filled - self._filled, filled
        found = self._documents(text)
        # As many documents as filled lines: each line is one. Else the lines are looked at one by one.
        if found is not None and found == filled and len(text) <= LINE_MAX_BYTES:
            self._rows += found
            return
        lines = (line for line in text.split(b"\n") if line and not line.isspace())
        self._rows += sum(len(line) <= LINE_MAX_BYTES and self._documents(line) == 1 for line in lines)

    def _documents(self, text: bytes) -> int | None:
        try:
            return len(self._decoder.decode_lines(text))
        except (ValueError, RecursionError):
            return None
