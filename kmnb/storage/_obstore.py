"""The one place that calls obstore: a bucket, or the memory of this process, as coroutines.

obstore is called blocking in worker threads, since its own coroutines can abort the process at exit. Its errors
become those of kmnb by one table, in ``backends/_bucket_errors``.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import obstore

from kmnb.errors import ArtifactNotFound
from kmnb.storage._feed import Feed
from kmnb.storage._life import Life
from kmnb.storage._threads import in_thread_detached
from kmnb.storage.backends._bucket_errors import ConnectionLost, translate

T = TypeVar("T")

PART_BYTES = 8 * 1024 * 1024
"""Size of a part of an upload; ten thousand of them are the largest object that S3 takes."""
PARTS_UNDER_WAY = 3
"""Parts that are sent at once; with the one being filled they bound the memory of an upload."""
CHUNK_BYTES = 512 * 1024
"""Least size of the chunks of a stream; the library's are a little larger, which is still below a window."""
GATHER_BYTES = 2 * 1024 * 1024
"""How much of a stream is taken before the thread is left; so much is handed out, so much is ahead."""
FEED_BYTES = 2 * 1024 * 1024
"""How much the library is handed at once; it makes parts of it."""
_METADATA = "kmnb"
RESEND_PAUSES = (0.1, 0.5)
"""Seconds before a small write whose connection broke is sent again; whoever wrote knows its own bytes again."""


EXIT_SECONDS = 3.0
"""How long the end of the interpreter waits for uploads under way to be thrown away."""
_under_way: dict[Feed, threading.Event] = {}


@atexit.register
def _end_uploads() -> None:
    """Have no upload ask for its next chunk of an interpreter that is gone: the library would panic."""
    ending = list(_under_way.items())
    for feed, _ in ending:
        feed.abort()
    until = time.monotonic() + EXIT_SECONDS
    for _, ended in ending:
        ended.wait(max(0, until - time.monotonic()))


os.register_at_fork(after_in_child=_under_way.clear)


@dataclass(frozen=True, slots=True)
class Found:
    """One stored thing as the bucket tells of it."""

    path: str
    """Full path in the bucket."""
    size: int
    """Bytes in all, also when a range was read."""
    modified: datetime
    """When it was written, by the store's clock."""
    revision: Mapping[str, str]
    """ETag and version, as a conditional write wants them."""
    metadata: str | None = None
    """The text kept with it; None in listings and where there is none."""
    data: bytes = b""
    """What was read."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Everything that is kept with it, by obstore's names; empty in listings."""


def _found(meta: Any, attributes: Mapping[str, str] | None = None, data: bytes = b"") -> Found:
    told = dict(attributes or {})
    revision = _revision(meta)
    return Found(str(meta["path"]), meta["size"], meta["last_modified"], revision, told.get(_METADATA), data, told)


def _revision(told: Any) -> dict[str, str]:
    return {name: told[name] for name in ("e_tag", "version") if told.get(name) is not None}


def _forget(task: asyncio.Future[list[bytes]]) -> None:
    """Take note of an error that nobody waits for any more."""
    if not task.cancelled():
        task.exception()


def _some(chunks: Any) -> list[bytes]:
    """Take the next chunks; none at the end."""
    taken, held = list[bytes](), 0
    while held < GATHER_BYTES and (chunk := next(chunks, None)) is not None:
        taken.append(bytes(chunk))  # which is no copy where it is bytes already
        held += len(taken[-1])
    return taken


