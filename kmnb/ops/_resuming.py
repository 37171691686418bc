"""Begin to read records in the middle of an object, where its index says that one begins."""

from __future__ import annotations

from dataclasses import dataclass

from kmnb.core.bounds import MIB
from kmnb.core.index import CHECK_BYTES
from kmnb.core.metadata import ObjectInfo
from kmnb.formats._reading import ContentReader
from kmnb.ops._line_index import known_index
from kmnb.ops._windows import WindowReader

LOOK_BACK_MAX_BYTES = MIB
"""Most bytes that are read before a record only to tell on which line it is."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record begins."""

    offset: int
    """Its first stored byte."""
    number: int
    """Its number, from 0."""
    line: int
    """Number of the line where it begins, from 0; 0 where lines do not matter."""


async def find_place(
    content: ContentReader, info: ObjectInfo, reader: WindowReader, *, first: int, behind: int
) -> Place | None:
    """Find the last known record at or before one.

    Args:
        content: Has read the beginning, and knows what the content is.
        info: Facts of the object.
        reader: Reads it; the bytes before the place are compared with what was indexed.
        first: Number of the record that is wanted, from 0.
        behind: How much has been read; a place before that is of no use.

    Returns:
        The place; None where there is none, or where the index is of other content.
    """
    index = known_index(info)
    if index is None or content.found is None or not content.can_resume:
        return None
    has_lines = content.found.format != "json"
    entry = index.at_record(first)
    if entry.offset <= behind:
        return None
    known = index.at_offset(entry.offset)
    start = entry.offset - CHECK_BYTES
    if has_lines:
        start = min(start, known.offset)
        if entry.offset - start > LOOK_BACK_MAX_BYTES:
            return None
    before = await reader.range(start, entry.offset)
    if not entry.holds(before):
        return None
    # The line of the known place, and those that end between it and the record.
    line = known.number + before.count(b"\n", known.offset - start) if has_lines else 0
    return Place(entry.offset, entry.number, line)
