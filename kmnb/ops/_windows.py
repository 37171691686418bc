"""Read a stored object in windows, and count what that moved."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from kmnb.core.bounds import KIB, WINDOW_BYTES
from kmnb.core.metadata import ObjectInfo
from kmnb.core.progress import advance
from kmnb.storage._protocols import ObjectArea

FIRST_WINDOW_BYTES = 64 * KIB
"""Size of the first window: most questions about the beginning are answered by it."""
_GROWTH = 4


class WindowReader:
    """Reads ranges of one object.

    Args:
        area: Where the object is.
        info: Its facts; the size must be known.
    """

    def __init__(self, area: ObjectArea, info: ObjectInfo) -> None:
        self._area, self._info = area, info
        self.size = info.size or 0
        self.fetched = 0
        self._head: bytes | None = None

    async def range(self, start: int, end: int) -> bytes:
        """Read some stored bytes; the beginning is remembered, so that it is moved once."""
        end = min(end, self.size)
        if start >= end:
            return b""
        if self._head is not None and end <= len(self._head):
            return self._head[start:end]
        data = await self._area.get_range(self._info.key, start, end, info=self._info)
        self.fetched += len(data)
        advance(len(data))
        return data

    async def head(self) -> bytes:
        """Read the first window."""
        if self._head is None:
            self._head = await self.range(0, FIRST_WINDOW_BYTES)
        return self._head

    async def windows(self, start: int) -> AsyncGenerator[bytes, None]:
        """Read from a byte to the end, in windows that grow; once they are large, the next one is fetched ahead."""
        size, task = FIRST_WINDOW_BYTES, None
        try:
            while start < self.size:
                block = await task if task is not None else await self.range(start, start + size)
                task = None
                start += len(block)
                if not block:
                    return
                if start >= FIRST_WINDOW_BYTES:
                    size = min(size * _GROWTH, WINDOW_BYTES)
                if size == WINDOW_BYTES and len(block) == WINDOW_BYTES and start < self.size:
                    task = asyncio.ensure_future(self.range(start, start + size))
                yield block
        finally:
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task
