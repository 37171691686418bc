"""From stored bytes to records, in one place: what the content is, opened, decoded, its section chosen, cut.

The driver of sips feeds it windows and hands the batches on; it keeps memory bounded by a few windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from kmnb.core.records import Batch, Dialect, FormatPlugin, Problem, Splitter
from kmnb.core.splitter import LineSplitter
from kmnb.errors import BadRequest
from kmnb.formats._detect import HEAD_BYTES, Detection, detect, format_named, head_wanted
from kmnb.formats._encoding import AS_IS
from kmnb.formats._sections import SectionFilter


class ContentReader:
    """Turn stored bytes into decoded text, and into batches of records.

    Args:
        media_type: MIME type that the store or the producer gave.
        name: File name or key.
        label: Stored encoding, as the attribute holds it.
        dialect: How the caller says that the content is to be read.
        binary: What records binary content has: none, its lines, or none that could be told ("refuse").
        structured: Whether columns are named that plain text does not have; it is then read as delimited text, as the
            peer does. Otherwise its one column is ``line``.
    """

    def __init__(
        self,
        *,
        media_type: str | None = None,
        name: str | None = None,
        label: str | None = None,
        dialect: Dialect | None = None,
        structured: bool = False,
        binary: Literal["none", "lines", "refuse"] = "none",
    ) -> None:
        given = dialect is not None and (dialect.delimiter or dialect.quote or dialect.header is not None)
        self._structured = structured or bool(given)
        self._is_reread = False
        self._binary = binary
        self._given = (media_type, name, label)
        self._dialect = dialect or Dialect()
        self._pending: list[bytes] = []
        self._held, self._wanted = 0, HEAD_BYTES
        self.found: Detection | None = None
        self.problems: list[Problem] = []

    @property
    def format(self) -> FormatPlugin | None:
        """The format, once the beginning was seen."""
        return format_named(self.found.format) if self.found else None

    @property
    def kind(self) -> Literal["text", "table", "json", "binary"] | None:
        """What the records are, once the beginning was seen."""
        return self.format.kind if self.format else None

    @property
    def notes(self) -> list[str]:
        """What to tell of the sections of :meth:`records`."""
        return self._sections.notes if self.found else []

    def blocks(self, block: bytes) -> Iterator[bytes]:
        """Take the next stored bytes and give decoded text; a little is held until the content is known."""
        if self.found is None:
            self._pending.append(block)
            self._held += len(block)
            if self._held < self._wanted:
                return
            self._pending = [b"".join(self._pending)]
            self._wanted = head_wanted(self._pending[0])
            if self._held < self._wanted:
                return
            block = self._begin()
        yield from self._decoder.feed(block)

    def last_blocks(self) -> Iterator[bytes]:
        """Give the decoded text that is left at the end of the content."""
        if self.found is None:
            rest = self._begin()
            yield from self._decoder.feed(rest)
        yield from self._decoder.finish()

    def documents(self, block: bytes) -> Iterator[bytes]:
        """Take the next stored bytes and give text of the section that holds JSON documents.

        A format that is no JSON but means the same (YAML) is turned into one document a line; everything else passes
        as it is.
        """
        for text in self.blocks(block):
            yield from self._documents_of(self._sections.feed(text))

    def last_documents(self) -> Iterator[bytes]:
        """Give what is left of the text that holds JSON documents."""
        for text in self.last_blocks():
            yield from self._documents_of(self._sections.feed(text))
        yield from self._documents_of(self._sections.finish(), last=True)

    def _documents_of(self, part: bytes, *, last: bool = False) -> Iterator[bytes]:
        part = self._held_back(part, last=last)
        if self._converter is None:
            yield part
            return
        if part:
            yield self._lines(self._converter.feed(part))
        if last:
            yield self._lines(self._converter.finish())

    def _lines(self, batch: Batch) -> bytes:
        """Write converted documents one a line; those that could not be converted are told in :attr:`problems`."""
        self.problems += batch.problems
        return b"".join(row + b"\n" for row in batch.rows)

    def _begin(self) -> bytes:
        data = b"".join(self._pending)
        self._pending = []
        media_type, name, label = self._given
        label = self._dialect.encoding or label
        self.found = detect(data[: head_wanted(data)], media_type=media_type, name=name, encoding=label)
        if self._structured and self.found.format == "text":
            # What the store counted and found as lines is not what the rows are.
            self.found, self._is_reread = replace(self.found, format="csv"), True
        self._decoder = self.found.decoder()
        self._sections = SectionFilter(self._dialect.section)
        self._converter: Splitter | None = None
        self._splitter: Splitter | None = None
        self._section_text = bytearray()
        self._is_settled = self._dialect.section is None
        if self._is_settled:
            self._settle()
        return data

    def _settle(self) -> None:
        """Choose how the text is cut, now that it is known what it is."""
        assert self.found is not None
        to_documents = getattr(format_named(self.found.format), "documents", None)
        self._converter = to_documents() if to_documents is not None else None
        self._splitter = self._split()

    def _held_back(self, part: bytes, *, last: bool) -> bytes:
        """Hold the beginning of a named section: only its own text can tell what it is."""
        if self._is_settled:
            return part
        self._section_text += part
        if len(self._section_text) < HEAD_BYTES and not last:
            return b""
        assert self.found is not None
        part, self._is_settled = bytes(self._section_text), True
        own = detect(part[:HEAD_BYTES], encoding="utf-8").format
        self.found = replace(self.found, format="csv" if self._structured and own == "text" else own)
        self._settle()
        return part

    def _split(self) -> Splitter:
        if self.kind == "binary" and self._binary == "lines":
            return LineSplitter()
        if self.kind == "binary" and self._binary == "refuse" and self._held:
            raise BadRequest(
                "the content",
                "is binary and has no rows",
                "Name its encoding if it is text; else take its bytes with read or open, or use run",
            )
        return format_named(self.found.format if self.found else "text").split(self._dialect)

    def records(self, block: bytes) -> Iterator[Batch]:
        """Take the next stored bytes and give the records that are complete by now."""
        for text in self.blocks(block):
            yield from self._of_section(self._sections.feed(text))

    def _of_section(self, part: bytes, *, last: bool = False) -> Iterator[Batch]:
        part = self._held_back(part, last=last)
        if self._splitter is None:
            return
        if part:
            yield self._splitter.feed(part)
        if last:
            yield self._splitter.finish()

    @property
    def can_resume(self) -> bool:
        """Whether reading may go on with a record in the middle.

        The stored bytes are text, their format can, and the beginning has told what every record needs: its columns.
        """
        if self.found is None or self._is_reread or self.found.codec is not None or self.found.encoding not in AS_IS:
            return False
        return hasattr(self._splitter, "resume") and getattr(self._splitter, "is_begun", True)

    def resume(self, number: int, line: int) -> None:
        """Hear that the next stored bytes begin with a record of a number, on a line, both from 0."""
        splitter: Any = self._splitter
        self._splitter = splitter.resume(number, line)
        self._sections = SectionFilter.passing()

    def last_records(self) -> Iterator[Batch]:
        """Give the records that are left at the end of the content."""
        for text in self.last_blocks():
            yield from self._of_section(self._sections.feed(text))
        yield from self._of_section(self._sections.finish(), last=True)
