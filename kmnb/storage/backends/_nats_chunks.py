"""Reading an object's chunks: ranges, and whole objects. The transfer understands, this goes on after a loss."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing

from kmnb.core.bounds import MIB, WINDOW_BYTES
from kmnb.core.progress import retried
from kmnb.errors import DigestMismatch, StoreError, StoreUnavailable
from kmnb.storage._digest import RunningDigest
from kmnb.storage.backends import _nats_patience as patience
from kmnb.storage.backends._nats_bucket import Bucket
from kmnb.storage.backends._nats_feeds import ConsumerFeed, DirectFeed, Feed
from kmnb.storage.backends._nats_lanes import Lanes
from kmnb.storage.backends._nats_layout import Place
from kmnb.storage.backends._nats_locate import Layout, Locator
from kmnb.storage.backends._nats_transfer import ChunkTransfer, Gap, Lost

CACHE_BYTES = 8 * MIB
"""How much of the chunks read last is kept for the next range."""
CONSUMER_BYTES = 8 * MIB
"""Size from which on a reading is worth a consumer: making and removing one costs two requests."""
LAG_SECONDS = 5.0
"""How long a replica may lack what the leader has."""
PAUSE_SECONDS = 0.1
"""Pause before a lost or lagging read is taken up again."""


class ChunkReader:
    """Reads chunks of one bucket."""

    def __init__(self, bucket: Bucket, lanes: Lanes) -> None:
        self.bucket = bucket
        self._lanes = lanes
        self._locator = Locator(bucket, lanes)
        self._cache: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._cached = 0

    async def read_range(self, place: Place, start: int, end: int, *, key: str, is_fresh: bool) -> bytes:
        """Read bytes from ``start`` to ``end``, exclusive, of an object of a known place.

        Args:
            place: Where its chunks are.
            start: First byte.
            end: End, exclusive.
            key: The object, for errors.
            is_fresh: Whether the object was seen just now; else chunks that are kept are not handed out unasked,
                since others may have deleted it.

        Raises:
            DigestMismatch: Its chunks do not add up.
        """
        layout = await self._locator.layout(place, key=key)
        first, last = layout.index(start), layout.index(end - 1)
        is_kept = all((place.nuid, index) in self._cache for index in range(first, last + 1))
        if is_kept and not is_fresh and not await self._is_whole(place, key):
            self._forget(place.nuid)
        chunks = [chunk async for chunk in self._chunks(place, first, end=last + 1, layout=layout, key=key)]
        skip = start - layout.offset(first)
        if len(chunks) == 1:
            return chunks[0][skip : skip + end - start]
        chunks[0] = chunks[0][skip:]
        chunks[-1] = chunks[-1][: end - layout.offset(last)]
        return b"".join(chunks)

    async def _chunks(
        self, place: Place, first: int, *, end: int, layout: Layout, key: str
    ) -> AsyncGenerator[bytes, None]:
        """Walk single chunks; what was read a moment ago is not read again."""
        index = first
        while index < end and len(known := self._recall(place.nuid, index)) == layout.size(index):
            yield known
            index += 1
        if index == end:
            return
        async with aclosing(self._walk(place, index, end=end, layout=layout, key=key)) as walk:
            async for chunk in walk:
                if len(chunk) != layout.size(index):
                    raise DigestMismatch(
                        f"artifact {key!r}", f"chunk {index} has {len(chunk)} bytes, not what it should"
                    )
                if index >= end - 2:
                    self._remember(place.nuid, index, chunk)
                index += 1
                yield chunk

    async def _is_whole(self, place: Place, key: str) -> bool:
        """Ask whether an object's chunks are still there; the answer is small, whatever the object holds."""
        try:
            question = {"subjects_filter": place.chunk_subject}
            answer = await self.bucket.api("STREAM.INFO", question, thing=f"artifact {key!r}")
        except StoreUnavailable:
            raise
        except StoreError:
            return False  # the right to ask may be missing; then they are read again
        return bool((answer["state"].get("subjects") or {}).get(place.chunk_subject) == place.chunks)

    def _forget(self, nuid: str) -> None:
        for known in [known for known in self._cache if known[0] == nuid]:
            self._cached -= len(self._cache.pop(known))

    def _recall(self, nuid: str, index: int) -> bytes:
        """Give a chunk that is kept; nothing where there is none, and no chunk is empty."""
        known = self._cache.get((nuid, index), b"")
        if known:
            self._cache.move_to_end((nuid, index))
        return known

    def _remember(self, nuid: str, index: int, data: bytes) -> None:
        self._cached += len(data) - len(self._cache.pop((nuid, index), b""))
        self._cache[nuid, index] = data
        while self._cached > CACHE_BYTES:
            _, dropped = self._cache.popitem(last=False)
            self._cached -= len(dropped)

    async def stream(self, place: Place, *, key: str) -> AsyncGenerator[bytes, None]:
        """Read all of it in order; size and digest are checked before the end.

        Raises:
            DigestMismatch: Short, long, changed or corrupt.
        """
        digest, done = RunningDigest(), 0
        try:
            async with aclosing(self._walk(place, 0, end=place.chunks, layout=None, key=key)) as walk:
                async for window in walk:
                    await digest.feed([window])
                    done += len(window)
                    for begin in range(0, len(window), WINDOW_BYTES):
                        yield window[begin : begin + WINDOW_BYTES]
            found = await digest.finish()
        finally:
            await digest.close()
        if done != place.size:
            raise DigestMismatch(f"artifact {key!r}", f"it has {done} bytes, {place.size} were stored")
        if place.digest is not None and found != place.digest:
            raise DigestMismatch(f"artifact {key!r}", "its sha256 is not that of what was stored")

    async def _walk(
        self, place: Place, first: int, *, end: int, layout: Layout | None, key: str
    ) -> AsyncGenerator[bytes, None]:
        """Walk chunks from ``first`` to ``end``, exclusive: one by one with a layout, else joined to windows."""
        if first >= end:
            return
        feed = self._feed(place, first, end=end, key=key)
        transfer = ChunkTransfer(place, feed, first, end=end, key=key, joins=layout is None)
        effort = _Effort(self.bucket, place, key)
        start = await self._locator.start(place, first, layout=layout, key=key)
        try:
            while not transfer.is_done:
                try:
                    async with self._lanes.lane(f"artifact {key!r}") as lane:
                        feed = transfer.feed = await self._started(feed, start, place=place)
                        transfer.begin(lane, start)
                        while not transfer.is_done:
                            window = await transfer.window(patience.STALL_SECONDS)
                            effort.renew()
                            yield window
                except (Lost, StoreUnavailable) as error:
                    await effort.after_loss(error)
                    start = transfer.resume_sequence() or start
                except Gap as gap:
                    known = transfer.resume_sequence()
                    if known is None and gap.index is not None:
                        self._locator.learn(place, start, place.chunks - gap.index)
                    start = known or await self._locator.find(place, first, key=key)
                    await effort.after_gap(gap, is_first=known is None and first > 0)
            self._locator.remember(place, end, transfer.resume_sequence())
        finally:
            await feed.stop()

    def _feed(self, place: Place, first: int, *, end: int, key: str) -> Feed:
        """Choose the road: direct gets reach any chunk at once, a consumer costs the server less a chunk."""
        is_long = (end - first) * place.chunk_bytes >= CONSUMER_BYTES
        if self.bucket.sends_batches and not is_long:
            return DirectFeed(self.bucket, place.chunk_subject)
        return ConsumerFeed(self.bucket, place.chunk_subject, thing=f"artifact {key!r}")

    async def _started(self, feed: Feed, start: int, *, place: Place) -> Feed:
        """Begin; where consumers are forbidden or used up, by direct gets."""
        try:
            await feed.start(start)
        except StoreUnavailable:
            raise
        except StoreError:
            if not self.bucket.sends_batches:
                raise
            feed = DirectFeed(self.bucket, place.chunk_subject)
        return feed


