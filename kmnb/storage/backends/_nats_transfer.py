"""One reading of consecutive chunks over a lane: what was asked for, what came, what is wrong. Does no I/O itself."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from kmnb.core.bounds import MIB, WINDOW_BYTES
from kmnb.errors import DigestMismatch, StoreError
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends._nats_feeds import Feed
from kmnb.storage.backends._nats_lane import Lane
from kmnb.storage.backends._nats_layout import Place
from kmnb.storage.backends._nats_wire import Frame

BATCH_BYTES = 4 * MIB
"""About how much one request asks for."""
BATCH_MESSAGES = 2048
"""Most messages that one request asks for."""
AHEAD_BYTES = 12 * MIB
"""Most bytes that are asked for or wait for the reader; slower readers ask later."""
_GONE = frozenset({"503", "409"})
"""Statuses of a stream that changes its leader, and of a consumer that went with it."""


class Lost(Exception):
    """The lane is gone or nothing comes any more; what is missing may be asked for again."""


class Gap(Exception):
    """Chunks are not where they should be: elsewhere in the stream, not yet on this replica, or gone."""

    def __init__(self, text: str, index: int | None = None) -> None:
        super().__init__(text)
        self.index = index


@dataclass(slots=True)
class _Batch:
    token: int
    first: int
    count: int
    sequence: int
    frames: list[tuple[int, int, bytes]] = field(default_factory=list)
    ended: bool = False


class ChunkTransfer:
    """Chunks from one index to another, exclusive, in order, as windows."""

    def __init__(self, place: Place, feed: Feed, first: int, *, end: int, key: str, joins: bool) -> None:
        self.place, self.feed, self.key = place, feed, key
        self.first = self.next = first
        self.end = end
        self.done_bytes = 0
        self._joins = joins
        self._asked, self._sequence = first, 0
        self._is_dense = True
        self._batches: deque[_Batch] = deque()
        self._views: list[memoryview] = []
        self._gathered = self._waiting_bytes = 0
        self._windows: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._failure: Exception | None = None
        self._lane: Lane | None = None
        self._size = max(1, min(BATCH_BYTES // place.chunk_bytes, BATCH_MESSAGES))

    @property
    def is_done(self) -> bool:
        """Whether every chunk has come and every window was taken."""
        return self.next == self.end and not self._windows and not self._gathered

    def begin(self, lane: Lane, sequence: int) -> None:
        """Start, or go on after a loss, with the next chunk at or after a place in the stream."""
        self._lane, self._failure, self._asked = lane, None, self.next
        self._batches.clear()
        self._sequence = sequence - 1
        lane.hold(self)
        self._ask(sequence)

    def resume_sequence(self) -> int | None:
        """Where to look for the next chunk; None when none has come yet."""
        return self._sequence + 1 if self.next > self.first else None

    def _ask(self, sequence: int) -> None:
        assert self._lane is not None
        count = min(self._size, self.end - self._asked)
        batch = _Batch(self._lane.take_token(), self._asked, count, sequence)
        self._batches.append(batch)
        self._asked += count
        self.feed.ask(self._lane, batch.token, sequence=sequence, count=count)

    def _ask_more(self) -> None:
        """Ask for the next batch when there is room; ahead of the last answer only where places are certain."""
        under_way = (self._asked - self.next) * self.place.chunk_bytes
        ahead = not self.feed.overlaps or (self._is_dense and self.next > self.first)
        if self._asked >= self.end or len(self._batches) > (1 if ahead else 0):
            return
        if under_way + self._waiting_bytes < AHEAD_BYTES and self._lane is not None and self._lane.error is None:
            # Chunks lie at least one place apart, so none can be before this.
            self._ask(self._sequence + 1 + self._asked - self.next)

    def on_frame(self, frame: Frame) -> None:
        """Take a message."""
        if self._failure is not None or self._lane is None:
            return
        spot = self.feed.spot(frame)
        batch = self._batch(frame)
        if batch is None:
            return
        if spot is None:
            batch.ended = True
            self._refuse(frame)
        elif batch is self._batches[0]:
            self._take(spot, frame.payload)
        else:
            batch.frames.append((*spot, bytes(frame.payload)))
        self._settle()

    def _batch(self, frame: Frame) -> _Batch | None:
        if frame.reply and self._batches:
            return self._batches[0]
        token = self._lane.token(frame) if self._lane is not None else -1
        return next((batch for batch in self._batches if batch.token == token), None)

    def _refuse(self, frame: Frame) -> None:
        """Understand an answer that is no chunk: the end of a batch, nothing found, or a refusal."""
        text = failures.no_secrets(f"{frame.status} {frame.description}".strip())
        if frame.status in _GONE:
            self._fail(Lost(f"nobody serves the stream now: {text}"))
        elif frame.status not in self.feed.ends:
            self._fail(StoreError(f"artifact {self.key!r}", f"the server refused to read it: {text}"))

    def _settle(self) -> None:
        """Go on to the next batch when the first is through."""
        while self._batches and self._failure is None:
            batch = self._batches[0]
            through = self.next >= batch.first + batch.count
            if not through and not batch.ended:
                return
            self._batches.popleft()
            if not through:
                self._fall_short(batch)
            elif self._batches:
                for sequence, pending, data in self._batches[0].frames:
                    self._take((sequence, pending), memoryview(data))
            self._flush()
            self._ask_more()

    def _fall_short(self, batch: _Batch) -> None:
        """A server may end a batch early, but where it was asked exactly it must have sent something."""
        if self.next <= batch.first and batch.sequence > self._sequence:
            self._fail(Gap(f"chunk {self.next} of {self.place.chunks} is not there"))
        else:
            self._batches.clear()
            self._asked = self.next

    def _take(self, spot: tuple[int, int], payload: memoryview) -> None:
        sequence, pending = spot
        if sequence <= self._sequence or self._failure is not None:
            return
        if len(payload) > self.place.chunk_bytes:
            self._fail(DigestMismatch(f"artifact {self.key!r}", "a chunk is larger than the object says"))
            return
        index = self.place.chunks - 1 - pending
        if index != self.next:
            self._fail(Gap(f"chunk {self.next} of {self.place.chunks} is not there", index))
            return
        self._is_dense &= sequence == self._sequence + 1 or self.next == self.first
        self._sequence = sequence
        self.next += 1
        self._views.append(payload)
        self._gathered += len(payload)
        if not self._joins or self._gathered + self.place.chunk_bytes > WINDOW_BYTES:
            self._flush()
        self._ask_more()

    def on_reuse(self) -> None:
        """Copy what was gathered before its buffer is used again."""
        self._flush()

    def _flush(self) -> None:
        if self._views:
            self._windows.append(b"".join(self._views))
            self._waiting_bytes += self._gathered
            self.done_bytes += self._gathered
            self._views.clear()
            self._gathered = 0
            self._changed.set()

    def on_lost(self, error: Exception) -> None:
        """Take note that the lane is gone."""
        self._fail(Lost(str(error)))

    def _fail(self, error: Exception) -> None:
        self._flush()
        if self._failure is None:
            self._failure = error
        self._changed.set()

    async def window(self, seconds: float) -> bytes:
        """Give the next window; wait for it.

        Raises:
            Lost: The lane is gone, or nothing came for so long.
            Gap: The chunks are not where they should be.
            DigestMismatch: There are more bytes than the object has.
        """
        while not self._windows:
            if self._failure is not None:
                raise self._failure
            self._changed.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            except TimeoutError:
                raise Lost(f"nothing came for {seconds:g} s") from None
        window = self._windows.popleft()
        self._waiting_bytes -= len(window)
        self._ask_more()
        if self.done_bytes > self.place.size:
            raise DigestMismatch(f"artifact {self.key!r}", "it has more bytes than were stored")
        return window
