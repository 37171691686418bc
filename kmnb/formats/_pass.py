"""The one pass over content: what is counted, kept and noted while it goes by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kmnb.core.index import Index
from kmnb.errors import KmnbError, clip
from kmnb.formats._counters import Counter, make_counter
from kmnb.formats._describe import describe
from kmnb.formats._description import Description
from kmnb.formats._detect import HEAD_BYTES, Detection, format_named
from kmnb.formats._encoding import AS_IS
from kmnb.formats._sections import SectionFilter, first_section

_TAIL_BYTES = 2048


class ContentPass:
    """Looks at stored bytes, decodes them, and counts.

    Args:
        found: What the beginning has told.
    """

    def __init__(self, found: Detection) -> None:
        self.found = found
        self.plugin = format_named(found.format)
        self._decoder = found.decoder()
        self._counter: Counter | None = None
        self._sections = SectionFilter()
        self.head = bytearray()
        self.tail = b""
        self.decoded = 0
        self.fault: KmnbError | None = None
        self._unread: KmnbError | None = None
        self._about: tuple[Description, KmnbError | None] | None = None
        self.rows: int | None = None
        self.lines: int | None = None

    @property
    def sections(self) -> list[str]:
        """Names of the ``[tool]`` sections of the text, where it has some."""
        return self._sections.names

    @property
    def left_out(self) -> Mapping[str, Any]:
        """What the number of records leaves out: records that cannot be used, and sections after the first."""
        skipped = getattr(self._counter, "skipped", 0) if self.rows is not None else 0
        names = [clip(name, 100) for name in self.sections[:2]] if len(self.sections) > 1 else []
        return {name: value for name, value in (("records", skipped), ("sections", names)) if value}

    @property
    def note(self) -> str:
        """Why content could not be decoded or cut into records; empty when it could."""
        fault = self.fault or self._unread
        return str(fault) if fault else ""

    @property
    def is_whole(self) -> bool:
        """Whether ``head`` is all of the decoded content."""
        return self.fault is None and self.decoded == len(self.head)

    def feed(self, block: bytes) -> None:
        """Take the next stored bytes."""
        if self.fault is not None:
            return
        if self.found.is_transparent and self._counter is not None and self._counter.lines is not None:
            self._counter.lines.feed(block)
        self._take(self._decoder.feed(block), block)
        if self._about is None and self.decoded > HEAD_BYTES and self._is_told_by_head:
            # Done while more content is on its way, not when everybody waits for the end.
            self._about = self._describe_head()

    def finish(self) -> None:
        """Hear that the content ended; ``rows`` and ``lines`` are known then."""
        if self.fault is None:
            self._take(self._decoder.finish(), b"")
        if self.fault is not None or self.plugin.kind == "binary":
            return
        self._counter = self._counter or make_counter(self.plugin, b"", indexed=False)
        self.lines = self._counter.lines.lines if self._counter.lines is not None else None
        self._unread = self._unread or self._end(self._counter)

    def _end(self, counter: Counter) -> KmnbError | None:
        try:
            if rest := self._sections.finish():
                counter.feed(rest)
            self.rows = counter.finish()
        except KmnbError as fault:
            return fault
        return None

    def describe(self) -> Description:
        """Tell what a preview needs."""
        own: Description | None = getattr(self._counter, "description", None)
        if own is not None or getattr(self.plugin, "is_binary", False):
            return own or Description("rows", shows_content=False)
        about, fault = self._about or self._describe_head()
        self._unread = self._unread or fault
        return about

    @property
    def _is_told_by_head(self) -> bool:
        return self.plugin.kind != "binary" and not getattr(self.plugin, "is_binary", False)

    def _describe_head(self) -> tuple[Description, KmnbError | None]:
        try:
            text, is_over = first_section(bytes(self.head))
            return describe(self.plugin, text, whole=self.is_whole or is_over), None
        except KmnbError as fault:
            return Description("records"), fault

    def index(self, size: int) -> Index | None:
        """Give the index of an object of that size; None where stored bytes are not text."""
        lines = self._counter.lines if self._counter is not None else None
        if lines is None or self.lines is None or not self.found.is_transparent:
            return None
        if self.rows is None or self.sections or self.found.encoding not in AS_IS:
            return Index(size, self.lines, lines.entries, self.rows)
        places, row_lines = getattr(self._counter, "places", ()), getattr(self._counter, "row_lines", None)
        return Index(size, self.lines, lines.entries, self.rows, places, row_lines)

    def _take(self, pieces: Iterator[bytes], stored: bytes) -> None:
        try:
            for piece in pieces:
                self._look(piece, stored)
        except KmnbError as fault:
            self.fault = fault

    def _look(self, piece: bytes, stored: bytes) -> None:
        self._keep(piece)
        if self.plugin.kind == "binary":
            return
        if self._counter is None:
            begin = first_section(bytes(self.head))[0]
            in_section = len(begin) < len(self.head)
            indexed = self.found.is_transparent
            self._counter = make_counter(self.plugin, begin, indexed=indexed, in_section=in_section)
            if self.found.is_transparent and self._counter.lines is not None:
                self._counter.lines.feed(stored)
        if not self.found.is_transparent and self._counter.lines is not None:
            self._counter.lines.feed(piece)
        if self._unread is None:
            try:
                self._counter.feed(self._sections.feed(piece))
            except KmnbError as fault:
                self._unread = fault

    def _keep(self, piece: bytes) -> None:
        self.decoded += len(piece)
        if len(self.head) < HEAD_BYTES:
            self.head += piece[: HEAD_BYTES - len(self.head)]
        self.tail = piece[-_TAIL_BYTES:] if len(piece) >= _TAIL_BYTES else (self.tail + piece)[-_TAIL_BYTES:]
