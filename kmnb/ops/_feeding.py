"""Feed a sip what it asks for: decoded blocks, records, or what its walk wants of JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeVar

from kmnb.core.bounds import KIB, MIB
from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.core.ranges import Facts, Plan
from kmnb.core.records import Dialect, Problem
from kmnb.core.slice import Slice
from kmnb.formats._detect import Detection, detect, head_wanted, read_label
from kmnb.formats._encoding import AS_IS, TRANSPARENT
from kmnb.formats._reading import ContentReader
from kmnb.formats._sections import SectionFilter, sections_note
from kmnb.ops._damage import RestUnread
from kmnb.ops._dialect import dialect_of
from kmnb.ops._isolated import IsolatedRun
from kmnb.ops._line_index import IndexMaker, facts_of, known_index, left_out, place_holds, stored_number
from kmnb.ops._resuming import find_place
from kmnb.ops._scanning import ranged_format, scan_records
from kmnb.ops._uncollected import uncollected
from kmnb.ops._windows import WindowReader

COUNT_ON_BYTES = 32 * MIB
"""A full answer reads on to tell the exact total when at most so much is left."""
COUNT_ON_AFTER_JUMP_BYTES = MIB
"""The same for an answer that began in the middle, since it is to move little."""
SECOND_DOCUMENT_BYTES = 4 * MIB
"""A query that has all it wants of a document looks for a second one when at most so much is left."""
_THREAD_BYTES = 256 * KIB
_AS_IS = AS_IS | {None}
T = TypeVar("T")


async def _aside(size: int, work: Callable[..., T], *arguments: Any) -> T:
    """Do work on a large block in a thread, so that the loop can fetch the next one; small work is done at once."""
    if size < _THREAD_BYTES:
        return work(*arguments)
    return await asyncio.to_thread(work, *arguments)


class Feeding:
    """One run of one sip over one object.

    Args:
        plugin: The sip.
        values: Its checked arguments.
        reader: Reads the object.
        info: Facts of the object.
    """

    def __init__(self, plugin: Any, values: Mapping[str, Any], *, reader: WindowReader, info: ObjectInfo) -> None:
        self._plugin, self._values = plugin, values
        self.reader, self._info = reader, info
        self.scanned = 0
        self.notes: list[str] = []
        self._dialect = dialect_of(values)

    async def answer(self, cap: int) -> Slice:
        """Run the sip."""
        if self._plugin.feeds == "walk":
            return await self._walked(cap)
        if self._plugin.feeds == "records":
            return self._stored(cap) or await self._of_records(self._plugin.start(self._values, max_bytes=cap))
        found = await self._detected()
        facts = Facts() if self._values.get("section") else facts_of(self._info, found, self.reader.size)
        run = self._plugin.start(self._values, max_bytes=cap)
        plan = run.plan(facts) if hasattr(run, "plan") else Plan()
        index = known_index(self._info) if plan.start and facts.map is not None else None
        if index is not None and not await place_holds(index, plan.start, self.reader):
            self.notes.append("the stored index belongs to other content; the artifact was scanned")
            run = self._plugin.start(self._values, max_bytes=cap)
            plan = run.plan(Facts(facts.size, seekable=True))
        return await self._of_blocks(run, plan, found)

    async def _detected(self) -> Detection:
        """Find out what the content is: from the stored label where there is one, else from its beginning."""
        label = self._dialect.encoding or self._info.attributes.get(Attribute.ENCODING)
        codec, encoding = read_label(label)
        if label and (codec or encoding):
            self._tell_encoding(encoding)
            return Detection("text", codec, encoding, "text/plain")
        given = self._info.attributes.get(Attribute.CONTENT_TYPE)
        head = await self.reader.head()
        if head_wanted(head) > len(head):
            head += await self.reader.range(len(head), head_wanted(head))
        found = detect(head, media_type=given, name=self._info.key, encoding=label)
        self._tell_encoding(found.encoding)
        return found

    def _tell_encoding(self, encoding: str | None) -> None:
        """Say how a text was read where that had to be found out."""
        if encoding not in _AS_IS and self._dialect.encoding is None:
            self.notes.append(f"the text was read as {encoding}")

    def _tell_content(self, content: ContentReader) -> None:
        """Say what of the content was left out, and how its text was read."""
        self.notes += content.notes
        self._tell_encoding(content.found.encoding if content.found else None)

    async def _of_blocks(self, run: Any, plan: Plan, found: Detection) -> Slice:
        as_is = found.codec is None and found.encoding in _AS_IS
        start = plan.start if as_is else 0
        maker = None
        if not start and found.codec is None and found.encoding in TRANSPARENT and known_index(self._info) is None:
            maker = IndexMaker(self._info)
        skip = plan.start - start
        sections = SectionFilter(self._values["section"]) if self._values.get("section") else None
        ended = True
        with RestUnread(run, self.notes) as damage:
            async with aclosing(self._decoded(found, start, maker)) as blocks:
                async for block in blocks:
                    piece = sections.feed(block) if sections is not None else block
                    if skip:
                        piece, skip = piece[skip:], max(0, skip - len(piece))
                    await _aside(len(piece), run.feed, piece)
                    if run.done or (getattr(run, "full", False) and self.reader.size - self._place > COUNT_ON_BYTES):
                        ended = False
                        break
        if ended and not damage.is_met:
            if sections is not None:
                run.feed(sections.finish()[skip:])
            if maker is not None:
                maker.keep()
            _end(run)
        return _finished(run)

    async def _decoded(self, found: Detection, start: int, maker: IndexMaker | None) -> AsyncGenerator[bytes, None]:
        """Give decoded blocks from a byte on."""
        decoder = found.decoder()
        self._place = start
        async with aclosing(self.reader.windows(start)) as windows:
            async for window in windows:
                self._place += len(window)
                if maker is not None:
                    await _aside(len(window), maker.feed, window)
                for piece in decoder.feed(window):
                    self.scanned += len(piece)
                    yield piece
        for piece in decoder.finish():
            self.scanned += len(piece)
            yield piece

    def _content(self, *, structured: bool) -> ContentReader:
        return ContentReader(
            media_type=self._info.attributes.get(Attribute.CONTENT_TYPE),
            name=self._info.key,
            label=self._info.attributes.get(Attribute.ENCODING),
            dialect=self._dialect,
            structured=structured,
            # What has no rows has lines, and these can be counted.
            binary="lines" if getattr(self._plugin, "counts_lines", False) else "refuse",
        )

    def _stored(self, cap: int) -> Slice | None:
        """Answer from what was stored with the object, where the sip can and nothing speaks against it."""
        known = self._info.attributes.get(Attribute.SCHEMA)
        if known is None or self._dialect != Dialect() or not hasattr(self._plugin, "from_stored"):
            return None
        answer: Slice | None = self._plugin.from_stored(known, self._values, max_bytes=cap)
        return answer

    async def _of_records(self, run: Any) -> Slice:
        if hasattr(run, "plan"):
            skipped, sections = left_out(self._info)
            run.plan(Facts(self.reader.size, rows=self._rows(), skipped=skipped))
            if run.done:
                self.notes += sections_note(sections)
                self._tell_encoding(read_label(self._info.attributes.get(Attribute.ENCODING))[1])
        plugin = None if run.done else await ranged_format(self.reader, self._info)
        if plugin is not None:
            if await scan_records(run, plugin, self.reader, count_on_bytes=COUNT_ON_BYTES):
                _end(run)
            self.scanned = self.reader.fetched
            return _finished(run)
        wanted: tuple[str, ...] = getattr(run, "wanted", None) or ()
        content = self._content(structured=bool(wanted) and "line" not in wanted)
        ended, start, count_on = not run.done, 0, COUNT_ON_BYTES
        if ended and getattr(run, "first", False) and self._reads_plainly:
            start, count_on = await self._jumped(run, content)
        with RestUnread(run, self.notes) as damage:
            if ended:
                ended = await self._read_records(run, content, start=start, count_on=count_on)
        if ended and not damage.is_met:
            _end(run)
        self._tell_content(content)
        return _finished(run)

    async def _read_records(self, run: Any, content: ContentReader, *, start: int, count_on: int) -> bool:
        """Feed records from a byte on; tell whether the end was reached."""
        left = self.reader.size - start
        async with aclosing(self.reader.windows(start)) as windows:
            async for window in windows:
                self.scanned += len(window)
                left -= len(window)
                await _aside(len(window), self._feed_all, run, content.records(window))
                if hasattr(run, "passed"):
                    run.passed(self.reader.fetched)
                # At the very end the last record is still held, and costs nothing.
                if left and (run.done or (getattr(run, "full", False) and left > count_on)):
                    return False
        self._feed_all(run, content.last_records())
        return True

    @property
    def _reads_plainly(self) -> bool:
        """Whether content is read as the index took it."""
        return replace(self._dialect, strict=False) == Dialect()

    async def _jumped(self, run: Any, content: ContentReader) -> tuple[int, int]:
        """Read the beginning, which tells the columns, and go on with the first record that is wanted.

        Returns:
            Where that is, and how much a full answer may read on.
        """
        head = await self.reader.head()
        self.scanned += len(head)
        self._feed_all(run, content.records(head))
        place = await find_place(content, self._info, self.reader, first=run.first, behind=len(head))
        if place is None:
            return len(head), COUNT_ON_BYTES
        content.resume(place.number, place.line)
        return place.offset, COUNT_ON_AFTER_JUMP_BYTES

    def _rows(self) -> int | None:
        return stored_number(self._info, Attribute.ROWS) if self._dialect == Dialect() else None

    @staticmethod
    def _feed_all(run: Any, items: Iterable[Any]) -> None:
        rest = iter(items)
        while True:
            with uncollected():
                item = next(rest, None)
                if item is None:
                    return
                run.feed(item)

    async def _walked(self, cap: int) -> Slice:
        """Run a query in a process of its own; it is fed decoded text."""
        content = self._content(structured=False)
        seconds = self._values.get("timeout_seconds")
        run = IsolatedRun(self._plugin, **({"seconds": seconds} if seconds else {}))
        ended = True
        try:
            await run.start(self._values, max_bytes=cap)
            start = await self._walked_head(run, content)
            async with aclosing(self.reader.windows(start)) as windows:
                async for window in windows:
                    start += len(window)
                    for block in content.documents(window):
                        await run.feed(block)
                        self.scanned += len(block)
                    if run.done or (run.full and self.reader.size - start > SECOND_DOCUMENT_BYTES):
                        ended = False
                        break
            if ended:
                for block in content.last_documents():
                    await run.feed(block)
                    self.scanned += len(block)
            self._tell_content(content)
            return _with_problems(await run.finish(ended=ended), content.problems)
        finally:
            await run.close()

    async def _walked_head(self, run: IsolatedRun, content: ContentReader) -> int:
        """Feed the beginning; give where it goes on, behind records that do not matter."""
        head = await self.reader.head()
        for block in content.documents(head):
            await run.feed(block)
            self.scanned += len(block)
        if not run.skippable or run.full or not self._reads_plainly:
            return len(head)
        place = await find_place(content, self._info, self.reader, first=run.skippable, behind=len(head))
        if place is None:
            return len(head)
        await run.resume(place.number, place.line)
        return place.offset


def _with_problems(answer: Slice, found: Sequence[Problem]) -> Slice:
    """Add documents that were left out before the query saw them."""
    if not found:
        return answer
    first = (*found, *answer.problems)[:20]
    return replace(answer, skipped=answer.skipped + len(found), problems=first)


def _end(run: Any) -> None:
    if hasattr(run, "end"):
        run.end()


def _finished(run: Any) -> Slice:
    result: Slice = run.finish()
    return result
