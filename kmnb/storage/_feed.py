"""Hand blocks from a coroutine to a blocking consumer in another thread, a bounded number at a time."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from kmnb.storage._source import is_fixed


class FeedAborted(Exception):
    """Raised in the consumer's thread when the producer gave up."""


class Feed:
    """An iterator of bytes for a thread, filled from a coroutine.

    Args:
        size: Bytes that are gathered before they are handed over; one such chunk waits at most.
    """

    def __init__(self, size: int) -> None:
        self._size, self._held = size, 0
        self._parts: list[bytes | memoryview] = []
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
            block: Bytes; copied before this returns where they could change.
            consumer: The consumer's future; its error is raised here.
        """
        view = memoryview(block)
        while view:
            part = view[: self._size - self._held]
            self._parts.append(part if is_fixed(part) else bytes(part))
            self._held += len(part)
            view = view[len(part) :]
            if self._held == self._size:
                await self._hand_over(consumer)

    async def end(self, consumer: asyncio.Future[Any]) -> None:
        """Hand over the rest and tell that there is no more."""
        if self._held:
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
        self._queue.put(b"".join(self._parts))
        self._parts.clear()
        self._held = 0
