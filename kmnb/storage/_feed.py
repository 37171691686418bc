"""Hand blocks from a coroutine to a blocking consumer in another thread, a bounded number at a time."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Iterator
from contextlib import suppress
from typing import Any


class FeedAborted(Exception):
    """Raised in the consumer's thread when the producer gave up."""


class Feed:
    """An iterator of bytes for a thread, filled from a coroutine.

    Args:
        size: Bytes that are gathered before they are handed over; one such chunk waits at most.
    """

    def __init__(self, size: int) -> None:
        self._size, self._chunk = size, bytearray()
        self._queue: queue.SimpleQueue[bytes | BaseException | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Event()
        self._room.set()

    def __iter__(self) -> Iterator[bytes]:
        while (item := self._queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            with suppress(RuntimeError):  # the loop may be gone when the interpreter ends
                self._loop.call_soon_threadsafe(self._room.set)
            yield item

    async def push(self, block: bytes | memoryview, consumer: asyncio.Future[Any]) -> None:
        """Add bytes; waits while the consumer is behind.

        Args:
            block: Bytes, copied.
            consumer: The consumer's future; its error is raised here.
        """
        view = memoryview(block)
        while view:
            room = self._size - len(self._chunk)
            self._chunk += view[:room]
            view = view[room:]
            if len(self._chunk) == self._size:
                await self._hand_over(consumer)

    async def end(self, consumer: asyncio.Future[Any]) -> None:
        """Hand over the rest and tell that there is no more."""
        if self._chunk:
            await self._hand_over(consumer)
        self._queue.put(None)

    def abort(self) -> None:
        """Make the consumer fail at its next step."""
        self._queue.put(FeedAborted("the producer gave up"))

    async def _hand_over(self, consumer: asyncio.Future[Any]) -> None:
        waiter = asyncio.ensure_future(self._room.wait())
        try:
            await asyncio.wait({waiter, consumer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiter.cancel()
        if consumer.done():
            await consumer
        self._room.clear()
        self._queue.put(bytes(self._chunk))
        self._chunk.clear()
