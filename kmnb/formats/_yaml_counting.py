"""Count YAML documents and the elements of their lists without reading them."""

from __future__ import annotations

import re

MARK = re.compile(rb"---(?:[ \t]|\Z)|\.\.\.(?:[ \t]|\Z)")
"""A line that separates documents."""
_STEP_BYTES = 65_536
_TOP_LINE = re.compile(rb"\n(?:[^ \-#\r\n]|---)")


class MarkCounter:
    """Counts documents by their marks, and the elements of their lists by dashes."""

    def __init__(self) -> None:
        self._carry = b""
        self.records = 0
        self._dash: bytes | None = None
        self._in_items = self._has_content = False
        self._elements = 0

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        # In small steps, since a step with a line to look at is looked at whole.
        for at in range(0, len(block), _STEP_BYTES):
            data = self._carry + block[at : at + _STEP_BYTES]
            cut = data.rfind(b"\n") + 1
            self._carry = data[cut:]
            if cut:
                self._take(data[:cut])

    def finish(self) -> None:
        """Hear that the content ended; ``records`` is known then."""
        self._take(self._carry)
        self._close()

    def _take(self, body: bytes) -> None:
        dash, text = self._dash, b"\n" + body
        if dash is None or _TOP_LINE.search(text):
            for line in body.split(b"\n"):
                self._look(line.removesuffix(b"\r"))
            return
        # The list goes on all through the body: its elements are the dashes at its own indentation.
        self._elements += text.count(b"\n" + dash + b"- ") + text.count(b"\n" + dash + b"-\n")

    def _look(self, line: bytes) -> None:
        first = line[:1]
        if first in (b"-", b".") and MARK.match(line):
            self._close()
            return
        bare = line.lstrip(b" ")
        if not bare or bare[:1] == b"#":
            return
        if not self._has_content or (first not in (b" ", b"-") and bare[:1] != b"-"):
            self._in_items = first == b"-" or line.rstrip() == b"items:"
            self._has_content = True
        if self._in_items and (bare[:2] == b"- " or bare == b"-"):
            dash = line[: len(line) - len(bare)]
            self._dash = dash if self._dash is None else self._dash
            self._elements += dash == self._dash

    def _close(self) -> None:
        if self._has_content:
            self.records += self._elements or 1
        self._dash, self._in_items, self._has_content, self._elements = None, False, False, 0