class _Effort:
    """How long it is worth going on after losses and gaps."""

    def __init__(self, bucket: Bucket, place: Place, key: str) -> None:
        self._bucket, self._place, self._key = bucket, place, key
        self._loop = asyncio.get_running_loop()
        self._patience = patience.Patience(bucket, f"artifact {key!r}")
        self._gaps = 0
        self.renew()

    def renew(self) -> None:
        """Take note that something came."""
        self._since = self._loop.time()
        self._patience.renew()

    async def after_loss(self, error: Exception) -> None:
        """Pause before the next try, or give up.

        Raises:
            StoreUnavailable: Nothing came for too long.
        """
        address = self._bucket.link.address
        if await self._patience.is_spent(error):
            if isinstance(error, StoreUnavailable):
                raise error
            reason = f"{address.shown} did not send it in time"
            raise StoreUnavailable(
                f"artifact {self._key!r}", reason, "Is the server up?", server=address.shown
            ) from error
        retried()
        await asyncio.sleep(PAUSE_SECONDS)

    async def after_gap(self, gap: Gap, *, is_first: bool) -> None:
        """Allow one better guess at the place, and replicas some time to catch up.

        Raises:
            DigestMismatch: The chunks are not there.
        """
        self._gaps += 1
        if is_first and self._gaps == 1:
            return
        if self._bucket.replicas == 1 or self._loop.time() - self._since > LAG_SECONDS:
            raise DigestMismatch(f"artifact {self._key!r}", str(gap)) from gap
        await asyncio.sleep(PAUSE_SECONDS)
