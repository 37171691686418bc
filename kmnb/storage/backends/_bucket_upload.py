"""Uploads in parts: a stream goes in, one object comes out or none."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

import obstore

from kmnb.errors import ArtifactNotFound, StoreDenied, StoreError, StoreUnavailable
from kmnb.storage._feed import Feed
from kmnb.storage.backends._bucket_calls import call

PART_BYTES = 8 * 1024 * 1024
"""Size of a part of an upload; ten thousand of them are the largest object that S3 takes."""
PARTS_UNDER_WAY = 3
"""Parts that are sent at once; with the one being filled they bound the memory of an upload."""
FEED_BYTES = 2 * 1024 * 1024
"""How much the library is handed at once; it makes parts of it."""
LET_GO_SECONDS = 1.0
"""How long a cancelled or failed upload is waited for while it is thrown away; a store that hangs holds nobody up."""
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


async def upload(
    store: Any, path: str, blocks: AsyncIterator[bytes | memoryview], *, thing: str, attributes: Mapping[str, str]
) -> None:
    """Store a stream in parts; what was sent is thrown away when it fails or is cancelled.

    Args:
        store: A store of obstore.
        path: Full path; nobody else writes it.
        blocks: The stream.
        thing: What errors name.
        attributes: What is kept with it, by obstore's names.

    Raises:
        StoreError: It was not stored.
    """
    feed, size, is_whole = Feed(FEED_BYTES), 0, False
    options: dict[str, Any] = {
        "use_multipart": True,
        "chunk_size": PART_BYTES,
        "max_concurrency": PARTS_UNDER_WAY,
        "attributes": attributes,
    }

    def send() -> None:
        ended = _under_way[feed] = threading.Event()
        try:
            obstore.put(store, path, iter(feed), **options)
        finally:
            ended.set()
            _under_way.pop(feed, None)

    sending = asyncio.ensure_future(call(thing, send, path=path))
    try:
        async for block in blocks:
            await feed.push(block, sending)
            size += len(block)
        await feed.end(sending)
        is_whole = True
        await asyncio.shield(sending)
    except BaseException as error:
        # The iterator raises in obstore's thread, which then aborts the upload there.
        feed.abort()
        sending.add_done_callback(_forget)
        await asyncio.wait({sending}, timeout=LET_GO_SECONDS)
        if not sending.done() or sending.cancelled() or sending.exception() is not error:
            raise
        # The request that joins the parts is sent again when its answer is lost, and then finds no parts any more.
        if is_whole and not isinstance(error, StoreDenied) and await _is_there(store, path, size):
            return
        if isinstance(error, ArtifactNotFound):
            step = "Try again; see that the bucket is there"
            raise StoreUnavailable(thing, "the store knows nothing of the upload", step) from None
        raise


async def _is_there(store: Any, path: str, size: int) -> bool:
    with suppress(ArtifactNotFound, StoreError):
        meta = await call("an upload", lambda: obstore.head(store, path), path=path)
        return bool(meta["size"] == size)
    return False


def _forget(task: asyncio.Future[None]) -> None:
    """Take note of an error that nobody waits for any more."""
    if not task.cancelled():
        task.exception()
