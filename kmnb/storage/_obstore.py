"""The one place that calls obstore: a bucket, or the memory of this process, as coroutines.

obstore is called blocking in worker threads, since its own coroutines can abort the process at exit. Its errors
become those of kmnb by one table, in ``backends/_bucket_errors``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import obstore

from kmnb.errors import ArtifactNotFound, StoreError, StoreUnavailable
from kmnb.storage._life import Life
from kmnb.storage.backends._bucket_calls import RESEND_PAUSES, call, is_forked
from kmnb.storage.backends._bucket_errors import Misplaced, TryAgain
from kmnb.storage.backends._bucket_upload import upload

T = TypeVar("T")

CHUNK_BYTES = 512 * 1024
"""Least size of the chunks of a stream; the library's are a little larger, which is still below a window."""
GATHER_BYTES = 2 * 1024 * 1024
"""How much of a stream is taken before the thread is left; so much is handed out, so much is ahead."""
_METADATA = "kmnb"


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


def _read(result: Any, data: bytes = b"") -> Found:
    found = _found(result.meta, result.attributes, data)
    if not found.revision:
        # A login page of some network, for example, is no object.
        step = "Check the endpoint, and what stands between it and this machine"
        raise StoreUnavailable("the endpoint", "what answers there is no object store", step)
    return found


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
        is_memory: Whether it is the memory of this process, which needs the library's threads for uploads only.
    """

    def __init__(self, store: Any, name: str, *, is_memory: bool = False) -> None:
        self._store, self.name, self.life, self._is_memory = store, name, Life(name), is_memory

    def _check(self, thing: str) -> None:
        self.life.check()
        if is_forked() and not self._is_memory:
            reason = "the library of buckets was started before this process was forked, and works in the parent only"
            step = "Start processes by 'spawn' or 'forkserver', or fork before the first store is opened"
            raise StoreError(thing, reason, step, forked=True)

    async def _call(self, thing: str, work: Callable[[], T], **how: Any) -> T:
        self._check(thing)
        return await call(thing, work, **how)

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
        put = partial(obstore.put, self._store, path, data, **options)
        return _revision(await self._call(thing, put, path=path, conditional=mode != "overwrite", again=True))

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
        self._check(thing)
        if is_forked():
            data = b"".join([bytes(block) async for block in blocks])
            await self.put(path, data, thing=thing, metadata=metadata, attributes=attributes)
            return
        kept = {**(attributes or {}), _METADATA: metadata}
        await upload(self._store, path, blocks, thing=thing, attributes=kept)

    async def get(self, path: str, *, thing: str, max_bytes: int | None = None) -> Found:
        """Read all of it; beyond ``max_bytes`` nothing but what is kept with it."""

        def read() -> Found:
            result = obstore.get(self._store, path)
            small = max_bytes is None or result.meta["size"] <= max_bytes
            return _read(result, bytes(result.bytes()) if small else b"")

        return await self._call(thing, read, path=path)

    async def get_range(self, path: str, start: int, end: int, *, thing: str) -> Found:
        """Read a range that is not empty and begins inside; the end is exclusive."""

        def read() -> Found:
            result = obstore.get(self._store, path, options={"range": (start, end)})
            return _read(result, bytes(result.bytes()))

        return await self._call(thing, read, path=path)

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
            return _read(result), result.stream(min_chunk_size=CHUNK_BYTES)

        found, chunks = await self._call(thing, begin, path=path)
        ahead = asyncio.ensure_future(self._call(thing, partial(_some, chunks), path=path))
        try:
            while some := await ahead:
                ahead = asyncio.ensure_future(self._call(thing, partial(_some, chunks), path=path))
                yield found, some
        finally:
            ahead.cancel()
            ahead.add_done_callback(_forget)

    async def head(self, path: str, *, thing: str) -> Found:
        """Tell what is kept with it, without its bytes."""

        def read() -> Found:
            result = obstore.get(self._store, path, options={"head": True})
            return _read(result)

        return await self._call(thing, read, path=path)

    async def list(self, folder: str) -> AsyncGenerator[Found, None]:
        """Walk everything below a folder, page by page, in the store's order."""
        last, lost = None, 0
        while True:
            pages = iter(obstore.list(self._store, prefix=folder.rstrip("/"), offset=last, chunk_size=1000))
            try:
                while page := await self._call(self.name, partial(next, pages, None)):
                    for meta in page:
                        yield _found(meta)
                    last, lost = str(page[-1]["path"]), 0
            except TryAgain:
                # A page that breaks off is asked for again, from where the last one ended.
                if lost == len(RESEND_PAUSES):
                    raise
                await asyncio.sleep(RESEND_PAUSES[lost])
                lost += 1
            else:
                return

    async def delete(self, path: str, *, thing: str) -> None:
        """Remove it; silent when it is not there."""
        with suppress(ArtifactNotFound):
            await self._call(thing, partial(obstore.delete, self._store, path), path=path, again=True)

    async def discard(self, path: str, *, thing: str) -> None:
        """Remove what nobody needs any more; where that fails it stays for the collection of leftovers."""
        with suppress(StoreError):
            await self.delete(path, thing=thing)

    async def probe(self, folder: str) -> None:
        """Make sure that the bucket is there and that a folder of it may be listed."""
        pages = iter(obstore.list(self._store, prefix=folder.rstrip("/") or None, chunk_size=1))
        with suppress(Misplaced):
            await self._call(self.name, partial(next, pages, None))