class Bucket:
    """A bucket, container or memory store.

    Args:
        store: A store of obstore.
        name: How errors call it.
    """

    def __init__(self, store: Any, name: str) -> None:
        self._store, self.name, self.life = store, name, Life(name)

    async def _call(self, thing: str, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        self.life.check()
        try:
            return await in_thread_detached(partial(function, *args, **kwargs))
        except BaseException as error:
            # A panic of the library is no Exception; it is the store's fault all the same.
            ours = translate(thing, error)
            if ours is None:
                raise
            raise ours from None

    async def put(
        self,
        path: str,
        data: bytes,
        *,
        thing: str,
        mode: Any = "overwrite",
        metadata: str | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """Store bytes at once; they are sent again when the connection breaks.

        A conditional write that was sent again may meet its own first success: the caller compares.

        Args:
            path: Full path.
            data: All of it.
            mode: ``create``, ``overwrite``, or the revision that is to be replaced.
            metadata: ASCII text kept with it, atomically.
            attributes: What is kept with it besides, by obstore's names.
            thing: What errors name.

        Returns:
            The new revision.

        Raises:
            AlreadyExists: ``create`` and it is there.
            VersionConflict: It is not of that revision.
        """
        kept = {**(attributes or {}), **({} if metadata is None else {_METADATA: metadata})}
        options: dict[str, Any] = {"mode": mode, "use_multipart": False, "attributes": kept}
        for pause in RESEND_PAUSES:
            try:
                return _revision(await self._call(thing, obstore.put, self._store, path, data, **options))
            except ConnectionLost:
                await asyncio.sleep(pause)
        return _revision(await self._call(thing, obstore.put, self._store, path, data, **options))

    async def upload(
        self,
        path: str,
        blocks: AsyncIterator[bytes | memoryview],
        *,
        thing: str,
        metadata: str,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        """Store a stream in parts; what was sent is thrown away when it fails or is cancelled."""
        feed = Feed(FEED_BYTES)
        options: dict[str, Any] = {
            "use_multipart": True,
            "chunk_size": PART_BYTES,
            "max_concurrency": PARTS_UNDER_WAY,
            "attributes": {**(attributes or {}), _METADATA: metadata},
        }

        def send() -> None:
            ended = _under_way[feed] = threading.Event()
            try:
                obstore.put(self._store, path, iter(feed), **options)
            finally:
                ended.set()
                _under_way.pop(feed, None)

        sending = asyncio.ensure_future(self._call(thing, send))
        try:
            async for block in blocks:
                await feed.push(block, sending)
            await feed.end(sending)
            await sending
        except BaseException:
            # The iterator raises in obstore's thread, which then aborts the upload there.
            feed.abort()
            with suppress(BaseException):
                await asyncio.shield(sending)
            raise

    async def get(self, path: str, *, thing: str, max_bytes: int | None = None) -> Found:
        """Read all of it; beyond ``max_bytes`` nothing but what is kept with it."""

        def read() -> Found:
            result = obstore.get(self._store, path)
            small = max_bytes is None or result.meta["size"] <= max_bytes
            return _found(result.meta, result.attributes, bytes(result.bytes()) if small else b"")

        return await self._call(thing, read)

    async def get_range(self, path: str, start: int, end: int, *, thing: str) -> Found:
        """Read a range that is not empty and begins inside; the end is exclusive."""

        def read() -> Found:
            result = obstore.get(self._store, path, options={"range": (start, end)})
            return _found(result.meta, result.attributes, bytes(result.bytes()))

        return await self._call(thing, read)

    async def stream(
        self, path: str, start: int, end: int, *, thing: str
    ) -> AsyncGenerator[tuple[Found, list[bytes]], None]:
        """Read a range that is not empty and begins inside, some chunks at a time, the next ones ahead.

        Args:
            path: Full path.
            start: First byte.
            end: End, exclusive.
            thing: What errors name.

        Yields:
            What is kept with it, and the next chunks of some :data:`CHUNK_BYTES`; a memory store gives one chunk.
        """

        def begin() -> tuple[Found, Any]:
            result = obstore.get(self._store, path, options={"range": (start, end)})
            return _found(result.meta, result.attributes), result.stream(min_chunk_size=CHUNK_BYTES)

        found, chunks = await self._call(thing, begin)
        ahead = asyncio.ensure_future(self._call(thing, _some, chunks))
        try:
            while some := await ahead:
                ahead = asyncio.ensure_future(self._call(thing, _some, chunks))
                yield found, some
        finally:
            ahead.cancel()
            ahead.add_done_callback(_forget)

    async def head(self, path: str, *, thing: str) -> Found:
        """Tell what is kept with it, without its bytes."""

        def read() -> Found:
            result = obstore.get(self._store, path, options={"head": True})
            return _found(result.meta, result.attributes)

        return await self._call(thing, read)

    async def list(self, folder: str) -> AsyncGenerator[Found, None]:
        """Walk everything below a folder, page by page, in the store's order."""
        pages = iter(obstore.list(self._store, prefix=folder.rstrip("/"), chunk_size=1000))
        while page := await self._call(self.name, next, pages, None):
            for meta in page:
                yield _found(meta)

    async def delete(self, path: str, *, thing: str) -> None:
        """Remove it; silent when it is not there."""
        with suppress(ArtifactNotFound):
            await self._call(thing, obstore.delete, self._store, path)

    async def probe(self) -> None:
        """Make sure that the bucket is there and may be listed."""
        pages = iter(obstore.list(self._store, chunk_size=1))
        await self._call(self.name, next, pages, None)
