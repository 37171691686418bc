"""Write one object with everything that is found out about it on the way."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from os import PathLike

from kmnb.core.bounds import WINDOW_BYTES
from kmnb.core.metadata import ObjectInfo
from kmnb.core.progress import advance, tally
from kmnb.formats._inspect import Inspector
from kmnb.ops.content import Content
from kmnb.storage._protocols import ObjectArea, Progress, Source
from kmnb.storage._source import blocks, known_size

_IN_THREAD_BYTES = 128 * 1024
"""Blocks above this size are inspected in a worker thread, so that the loop stays free."""


async def write_object(
    area: ObjectArea,
    key: str,
    content: Content,
    *,
    told: Mapping[str, str],
    name: str | None = None,
    progress: Progress | None = None,
) -> ObjectInfo:
    """Store content under a free key, with its attributes, in one pass.

    Args:
        area: Where.
        key: A key that must be free.
        content: What.
        told: Attributes that the caller knows; they win over those that are found.
        name: File name, as a hint for the format.
        progress: Called about every window.

    Raises:
        AlreadyExists: The key is taken.
        StoreError: The store failed; nothing is visible.
    """
    finder = Inspector(content.media_type, name)
    source = content.source
    if isinstance(source, bytes | bytearray | memoryview) and len(source) <= _IN_THREAD_BYTES:
        finder.feed(bytes(source))
        facts = {**finder.attributes(), **told}
        return await area.put(key, source, create_only=True, attributes=facts, progress=progress)
    with tally("put", _size(source)):
        return await area.put(
            key,
            _fed(content, finder.feed),
            create_only=True,
            attributes=lambda: {**finder.attributes(), **told},
            progress=progress,
        )


def _size(source: Source) -> int | None:
    """Tell how many bytes there are to store, where that is known."""
    try:
        return os.path.getsize(source) if isinstance(source, PathLike) else known_size(source)
    except OSError:
        return None


async def _fed(content: Content, feed: Callable[[bytes], None]) -> AsyncIterator[bytes]:
    """Give the blocks of content; each is inspected in a worker thread while it is written."""
    looking: asyncio.Future[None] | None = None
    async with aclosing(blocks(content.source, WINDOW_BYTES)) as walk:
        try:
            async for block in walk:
                raw = bytes(block)
                if looking is not None:
                    await looking
                looking = None
                if len(raw) > _IN_THREAD_BYTES:
                    looking = asyncio.ensure_future(asyncio.to_thread(feed, raw))
                else:
                    feed(raw)
                yield raw
                advance(len(raw))
        finally:
            if looking is not None:
                await looking
