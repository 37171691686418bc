"""The look at content on its way into the store: here in a thread, or in the process for large content."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from kmnb.core.bounds import KIB
from kmnb.errors import StoreError
from kmnb.formats._detect import HEAD_BYTES
from kmnb.formats._inspect import Inspector
from kmnb.ops._inspector import InspectorLost, InspectorProcess, is_large, prepare_process, take_process
from kmnb.storage._source import Block, is_fixed

IN_THREAD_BYTES = 128 * KIB
"""Blocks above this size are looked at in a worker thread, so that the loop stays free."""


class Look(Protocol):
    """Looks at blocks that pass by."""

    async def feed(self, block: Block) -> Block:
        """Take the next block, and give it in a form that may be kept."""

    async def finish(self) -> Mapping[str, str]:
        """Give what was found once all of the content has passed by, as attributes of the object."""

    async def close(self) -> None:
        """Let go of everything, also where the put failed half way."""


class _LookHere:
    """Looks in this process: the next block is given only when the one before was seen."""

    def __init__(self, media_type: str | None, name: str | None, *, is_large: bool) -> None:
        self._inspector, self._is_large = Inspector(media_type, name), is_large
        self._looking: asyncio.Future[None] | None = None

    async def feed(self, block: Block) -> Block:
        raw = bytes(block)
        await self.close()
        if len(raw) > IN_THREAD_BYTES:
            self._looking = asyncio.ensure_future(asyncio.to_thread(self._inspector.feed, raw))
        else:
            self._inspector.feed(raw)
        return raw

    async def finish(self) -> Mapping[str, str]:
        await self.close()
        found = self._inspector.attributes()
        if self._is_large:
            # Not before: starting takes longer than storing this, and there may be nothing more to store.
            prepare_process()
        return found

    async def close(self) -> None:
        looking, self._looking = self._looking, None
        if looking is not None:
            await looking


class _LookThere:
    """Hands blocks to the process. What makes that fail is not stored with less, only described with less."""

    def __init__(self, process: InspectorProcess, media_type: str | None, name: str | None) -> None:
        self._process, self._given = process, (media_type, name)
        self._size, self._head = 0, b""
        self._lost: InspectorLost | None = None
        self._is_finished = False
        process.begin(media_type, name)

    async def feed(self, block: Block) -> Block:
        self._size += len(block)
        if len(self._head) < HEAD_BYTES:
            self._head += block[: HEAD_BYTES - len(self._head)]
        if self._lost is None:
            try:
                await self._process.feed(block)
            except InspectorLost as lost:
                self._lost = lost
        return block if is_fixed(block) else bytes(block)

    async def finish(self) -> Mapping[str, str]:
        try:
            if self._lost is not None:
                raise self._lost
            found = await self._process.finish()
        except InspectorLost as lost:
            return self._by_the_head(lost)
        self._is_finished = True
        return found

    def _by_the_head(self, lost: InspectorLost) -> Mapping[str, str]:
        inspector = Inspector(*self._given)
        inspector.feed(self._head)
        inspector.leave(self._size, StoreError("the content", f"only its beginning was looked at: {lost}", ""))
        return inspector.attributes()

    async def close(self) -> None:
        if not self._is_finished:
            self._process.end()


def begin_look(size: int | None, media_type: str | None, name: str | None) -> Look:
    """Begin to look at content.

    Args:
        size: Its size in bytes, where it is known.
        media_type: MIME type that the producer gave.
        name: File name or key.
    """
    large = is_large(size)
    process = take_process() if large else None
    if process is None:
        return _LookHere(media_type, name, is_large=large)
    return _LookThere(process, media_type, name)
