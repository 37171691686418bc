"""Where an object's chunks are: which bytes a chunk holds, and its place in the stream."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeVar

from kmnb.errors import DigestMismatch, KmnbError
from kmnb.storage.backends._nats_bucket import Bucket
from kmnb.storage.backends._nats_feeds import ConsumerFeed
from kmnb.storage.backends._nats_lane import Lane
from kmnb.storage.backends._nats_lanes import Lanes
from kmnb.storage.backends._nats_layout import Place
from kmnb.storage.backends._nats_patience import watched
from kmnb.storage.backends._nats_wire import Frame

T = TypeVar("T")

KNOWN_OBJECTS = 64
"""Objects whose chunk sizes are kept."""
STEPS_MAX = 512
"""Chunks that are stepped over by their headers when a place is searched for."""
POINTS_MAX = 256
"""Places that are kept of an object whose chunks lie between those of others."""
SIZES_BATCH = 4096
"""Chunk sizes asked for at once."""
CHUNKS_MAX = 4_000_000
"""Most chunks whose sizes are listed one by one."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which bytes a chunk holds."""

    place: Place
    """The object."""
    ends: tuple[int, ...] = ()
    """End of each chunk in the object; empty when all but the last have the same size."""
    sequences: tuple[int, ...] = field(default=(), repr=False)
    """Place of each chunk in the stream; empty as well."""

    def index(self, offset: int) -> int:
        """Tell the chunk that holds a byte."""
        return bisect_right(self.ends, offset) if self.ends else offset // self.place.chunk_bytes

    def offset(self, index: int) -> int:
        """Tell where a chunk begins in the object."""
        if self.ends:
            return self.ends[index - 1] if index else 0
        return index * self.place.chunk_bytes

    def size(self, index: int) -> int:
        """Tell the size of a chunk."""
        return self.ends[index] - self.offset(index) if self.ends else self.place.chunk_size(index)


