"""Write one object with everything that is found out about it on the way."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from os import PathLike

from kmnb.core.bounds import WINDOW_BYTES
from kmnb.core.metadata import ObjectInfo
from kmnb.core.progress import advance, tally
from kmnb.formats._inspect import Inspector
from kmnb.ops._look import IN_THREAD_BYTES, Look, begin_look
from kmnb.ops.content import Content
from kmnb.storage._protocols import ObjectArea, Progress, Source
from kmnb.storage._source import blocks, known_size


async def write_object(
    area: ObjectArea,
    key: str,
    content: Content,
    *,
    told: Mapping[str, str],
    name: str | None = None,
    progress: Progress | None = None,
    before_end: Callable[[], Awaitable[None]] | None = None,
) -> ObjectInfo:
    """Store content under a free key, with its attributes, in one pass.

    Args:
        area: Where.
        key: A key that must be free.
        content: What.
        told: Attributes that the caller knows; they win over those that are found.
        name: File name, as a hint for the format.
        progress: Called about every window.
        before_end: Awaited after the last byte, before anything is visible; what it raises leaves nothing.

    Raises:
        AlreadyExists: The key is taken.
        StoreError: The store failed; nothing is visible.
    """
    source = content.source
    if isinstance(source, bytes | bytearray | memoryview) and len(source) <= IN_THREAD_BYTES:
        finder = Inspector(content.media_type, name)
        finder.feed(bytes(source))
        if before_end is not None:
            await before_end()
        facts = {**finder.attributes(), **told}
        return await area.put(key, source, create_only=True, attributes=facts, progress=progress)
    size, found = _size(source), dict[str, str]()
    with tally("put", size):
        return await area.put(
            key,
            _fed(content, partial(begin_look, size, content.media_type, name), found, before_end=before_end),
            create_only=True,
            attributes=lambda: {**found, **told},
            progress=progress,
        )


def _size(source: Source) -> int | None:
    """Tell how many bytes there are to store, where that is known."""
    try:
        return os.path.getsize(source) if isinstance(source, PathLike) else known_size(source)
    except OSError:
        return None


async def _fed(
    content: Content,
    begin: Callable[[], Look],
    found: dict[str, str],
    *,
    before_end: Callable[[], Awaitable[None]] | None,
) -> AsyncIterator[bytes | memoryview]:
    """Give the blocks of content; each is looked at while it is written, and at the end ``found`` is filled."""
    look = begin()
    try:
        async with aclosing(blocks(content.source, WINDOW_BYTES)) as walk:
            async for block in walk:
                yield await look.feed(block)
                advance(len(block))
        found.update(await look.finish())
        if before_end is not None:
            await before_end()
    finally:
        await look.close()
