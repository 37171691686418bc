"""Walk the records of an artifact from any record on; an index shortens the way."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from kmnb.core.index import Entry, Index
from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.core.records import Batch, Dialect
from kmnb.formats._detect import format_named
from kmnb.formats._reading import ContentReader
from kmnb.ops._line_index import known_index, place_holds
from kmnb.ops._scanning import column_statistics, ranged_format, scan_batches
from kmnb.ops._windows import WindowReader
from kmnb.sips._rows import Problems, Rows

_THREAD_BYTES = 256 * 1024
_NEAR = 2000
"""Records this near to the beginning are reached by walking."""
RECORD_MAX_BYTES = 8 * 1024 * 1024
"""Longest single record of a JSON list that is read on its own."""


class RowWalk:
    """Records of one artifact. It is made for one call and counts what that call read."""

    def __init__(self, reader: WindowReader, info: ObjectInfo, index: Index | None) -> None:
        self._reader, self._info, self._index = reader, info, index
        self.table = Rows(Problems())
        self._head: bytes = b""
        self._scanned = self._begun = 0
        self.size = reader.size
        self.ended = False
        self.next = 0
        self._ranged: Any = None

    @classmethod
    async def open(cls, artifact: Any) -> RowWalk:
        """Find the artifact and what is known of it."""
        area, info = await artifact.locate()
        walk = cls(WindowReader(area, info), info, known_index(info))
        walk._ranged = await ranged_format(walk._reader, info)
        return walk

    @property
    def total(self) -> int | None:
        """Records in all, where the store knows."""
        text = self._info.attributes.get(Attribute.ROWS)
        return int(text) if text is not None and text.isdigit() else None

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
            entry = await self._near(first)
            source = self._of_list(entry) if entry.offset and self._is_list else self._of_content(entry)
        async with aclosing(source) as batches:
            async for batch in batches:
                yield batch
                self.next = batch.start + len(batch.rows)
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

    @property
    def _is_list(self) -> bool:
        return bool(self._index and self._index.records and self.table.columns is None and self._format == "json")

    async def _near(self, first: int) -> Entry:
        """Find the last known record at or before one; the columns of a table are read first."""
        begin = Entry(0, 0, 0)
        self._content = self._reading()
        self._head = await self._reader.head()
        for batch in self._content.records(self._head):
            for _ in self.table.of(batch):
                break
        if first < _NEAR or self._index is None or self._content.found is None:
            return begin
        entry = self._entry(self._index, first)
        holds = entry.offset == 0 or await place_holds(self._index, entry.offset, self._reader)
        return entry if holds else begin

    def _entry(self, index: Index, first: int) -> Entry:
        if index.records:
            return index.at_record(first)
        before = index.lines - (self.total if self.total is not None else index.lines)
        if before not in (0, 1) or self._format == "json":
            return Entry(0, 0, 0)
        entry = index.at_line(first + before)
        return Entry(entry.offset, max(0, entry.number - before), entry.check)

    @property
    def _format(self) -> str:
        return self._content.found.format if self._content.found else ""

    def _reading(self) -> ContentReader:
        told = self._info.attributes
        media_type, label = told.get(Attribute.CONTENT_TYPE), told.get(Attribute.ENCODING)
        return ContentReader(media_type=media_type, name=self._info.key, label=label, structured=True)

    async def _of_content(self, entry: Entry) -> AsyncGenerator[Batch, None]:
        """Cut the content as the sips do, from its beginning or from an indexed record on."""
        content, self._begun, self._scanned = self._reading(), entry.offset, 0
        if entry.offset == 0:
            async with aclosing(self._reader.windows(0)) as windows:
                async for window in windows:
                    self._scanned += len(window)
                    for batch in await _aside(len(window), content.records, window):
                        yield batch
            for batch in content.last_records():
                yield batch
            return
        found = self._content.found
        splitter = format_named(found.format if found else "csv").split(Dialect())
        header = self._head.partition(b"\n")[0] + b"\n" if self.table.columns is not None else b""
        splitter.feed(header)
        seen = entry.number
        async with aclosing(self._reader.windows(entry.offset)) as windows:
            async for window in windows:
                self._scanned += len(window)
                batch = (await _aside(len(window), lambda one: [splitter.feed(one)], window))[0]
                yield _renumbered(batch, seen)
                seen += len(batch.rows)
        yield _renumbered(splitter.finish(), seen)

    async def _of_list(self, entry: Entry) -> AsyncGenerator[Batch, None]:
        """Read records of a JSON list one by one from an indexed one on."""
        self._begun, self._scanned = entry.offset, 0
        decoder, text, number = json.JSONDecoder(), "", entry.number
        pending = b""
        async with aclosing(self._reader.windows(entry.offset)) as windows:
            async for window in windows:
                self._scanned += len(window)
                text, pending = _decoded(text, pending + window)
                rows: list[bytes] = []
                while True:
                    text = text.lstrip(" \t\r\n,")
                    if text[:1] in ("]", "}"):
                        yield Batch(rows, number, kind="json")
                        return
                    try:
                        end = decoder.raw_decode(text)[1]
                    except ValueError:
                        break
                    if end == len(text) and text[-1:] not in '}]"':
                        break
                    rows.append(text[:end].encode("utf-8", "surrogatepass"))
                    text = text[end:]
                yield Batch(rows, number, kind="json")
                number += len(rows)
                if len(text) > RECORD_MAX_BYTES:
                    return


def _decoded(text: str, raw: bytes) -> tuple[str, bytes]:
    """Decode what is whole; a character that is cut waits for the next window."""
    try:
        return text + raw.decode("utf-8"), b""
    except UnicodeDecodeError as error:
        if error.start > len(raw) - 4:
            return text + raw[: error.start].decode("utf-8"), raw[error.start :]
        return text + raw.decode("utf-8", "replace"), b""


def _renumbered(batch: Batch, start: int) -> Batch:
    return Batch(batch.rows, start, batch.problems, batch.columns, batch.kind)


async def _aside(size: int, work: Any, window: bytes) -> list[Batch]:
    """Do work on a large window in a thread, so that the loop stays free."""
    return await asyncio.to_thread(lambda: list(work(window))) if size >= _THREAD_BYTES else list(work(window))
