"""Writing an object: chunks first, then the meta message that makes it visible; on a failure nothing stays."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from datetime import UTC, datetime
from functools import partial

from kmnb.errors import AlreadyExists, KmnbError, StoreError, StoreUnavailable, said
from kmnb.storage._attributes import final_attributes
from kmnb.storage._callers import tell
from kmnb.storage._digest import RunningDigest
from kmnb.storage._protocols import Attributes, Progress, Source
from kmnb.storage._source import blocks, is_fixed, known_size
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends._nats_bucket import Bucket
from kmnb.storage.backends._nats_lane import Lane
from kmnb.storage.backends._nats_lanes import Lanes
from kmnb.storage.backends._nats_layout import EVEN, chunk_subject, meta_subject, write_digest, write_meta
from kmnb.storage.backends._nats_leftovers import LEFTOVER_SECONDS
from kmnb.storage.backends._nats_patience import Patience
from kmnb.storage.backends._nats_sender import Broken, Chunk, ChunkSender

CALM_SECONDS = 0.1
"""How long a failed put waits for chunks in flight, which would else arrive after their removal."""
PURGE_SECONDS = 3.0
"""How long a failed put tries to remove its chunks; what stays then is collected later."""
LATE_PAUSES = (0.2, 1.0, 4.0)
"""Pauses before each further removal where chunks were in flight to the last; nobody waits for these."""
PAUSE_SECONDS = 0.1
"""Pause before a lost window is sent again."""


class ObjectWriter:
    """One put."""

    def __init__(self, bucket: Bucket, lanes: Lanes, key: str) -> None:
        from nats.nuid import NUID

        self.bucket, self.key = bucket, key
        self.thing = f"artifact {key!r}"
        self.nuid = NUID().next().decode()
        self.subject = chunk_subject(bucket.name, self.nuid)
        self._lanes, self._chunk_bytes = lanes, bucket.chunk_bytes
        self._stack = AsyncExitStack()
        self._lane: Lane | None = None
        self._sender = ChunkSender(bucket, self.subject, thing=self.thing)

    async def write(self, source: Source, attributes: Attributes | None, progress: Progress | None) -> bytes:
        """Store the chunks and give the meta document; nothing is visible yet.

        Raises:
            StoreError: The stream refused a chunk, or the server stayed away.
        """
        digest = await self._send(source, progress)
        extra = final_attributes(attributes)
        return write_meta(
            {
                "name": self.key,
                "metadata": extra,
                "options": {"max_chunk_size": self._chunk_bytes},
                "bucket": self.bucket.name,
                "nuid": self.nuid,
                "size": self._sender.size,
                "mtime": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
                "chunks": self._sender.count,
                "digest": write_digest(digest),
                "deleted": False,
                EVEN: True,
            }
        )

    async def _send(self, source: Source, progress: Progress | None) -> bytes:
        digest, total, sender = RunningDigest(), known_size(source), self._sender
        begun = asyncio.get_running_loop().time()
        try:
            async with self._stack, self._calm(), aclosing(chunk_groups(source, self._chunk_bytes)) as groups:
                async for group in groups:
                    await digest.feed(group)
                    for chunk in group:
                        sender.add(chunk)
                    await self._persist(sender.flow)
                    tell(progress, sender.size, total)
                if sender.count:
                    await self._persist(partial(sender.flow, 0))
            found = await digest.finish()
        finally:
            await digest.close()
        if sender.was_repeated or asyncio.get_running_loop().time() - begun > LEFTOVER_SECONDS / 2:
            await self._recount()
        return found

    @contextlib.asynccontextmanager
    async def _calm(self) -> AsyncIterator[None]:
        """After a failure wait a little for the chunks in flight, which would else arrive after their removal."""
        try:
            yield
        except BaseException:
            with contextlib.suppress(Broken, KmnbError, TimeoutError):
                async with asyncio.timeout(CALM_SECONDS):
                    await self._sender.settle()
            raise

    async def _persist(self, step: Callable[[], Awaitable[None]]) -> None:
        """Do a step over a lane; after a loss over another one, until nothing is acknowledged for too long."""
        patience = Patience(self.bucket, self.thing)
        while True:
            try:
                await self._ensure_lane()
                await step()
                return
            except (Broken, StoreUnavailable) as error:
                self._drop_lane()
                if await patience.is_spent(error):
                    shown = self.bucket.link.address.shown
                    reason = f"{shown} did not take it in time: {said(error, self.thing)}"
                    advice = "Is the server up, and is there room on its disk?"
                    raise StoreUnavailable(self.thing, reason, advice, server=shown) from error
                await asyncio.sleep(PAUSE_SECONDS)

    async def _ensure_lane(self) -> None:
        if self._lane is None:
            lane = await self._stack.enter_async_context(self._lanes.lane(self.thing))
            self._lane = lane
            await self._sender.begin(lane)

    def _drop_lane(self) -> None:
        if self._lane is not None:
            self._lane.abort()
            self._lane = None

    async def _recount(self) -> None:
        """Make sure that what was sent twice is stored once, and that a long put was not taken for a leftover."""
        answer = await self.bucket.api("STREAM.INFO", {"subjects_filter": self.subject}, thing=self.thing)
        stored = (answer["state"].get("subjects") or {}).get(self.subject, 0)
        if stored != self._sender.count:
            raise StoreError(self.thing, f"{stored} chunks are stored of {self._sender.count}", "Put it again")

    async def commit(self, document: bytes, expected: int) -> int:
        """Publish the meta document if the object's last one has the expected place; 0 for none.

        Returns:
            The place of the new one.

        Raises:
            AlreadyExists: It has another place.
        """
        headers = {
            "Nats-Rollup": "sub",
            "Nats-Msg-Id": f"{self.nuid}.meta.{expected}",
            "Nats-Expected-Last-Subject-Sequence": str(expected),
        }
        subject = meta_subject(self.bucket.name, self.key)
        try:
            return await self.bucket.store(subject, document, thing=self.thing, headers=headers)
        except failures.ApiError as error:
            if error.code in failures.WRONG_SEQUENCE:
                raise AlreadyExists(self.thing, "there is one already", "Choose another key") from error
            raise failures.translate(error, self.thing, self.bucket.link.address.shown) from error

    async def undo(self, error: BaseException) -> None:
        """Remove the chunks of a put that failed, as far as the server lets us; nobody waits for one that is away."""
        if not self._sender.count:
            return
        is_away = failures.is_away(error)
        if is_away or not self._sender.is_settled:
            self._lanes.later(self._purge_again)
        if not is_away:
            await self._purge()

    async def _purge(self) -> None:
        with contextlib.suppress(KmnbError, TimeoutError):
            async with asyncio.timeout(PURGE_SECONDS):
                await self.bucket.purge(self.subject, thing=self.thing)

    async def _purge_again(self) -> None:
        """Remove what a busy server stores only now, though its sender has long given up."""
        for pause in LATE_PAUSES:
            await asyncio.sleep(pause)
            await self._purge()


async def chunk_groups(source: Source, size: int) -> AsyncGenerator[list[Chunk], None]:
    """Cut a source into chunks of one size, only the last is smaller; in groups of what came at once.

    A chunk is held until it is acknowledged, so it is copied unless the bytes behind it cannot change.
    """
    rest = bytearray()
    async with aclosing(blocks(source)) as walk:
        async for block in walk:
            view, group, start = memoryview(block), list[Chunk](), 0
            if rest:
                start = size - len(rest)
                rest += view[:start]
                if len(rest) < size:
                    continue
                group.append(bytes(rest))
                rest.clear()
            whole = start + (len(view) - start) // size * size
            parts = (view[begin : begin + size] for begin in range(start, whole, size))
            group += parts if is_fixed(view) else map(bytes, parts)
            rest += view[whole:]
            if group:
                yield group
    if rest:
        yield [bytes(rest)]
