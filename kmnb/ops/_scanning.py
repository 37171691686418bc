"""Read columnar formats by range: the format says which bytes it needs, and only these are moved."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.core.records import Batch, Need, Scan
from kmnb.formats._detect import detect, format_named
from kmnb.formats._encoding import is_binary
from kmnb.ops._windows import WindowReader


async def ranged_format(reader: WindowReader, info: ObjectInfo) -> Any | None:
    """Give the format of an object where it is one that is read by range; None for all others."""
    head = await reader.head()
    if not is_binary(head):
        return None
    found = detect(head, media_type=info.attributes.get(Attribute.CONTENT_TYPE), name=info.key)
    plugin = format_named(found.format)
    return plugin if found.codec is None and hasattr(plugin, "scan") else None


async def scan_records(run: Any, plugin: Any, reader: WindowReader, *, count_on_bytes: int) -> bool:
    """Feed a sip with the records of a format that is read by range.

    Args:
        run: The sip under way; what it calls ``wanted`` are the only columns that are read.
        plugin: The format.
        reader: Reads the object.
        count_on_bytes: A full answer is counted on for the exact total up to this size of the object.

    Returns:
        Whether the content was read to its end.
    """
    async with aclosing(scan_batches(plugin, reader, getattr(run, "wanted", None))) as batches:
        async for batch in batches:
            run.feed(batch)
            if run.done or (getattr(run, "full", False) and reader.size > count_on_bytes):
                return False
    return True


async def scan_batches(
    plugin: Any, reader: WindowReader, columns: Sequence[str] | None, *, wanted: Sequence[int] | None = None
) -> AsyncGenerator[Batch, None]:
    """Walk the batches of a format that is read by range; the first one names the columns.

    Args:
        plugin: The format.
        reader: Reads the object.
        columns: Columns that are read; None for all.
        wanted: Ascending numbers of the records that are looked at; others may be left out. None for all.
    """
    scan: Scan = plugin.scan(reader.size, columns, wanted)
    answer: bytes | None = None
    try:
        while (asked := await asyncio.to_thread(_next, scan, answer)) is not None:
            answer = None
            if isinstance(asked, Need):
                answer = await reader.range(asked.start, asked.end)
            else:
                yield asked
    finally:
        scan.close()


async def column_statistics(plugin: Any, reader: WindowReader) -> Mapping[str, Mapping[str, Any]]:
    """Read what a format keeps of its columns: ``nulls``, ``min`` and ``max`` by name; nothing where it keeps none."""
    if not hasattr(plugin, "statistics"):
        return {}
    told, answer = plugin.statistics(reader.size), None
    try:
        while True:
            need = told.send(answer)
            answer = await reader.range(need.start, need.end)
    except StopIteration as done:
        known: Mapping[str, Mapping[str, Any]] = done.value
        return known


def _next(scan: Scan, answer: bytes | None) -> Any:
    """Go on with a scan; None when it has ended (StopIteration cannot leave a thread)."""
    try:
        return scan.send(answer)
    except StopIteration:
        return None
