"""A columnar format that arrives as a stream: it is collected up to a limit, then read by range."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from kmnb.core.bounds import KIB, MIB
from kmnb.core.records import Batch, Need, Scan
from kmnb.core.shape import key_column, text_of
from kmnb.errors import BoundExceeded, KmnbError, clip

SMALL_BYTES = 256 * KIB
"""Size up to which a file is kept while it passes by, to tell its first values."""
COLLECTED_MAX_BYTES = 64 * MIB
"""Largest columnar content that is collected when it cannot be read by range (compressed once more, for example)."""

SHOWN_ROWS = 20
"""Rows of a small file that its preview shows."""


class Ranged(Protocol):
    """A format that reads by range."""

    def scan(self, size: int, columns: Sequence[str] | None, wanted: Sequence[int] | None = None) -> Scan:
        """See :data:`kmnb.core.records.Scan`."""


class CollectingSplitter:
    """Collects content and cuts it into rows at its end.

    Args:
        plugin: The format that reads by range.
    """

    def __init__(self, plugin: Ranged) -> None:
        self._plugin = plugin
        self._content = bytearray()
        self.columns: tuple[str, ...] | None = None

    def feed(self, block: bytes) -> Batch:
        """Take the next block.

        Raises:
            BoundExceeded: It is too large to be collected.
        """
        self._content += block
        if len(self._content) > COLLECTED_MAX_BYTES:
            raise BoundExceeded(
                "columnar content in a stream",
                f"it has more than {COLLECTED_MAX_BYTES:,} bytes and cannot be read by range",
                "Store it uncompressed, or use run",
                limit="COLLECTED_MAX_BYTES", value=COLLECTED_MAX_BYTES, unit="bytes",
            )  # fmt: skip
        return Batch(kind="table")

    def finish(self) -> Batch:
        """Give all rows."""
        batches = list(answered(self._plugin.scan(len(self._content), None), bytes(self._content)))
        self.columns, types = (batches[0].columns, batches[0].types) if batches else ((), None)
        rows = [row for batch in batches for row in batch.rows]
        return Batch(rows, 0, columns=self.columns, types=types, kind="table")


class FirstRows(NamedTuple):
    """What the first rows of a small file tell."""

    key: str
    """The column that tells the rows apart."""
    values: list[str]
    """Its first values."""
    shown: str
    """The first rows as lines of CSV, below the names of the columns."""


def first_rows(plugin: Ranged, content: bytes) -> FirstRows | None:
    """Look at the first rows of a small file; None where there are none."""
    try:
        batches = [batch for batch in answered(plugin.scan(len(content), None), content) if batch.rows]
    except KmnbError:
        return None
    if not batches or not batches[0].columns:
        return None
    names, rows = batches[0].columns, batches[0].rows
    at = key_column(names, rows)
    return FirstRows(names[at], [text_of(row[at]) for row in rows[:50]], shown_rows(names, rows[:SHOWN_ROWS]))


def shown_rows(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Write rows as lines of CSV for people; long cells are cut."""
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows(
        [clip(text_of(cell), 100) for cell in row] for row in (names, *rows)
    )
    return lines.getvalue()


def answered(scan: Scan, content: bytes) -> list[Batch]:
    """Run a scan over content that is at hand."""
    found: list[Batch] = []
    answer: bytes | None = None
    while True:
        try:
            asked = scan.send(answer)
        except StopIteration:
            return found
        if isinstance(asked, Need):
            answer = content[asked.start : asked.end]
        else:
            answer = None
            found.append(asked)
