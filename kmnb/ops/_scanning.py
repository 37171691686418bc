"""Read columnar formats by range: the format says which bytes it needs, and only these are moved."""

from __future__ import annotations

import asyncio
from typing import Any

from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.core.records import Need, Scan
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
    scan: Scan = plugin.scan(reader.size, getattr(run, "wanted", None))
    answer: bytes | None = None
    try:
        while True:
            asked = await asyncio.to_thread(_next, scan, answer)
            if asked is None:
                return True
            answer = None
            if isinstance(asked, Need):
                answer = await reader.range(asked.start, asked.end)
                continue
            run.feed(asked)
            if run.done or (getattr(run, "full", False) and reader.size > count_on_bytes):
                return False
    finally:
        scan.close()


def _next(scan: Scan, answer: bytes | None) -> Any:
    """Go on with a scan; None when it has ended (StopIteration cannot leave a thread)."""
    try:
        return scan.send(answer)
    except StopIteration:
        return None
