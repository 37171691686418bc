"""The sha256 of what passes by, computed in a thread beside the transfer."""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Iterable

from kmnb.core.bounds import MIB
from kmnb.storage._threads import in_thread

INLINE_BYTES = 64 * 1024
"""Blocks below this size are digested at once where nothing waits: a thread would take longer."""
AHEAD_BYTES = 8 * MIB
"""Most bytes that wait for the digest; whoever feeds more waits with them."""


class RunningDigest:
    """A digest that follows behind.

    One thread takes what was fed for as long as there is something, so that a fast transfer enters a thread once and
    not for every block. Close it before the blocks' memory is used again.
    """

    def __init__(self) -> None:
        self._sha = hashlib.sha256()
        self._waiting: deque[bytes | memoryview] = deque()
        self._fed = self._done = 0
        self._work: asyncio.Future[None] | None = None

    async def feed(self, blocks: Iterable[bytes | memoryview]) -> None:
        """Take blocks, whose bytes must stay as they are until :meth:`settle` or :meth:`finish` returned."""
        for block in blocks:
            self._fed += len(block)
            if len(block) < INLINE_BYTES and not self._is_behind:
                self._sha.update(block)
                self._done += len(block)
            else:
                self._waiting.append(block)
        self._begin()
        while self._work is not None and self._fed - self._done > AHEAD_BYTES:
            await self._step()

    @property
    def _is_behind(self) -> bool:
        return bool(self._waiting) or (self._work is not None and not self._work.done())

    def _begin(self) -> None:
        if self._waiting and (self._work is None or self._work.done()):
            self._work = asyncio.ensure_future(in_thread(self._update))

    async def _step(self) -> None:
        assert self._work is not None
        await asyncio.shield(self._work)
        self._begin()

    def _update(self) -> None:
        while self._waiting:
            block = self._waiting.popleft()
            self._sha.update(block)
            self._done += len(block)

    async def settle(self) -> None:
        """Wait until everything that was fed is digested."""
        while self._is_behind:
            self._begin()
            await self._step()

    async def finish(self) -> bytes:
        """Wait for all of it and give the digest."""
        await self.settle()
        return self._sha.digest()

    async def close(self) -> None:
        """Forget what waits, and wait until no block is used any more."""
        self._waiting.clear()
        if self._work is not None:
            await asyncio.wait({self._work})
