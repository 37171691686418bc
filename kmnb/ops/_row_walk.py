"""Walk the records of an artifact from any record on; an index shortens the way."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from kmnb.core.metadata import Attribute, ObjectInfo, number_in
from kmnb.core.records import Batch
from kmnb.formats._reading import ContentReader
from kmnb.ops._resuming import find_place
from kmnb.ops._scanning import column_statistics, ranged_format, scan_batches
from kmnb.ops._windows import WindowReader
from kmnb.sips._rows import Problems, Rows

_THREAD_BYTES = 256 * 1024
_NEAR = 2000
"""Records this near to the beginning are reached by walking."""


class RowWalk:
    """Records of one artifact. It is made for one call and counts what that call read."""

    def __init__(self, reader: WindowReader, info: ObjectInfo) -> None:
        self._reader, self._info = reader, info
        self.table = Rows(Problems())
        self._scanned = self._begun = 0
        self.size = reader.size
        self.ended = False
        self.next = 0
        self._ranged: Any = None

    @classmethod
    async def open(cls, artifact: Any) -> RowWalk:
        """Find the artifact and what is known of it."""
        area, info = await artifact.locate()
        walk = cls(WindowReader(area, info), info)
        walk._ranged = await ranged_format(walk._reader, info)
        return walk

    @property
    def total(self) -> int | None:
        """Records in all, where the store knows."""
        return number_in(self._info.attributes.get(Attribute.ROWS))

    @property
    def is_ranged(self) -> bool:
        """Whether the format says itself which bytes it needs, and reads single columns."""
        return self._ranged is not None

    async def statistics(self) -> Mapping[str, Mapping[str, Any]]:
        """Tell what the format keeps of its columns; nothing where it keeps none."""
        return await column_statistics(self._ranged, self._reader)

    @property
    def fetched(self) -> int:
        """Stored bytes that were moved."""
        return self._reader.fetched

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns as far as they were seen."""
        known = self.table.columns
        return known if known is not None else tuple(self.table.seen)

    @property
    def share(self) -> float:
        """Share of the content that lies before the place that was reached."""
        return min(1.0, (self._begun + self._scanned) / self.size) if self.size else 1.0

    def check(self, names: Sequence[str]) -> None:
        """Raise BadRequest for a name that is no column, once rows were seen."""
        missing = self.table.missing(names)
        if missing is not None and (self.ended or self.table.columns is not None):
            raise self.table.unknown(missing)

    async def batches(
        self, first: int, *, stop: int | None = None, at_most: int | None = None, columns: Sequence[str] | None = None
    ) -> AsyncGenerator[Batch, None]:
        """Walk batches of records; the first one may begin before the record that is asked for.

        Args:
            first: Number of the first record that is wanted.
            stop: Number of the first record that is not wanted any more; there may come more. None for the end.
            at_most: Most bytes that are walked through; then it ends although there is more.
            columns: Columns that are looked at, where the format can read these alone; None for all.
        """
        if self._ranged is not None:
            source = self._by_range(range(first, sys.maxsize if stop is None else stop), columns)
        else:
            source = self._of_content(first)
        async with aclosing(source) as batches:
            async for batch in batches:
                yield batch
                self.next = batch.start + batch.counted
                if at_most is not None and self._scanned >= at_most and self._scanned + self._begun < self.size:
                    return
        self.ended = self._ranged is None or stop is None

    async def rows(self, first: int, stop: int | None = None) -> AsyncGenerator[tuple[int, Any], None]:
        """Walk records with their numbers, each as a function from column name to value."""
        async with aclosing(self.batches(first, stop=stop)) as batches:
            async for batch in batches:
                for number, row in self.table.of(batch):
                    if number >= first:
                        yield number, row

    async def single(self, numbers: Sequence[int]) -> list[Any]:
        """Read single records, one after the other; those of a columnar format in one go."""
        if self.is_ranged:
            known: dict[int, Any] = {}
            async with aclosing(self._by_range(sorted(numbers), None)) as batches:
                async for batch in batches:
                    known |= dict(self.table.of(batch))
            return [known[number] for number in numbers]
        found = []
        for number in numbers:
            async with aclosing(self.rows(number, number + 1)) as rows:
                found.append((await anext(rows))[1])
        self.ended = False
        return found

    async def _by_range(self, wanted: Sequence[int], columns: Sequence[str] | None) -> AsyncGenerator[Batch, None]:
        """Read a format that says itself which bytes it needs."""
        self._begun = self.size * wanted[0] // self.total if self.total and wanted else 0
        before = self._reader.fetched
        async with aclosing(scan_batches(self._ranged, self._reader, columns, wanted=wanted)) as batches:
            async for batch in batches:
                self._scanned = self._reader.fetched - before
                yield batch

    def _reading(self) -> ContentReader:
        told = self._info.attributes
        media_type, label = told.get(Attribute.CONTENT_TYPE), told.get(Attribute.ENCODING)
        return ContentReader(media_type=media_type, name=self._info.key, label=label)

    async def _of_content(self, first: int) -> AsyncGenerator[Batch, None]:
        """Cut the content as the sips do, from its beginning or from a known record on."""
        content, head = self._reading(), await self._reader.head()
        batches = list(content.records(head))
        for batch in batches:
            # The columns of a table are read first.
            next(iter(self.table.of(batch)), None)
        place = None
        if first >= _NEAR:
            place = await find_place(content, self._info, self._reader, first=first, behind=len(head))
        self._begun, self._scanned = (place.offset, 0) if place is not None else (0, len(head))
        if place is not None:
            content.resume(place.number, place.line)
            batches = []
        for batch in batches:
            yield batch
        async with aclosing(self._reader.windows(self._begun + self._scanned)) as windows:
            async for window in windows:
                self._scanned += len(window)
                for batch in await _aside(len(window), content.records, window):
                    yield batch
        for batch in content.last_records():
            yield batch


async def _aside(size: int, work: Any, window: bytes) -> list[Batch]:
    """Do work on a large window in a thread, so that the loop stays free."""
    return await asyncio.to_thread(lambda: list(work(window))) if size >= _THREAD_BYTES else list(work(window))
