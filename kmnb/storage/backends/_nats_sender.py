"""Chunks on their way into a stream: a window of publishes in flight over a lane, every acknowledgement checked.

All chunks share a subject and must be stored in order. One connection keeps the order; what can break it is the loss
of a connection or of a leader. Then everything that was not acknowledged is sent again, one by one, under the same
message ids, so that the server drops what it has already; a chunk that turns out to stand before its predecessor is
taken out and stored again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from typing import TypeAlias

from kmnb.core.progress import retried
from kmnb.errors import StoreDenied, StoreError, StoreUnavailable, said
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends import _nats_patience as patience
from kmnb.storage.backends._nats_bucket import Bucket
from kmnb.storage.backends._nats_lane import Lane, Message
from kmnb.storage.backends._nats_wire import Frame

Chunk: TypeAlias = bytes | memoryview
"""Bytes that do not change any more."""
WINDOW_CHUNKS = 64
"""Chunks in flight; their bytes are held until all before them are acknowledged."""
_PLAIN = re.compile(rb'\{"stream":"[A-Za-z0-9_-]+", *"seq":(\d{1,18})\}')
# What servers answer when all is well; anything else is read with care.


class Broken(Exception):
    """The window has to be sent again; what was not acknowledged is still held."""


class ChunkSender:
    """The chunks of one object."""

    def __init__(self, bucket: Bucket, subject: str, *, thing: str) -> None:
        self._bucket, self._subject, self._thing = bucket, subject, thing
        self._id = subject.rpartition(".")[2]
        self._held: dict[int, Chunk] = {}
        self._places: dict[int, int] = {}
        self._tokens: dict[int, int] = {}
        self._alone: asyncio.Future[int] | None = None
        self._lane: Lane | None = None
        self._failure: Exception | None = None
        self._changed = asyncio.Event()
        self._published = self._settled = self._last_place = 0
        self.count = self.size = 0
        self.was_repeated = False

    def add(self, chunk: Chunk) -> None:
        """Take the next chunk; :meth:`flow` sends it."""
        self._held[self.count] = chunk
        self.count += 1
        self.size += len(chunk)

    async def begin(self, lane: Lane) -> None:
        """Use a lane from now on; what is held is sent again first.

        Raises:
            Broken: It is lost again.
            StoreError: The stream refused a chunk.
        """
        self._lane, self._failure, self._alone = lane, None, None
        self._tokens.clear()
        self._places.clear()
        lane.hold(self)
        if self._settled < self._published:
            self.was_repeated = True
            retried()
            await self._repeat()

    async def flow(self, most: int = WINDOW_CHUNKS) -> None:
        """Send what was added, and wait until at most so many chunks are in flight; raises as :meth:`begin`."""
        messages = [self._message(number, f"{self._id}.{number}") for number in range(self._published, self.count)]
        self._published = self.count
        self._held_lane().send_all(messages)
        try:
            await self._held_lane().drain()
        except OSError as error:
            raise Broken(str(error)) from error
        while len(self._held) > most or self._failure is not None:
            await self._turn()

    async def settle(self) -> None:
        """Wait until every chunk in flight was answered, well or badly, or the lane is gone."""
        while self._tokens and self._lane is not None and self._lane.error is None:
            self._changed.clear()
            await self._changed.wait()

    @property
    def is_settled(self) -> bool:
        """Whether nothing that was sent can still arrive."""
        return not self._tokens

    async def _turn(self) -> None:
        if self._failure is not None:
            raise self._failure
        self._changed.clear()
        seconds = self._patience()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            raise Broken(f"no acknowledgement for {seconds:g} s") from None

    def _patience(self) -> float:
        return min(patience.STALL_SECONDS, self._bucket.link.address.request_seconds)

    def _held_lane(self) -> Lane:
        if self._lane is None or self._lane.error is not None:
            raise Broken("the lane is gone")
        return self._lane

    def _message(self, number: int, message_id: str) -> Message:
        token = self._held_lane().take_token()
        self._tokens[token] = number
        return self._subject, token, self._held[number], f"Nats-Msg-Id: {message_id}\r\n".encode()

    async def _repeat(self) -> None:
        """Send all that was published and is still held again, one by one."""
        for number in range(self._settled, self._published):
            name = f"{self._id}.{number}"
            place = await self._store_alone(number, name)
            for fresh in range(1, 5):
                if place > self._last_place:
                    break
                # It overtook its predecessor, which was lost and came again: take it out, store it behind.
                with contextlib.suppress(StoreError):
                    await self._bucket.api("STREAM.MSG.DELETE", {"seq": place, "no_erase": True}, thing=self._thing)
                place = await self._store_alone(number, f"{name}.{fresh}")
            if place <= self._last_place:
                step = "See what became of the server's disk, and put it again"
                raise StoreError(self._thing, "the stream has lost chunks that it had acknowledged", step)
            self._settle(number, place)

    async def _store_alone(self, number: int, message_id: str) -> int:
        self._alone = asyncio.get_running_loop().create_future()
        self._held_lane().send_all([self._message(number, message_id)])
        seconds = self._patience()
        try:
            async with asyncio.timeout(seconds):
                return await self._alone
        except TimeoutError:
            raise Broken(f"no acknowledgement for {seconds:g} s") from None
        finally:
            self._alone = None

    def on_frame(self, frame: Frame) -> None:
        """Take an acknowledgement."""
        number = self._tokens.pop(self._lane.token(frame), None) if self._lane is not None else None
        if number is None:
            return
        place = self._place(frame)
        if isinstance(place, Exception):
            self._fail(place)
        elif self._alone is not None:
            if not self._alone.done():
                self._alone.set_result(place)
        else:
            self._places[number] = place
            while self._settled in self._places and self._failure is None:
                self._settle(self._settled, self._places.pop(self._settled))
        self._changed.set()

    def _settle(self, number: int, place: int) -> None:
        if place <= self._last_place:
            self._fail(Broken(f"chunk {number} was stored before its predecessor"))
            return
        self._last_place = place
        self._settled = number + 1
        del self._held[number]
        self._changed.set()

    def _place(self, frame: Frame) -> int | Exception:
        """Read an acknowledgement: the chunk's place in the stream, or what went wrong."""
        if frame.status:
            return Broken(f"no stream took it: {frame.status}")
        text = bytes(frame.payload)
        if (plain := _PLAIN.fullmatch(text)) is not None:
            return int(plain[1])
        try:
            answer = json.loads(text)
            refused = failures.ApiError.of(answer)
            if refused is None:
                return int(answer["seq"])
        except (ValueError, KeyError, TypeError):
            return StoreError(self._thing, "an answer that is no acknowledgement")
        mine = failures.translate(refused, self._thing, self._bucket.link.address.shown)
        return Broken(said(mine, self._thing)) if isinstance(mine, StoreUnavailable) else mine

    def on_reuse(self) -> None:
        """Nothing of the buffer is held."""

    def on_lost(self, error: Exception) -> None:
        """Take note that the lane is gone."""
        self._fail(_denial(error, self._thing, self._bucket.link.address.shown) or Broken(said(error, self._thing)))

    def _fail(self, error: Exception) -> None:
        if self._failure is None:
            self._failure = error
        if self._alone is not None and not self._alone.done():
            self._alone.set_exception(error)
        self._changed.set()


def _denial(error: Exception, thing: str, shown: str) -> StoreDenied | None:
    mine = failures.translate(error, thing, shown)
    return mine if isinstance(mine, StoreDenied) else None