class Locator:
    """Finds chunks of one bucket."""

    def __init__(self, bucket: Bucket, lanes: Lanes) -> None:
        self._bucket, self._lanes = bucket, lanes
        self._layouts: OrderedDict[str, Layout] = OrderedDict()
        self._after: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._points: OrderedDict[str, list[tuple[int, int]]] = OrderedDict()

    async def layout(self, place: Place, *, key: str) -> Layout:
        """Tell which bytes the chunks hold; sizes of other writers are checked once.

        Raises:
            DigestMismatch: The chunks do not add up to the object.
        """
        if place.is_even and place.may_be_even:
            return Layout(place)
        known = self._layouts.get(place.nuid)
        if known is None:
            known = Layout(place) if await self._is_even(place, key) else await self._measure(place, key)
            _keep(self._layouts, place.nuid, known)
        return known

    async def _is_even(self, place: Place, key: str) -> bool:
        """Tell whether all chunks but the last have the same size.

        As many as the size needs at least, none larger than declared, and the last with the rest: then the others
        can only be full.
        """
        if not place.may_be_even:
            return False
        last = await self._bucket.last(place.chunk_subject, thing=f"artifact {key!r}")
        return last is not None and len(last.data) == place.chunk_size(place.chunks - 1)

    async def _measure(self, place: Place, key: str) -> Layout:
        """List the size of every chunk, by headers only."""
        if place.chunks > CHUNKS_MAX:
            raise DigestMismatch(f"artifact {key!r}", f"{place.chunks} chunks of uneven size are too many to list")
        thing = f"artifact {key!r}"
        feed = ConsumerFeed(self._bucket, place.chunk_subject, thing=thing, headers_only=True)
        try:
            async with watched(self._bucket.link, thing), self._lanes.lane(thing) as lane:
                await feed.start(1)
                sizes = await _Sizes(feed, lane).collect(feed.pending, self._bucket.link.address.request_seconds)
        finally:
            await feed.stop()
        ends = tuple(accumulate(size for _, size in sizes))
        if len(ends) != place.chunks or (ends and ends[-1] != place.size):
            raise DigestMismatch(f"artifact {key!r}", "its chunks do not add up to its size")
        return Layout(place, ends, tuple(sequence for sequence, _ in sizes))

    async def start(self, place: Place, index: int, *, layout: Layout | None, key: str) -> int:
        """Name a place in the stream at or before a chunk; a guess where nothing is known yet."""
        if layout is not None and layout.sequences:
            return layout.sequences[index]
        if index == 0:
            return 1
        after = self._after.get(place.nuid)
        if after is not None and after[0] == index:
            return after[1]
        if place.nuid in self._points:
            return await self.find(place, index, key=key)
        # Chunks that were written without a pause lie just before the meta message.
        return max(1, place.sequence - place.chunks + index)

    def remember(self, place: Place, index: int, sequence: int | None) -> None:
        """Take note of where the chunk after the last one that was read must lie."""
        if sequence is not None and index < place.chunks:
            _keep(self._after, place.nuid, (index, sequence))

    async def find(self, place: Place, index: int, *, key: str) -> int:
        """Find the place of a chunk without reading any.

        Other writers put their messages between the chunks, so it is searched for: by steps that double, then by
        interpolation, halved now and then for uneven ones. Every point that was asked about is kept.

        Raises:
            DigestMismatch: There are fewer chunks, or more.
        """
        if index == 0:
            return 1
        wanted = place.chunks - index
        points = self._points_of(place)
        low, high = await self._gallop(place, wanted, points=points, key=key)
        for turn in range(128):
            if low[1] == wanted or high[0] - low[0] <= 1:
                break
            if (
                turn < 3
                and low[1] - wanted <= STEPS_MAX
                and (there := await self._step_to(place, low, wanted=wanted, key=key))
            ):
                low = (there, wanted)
                insort(points, low)
                break
            middle = low[0] + (low[1] - wanted) * (high[0] - low[0]) // (low[1] - high[1])
            middle = min(max(middle, low[0] + 1), high[0] - 1) if turn % 3 < 2 else (low[0] + high[0]) // 2
            point = await self._ask(place, middle, points=points, key=key)
            low, high = (point, high) if point[1] >= wanted else (low, point)
        # Ranks count from the end: were chunks missing or added, the wrong one would be found.
        if (count := (await self._ask(place, 1, points=points, key=key))[1]) != place.chunks:
            raise DigestMismatch(f"artifact {key!r}", f"{count} chunks are there instead of {place.chunks}")
        return low[0]

    async def _step_to(self, place: Place, low: tuple[int, int], *, wanted: int, key: str) -> int | None:
        """Go from a place to a chunk a few steps behind, by headers only; None where that cannot be done."""
        thing = f"artifact {key!r}"
        feed = ConsumerFeed(self._bucket, place.chunk_subject, thing=thing, headers_only=True)
        steps = low[1] - wanted + 1
        with suppress(KmnbError, OSError, TimeoutError):
            async with watched(self._bucket.link, thing), self._lanes.lane(thing) as lane:
                await feed.start(low[0], lasting_seconds=1)
                sizes = await _Sizes(feed, lane).collect(steps, self._bucket.link.address.request_seconds)
                return sizes[-1][0] if len(sizes) == steps else None
        return None

    def learn(self, place: Place, sequence: int, rank: int) -> None:
        """Take note of how many chunks lie at or after a place."""
        points = self._points_of(place)
        if 1 < sequence < place.sequence and 0 <= rank <= place.chunks:
            insort(points, (sequence, rank))

    def _points_of(self, place: Place) -> list[tuple[int, int]]:
        points = self._points.get(place.nuid) or [(1, place.chunks), (place.sequence, 0)]
        _keep(self._points, place.nuid, points)
        return points

    async def _gallop(
        self, place: Place, wanted: int, *, points: list[tuple[int, int]], key: str
    ) -> tuple[tuple[int, int], tuple[int, int]]:
        """Close in from the end by steps that double: the beginning of the stream may be far away."""
        split = bisect_left(points, True, key=lambda point: point[1] < wanted)
        low, high = points[split - 1], points[split]
        # As thinly as the chunks behind lie, and a little more.
        spread = (place.sequence - high[0]) / high[1] if high[1] else 2
        step = int((wanted - high[1]) * spread * 1.1) + 2
        while high[0] - step > low[0] and low[1] > wanted:
            point = await self._ask(place, high[0] - step, points=points, key=key)
            if point[1] >= wanted:
                return point, high
            high, step = point, 2 * step
        return low, high

    async def _ask(self, place: Place, sequence: int, *, points: list[tuple[int, int]], key: str) -> tuple[int, int]:
        """Count the chunks at or after a place: a new consumer tells it and moves nothing."""
        feed = ConsumerFeed(self._bucket, place.chunk_subject, thing=f"artifact {key!r}")
        try:
            await feed.start(sequence, lasting_seconds=1)
            rank = feed.pending
        except KmnbError:
            # Consumers may be forbidden or used up; a chunk tells how many follow it, too.
            stored = await self._bucket.next(place.chunk_subject, sequence, thing=f"artifact {key!r}")
            if stored is not None and stored.pending is None:
                raise
            rank = 0 if stored is None else (stored.pending or 0) + 1
        if len(points) < POINTS_MAX and sequence > 1:
            insort(points, (sequence, rank))
        return sequence, rank


def _keep(store: OrderedDict[str, T], nuid: str, value: T) -> None:
    store[nuid] = value
    store.move_to_end(nuid)
    if len(store) > KNOWN_OBJECTS:
        store.popitem(last=False)


class _Sizes:
    """Collects places and sizes of messages that a consumer sends without their payload."""

    def __init__(self, feed: ConsumerFeed, lane: Lane) -> None:
        self._feed, self._lane = feed, lane
        self._found: list[tuple[int, int]] = []
        self._turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wanted = 0

    async def collect(self, count: int, seconds: float) -> list[tuple[int, int]]:
        """Give sequence and size of so many messages; fewer when the server has fewer."""
        self._lane.hold(self)
        while len(self._found) < count:
            before = len(self._found)
            self._wanted = min(count, before + SIZES_BATCH)
            self._turn = asyncio.get_running_loop().create_future()
            self._feed.ask(self._lane, self._lane.take_token(), sequence=0, count=self._wanted - before)
            async with asyncio.timeout(seconds):
                await self._turn
            if len(self._found) == before:
                break
        return self._found

    def on_frame(self, frame: Frame) -> None:
        """Take one."""
        spot = self._feed.spot(frame)
        if spot is not None:
            self._found.append((spot[0], frame.number(b"Nats-Msg-Size") or 0))
        if (spot is None or len(self._found) >= self._wanted) and not self._turn.done():
            self._turn.set_result(None)

    def on_reuse(self) -> None:
        """Nothing of the buffer is held."""

    def on_lost(self, error: Exception) -> None:
        """Give up."""
        if not self._turn.done():
            self._turn.set_exception(error)
