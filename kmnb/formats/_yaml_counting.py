"""Count YAML documents and the elements of their lists without reading them."""

from __future__ import annotations

import re

from kmnb.core.splitter import LineSplitter

MARK = re.compile(rb"---(?:[ \t]|\Z)|\.\.\.(?:[ \t]|\Z)")
"""A line that separates documents."""


class MarkCounter:
    """Counts documents by their marks, and the elements of their lists by dashes."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self.records = 0
        self._dash: bytes | None = None
        self._in_items = self._has_content = False
        self._elements = 0

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        for line in self._lines.feed(block).rows:
            self._look(line)

    def finish(self) -> None:
        """Hear that the content ended; ``records`` is known then."""
        for line in self._lines.finish().rows:
            self._look(line)
        self._close()

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
