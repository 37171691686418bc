"""Count the records of content while it passes by; a format may bring a faster way than cutting every record out."""

from __future__ import annotations

from typing import Protocol

from kmnb.core.records import Batch, Dialect, FormatPlugin, Splitter
from kmnb.formats._counting import LineCounter


class Counter(Protocol):
    """Counts records; what a format's ``counter(head, indexed=…)`` gives.

    Where records can be read from any of them on it also has ``row_lines`` and ``places``, as an index has them, and
    where it meets records that cannot be used ``skipped``, their number.
    """

    lines: LineCounter | None
    """Counts the lines in the way that the format needs; None for content without lines."""

    def feed(self, block: bytes) -> None:
        """Take the next block of decoded text; ``lines`` has been fed with it."""

    def finish(self) -> int | None:
        """Give the number of records; None when it cannot be told."""


class LinesAreRecords:
    """Every line that is not blank is a record."""

    def __init__(self, *, indexed: bool) -> None:
        self.lines: LineCounter | None = LineCounter(indexed=indexed)

    @property
    def row_lines(self) -> int | None:
        """0: a blank line has a number too, though it is not counted."""
        return 0

    def feed(self, block: bytes) -> None:
        """Take the next block."""

    def finish(self) -> int | None:
        """Give the number of lines that are not blank."""
        return self.lines.filled if self.lines else None


class BySplitting:
    """Records are cut out and counted."""

    def __init__(self, splitter: Splitter, *, indexed: bool) -> None:
        self.lines: LineCounter | None = LineCounter(indexed=indexed, blank=None)
        self._splitter = splitter
        self._records = self.skipped = 0

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        self._add(self._splitter.feed(block))

    def finish(self) -> int | None:
        """Give the number of records."""
        self._add(self._splitter.finish())
        return self._records

    def _add(self, batch: Batch) -> None:
        self._records += batch.counted
        self.skipped += batch.left_out


class SectionLines:
    """Every line of the section that is not blank is a record; lines are those of the whole text."""

    def __init__(self, *, indexed: bool) -> None:
        self.lines: LineCounter | None = LineCounter(indexed=indexed, blank=None)
        self._own = LineCounter(indexed=False)

    def feed(self, block: bytes) -> None:
        """Take the next block of the section."""
        self._own.feed(block)

    def finish(self) -> int | None:
        """Give the number of lines that are not blank."""
        return self._own.filled


def make_counter(plugin: FormatPlugin, head: bytes, *, indexed: bool, in_section: bool = False) -> Counter:
    """Choose the way to count.

    Args:
        plugin: The format.
        head: The first decoded bytes.
        indexed: Whether places of lines are noted.
        in_section: Whether the text has sections, so that it has more lines than those whose records are counted.
    """
    if in_section:
        splitter = plugin.split(Dialect())
        return SectionLines(indexed=indexed) if plugin.kind == "text" else BySplitting(splitter, indexed=indexed)
    own = getattr(plugin, "counter", None)
    if own is not None:
        counter: Counter = own(head, indexed=indexed)
        return counter
    return (
        LinesAreRecords(indexed=indexed)
        if plugin.kind == "text"
        else BySplitting(plugin.split(Dialect()), indexed=indexed)
    )
