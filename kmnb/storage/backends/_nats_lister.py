"""Which subjects of a stream have messages, and the last message of many of them at once.

One stream info names up to 100,000 subjects and reads no message. It names subjects whose last message marks a
deletion, too; so what matches is checked, by direct gets of a few hundred last messages each.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from kmnb.errors import StoreError, StoreUnavailable
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends._nats_lane import Lane
from kmnb.storage.backends._nats_lanes import Lanes
from kmnb.storage.backends._nats_layout import read_time
from kmnb.storage.backends._nats_patience import watched
from kmnb.storage.backends._nats_stream import Stored, Stream
from kmnb.storage.backends._nats_wire import Frame

T = TypeVar("T")

GROUP_FIRST, GROUP_LATER = 32, 256
"""Last messages asked for at once: few at first, for a caller who stops early. The server allows 1,024."""
ALONE_AT_ONCE = 32
"""Last messages asked for at once where each needs its own request."""
SHARES = (1 / 7, 2 / 7, 4 / 7)
"""Parts of the request time-out for the tries of a question in a cluster, where the server that has it may die."""
TRIES = 50
"""How often a replica that lags behind is asked again."""
PAUSE_SECONDS = 0.05
"""Pause before it is."""
_TOTAL, _LIMIT = re.compile(rb'"total":(\d+)'), re.compile(rb'"limit":(\d+)')
_LAST = re.compile(rb'"last_seq":(\d+)')


class Lister:
    """Lists one stream."""

    def __init__(self, stream: Stream, lanes: Lanes) -> None:
        self._stream, self._lanes = stream, lanes

    async def tokens(self, root: str, pattern: bytes, *, thing: str) -> tuple[set[str], int]:
        """Find the subjects below a root, without reading a message.

        Args:
            root: Subject without its last tokens, for example ``$O.bucket.M``.
            pattern: Regular expression that what follows must match; it holds no group.
            thing: What it is about, for errors.

        Returns:
            What follows the root and a dot, and the stream's last sequence at that time.
        """
        found: set[str] = set()
        wanted = re.compile(b'"' + re.escape(root.encode()) + rb"\.(" + pattern + b')":')
        offset = last = 0
        while True:
            page = await self._page({"subjects_filter": f"{root}.>", "offset": offset}, thing)
            found.update(match.decode() for match in wanted.findall(page))
            last = last or _number(_LAST, page)
            offset += _number(_LIMIT, page[:1000]) or 100_000
            if offset >= _number(_TOTAL, page[:1000]):
                return found, last

    async def _page(self, question: dict[str, object], thing: str) -> bytes:
        """Ask for stream info over a lane: an answer has megabytes."""
        error: Exception = TimeoutError()
        for share in SHARES if self._stream.replicas > 1 else (1, 1, 1):
            try:
                async with watched(self._stream.link, thing, share=share), self._lanes.lane(thing) as lane:
                    page = await _Answer(lane).ask(
                        f"{self._stream.link.address.api}.STREAM.INFO.{self._stream.stream}", question
                    )
            except StoreError:
                raise
            except (OSError, TimeoutError) as lost:
                error = lost
                continue
            if b'"error":' in page[:400]:
                # Small answers are understood in one place.
                await self._stream.api("STREAM.INFO", thing=thing)
            return page
        raise failures.translate(error, thing, self._stream.link.address.shown) from error

    async def last(
        self, subjects: Iterable[str], make: Callable[[Stored], T], *, at_least: int, thing: str
    ) -> dict[str, T]:
        """Fetch the last messages of a few hundred subjects.

        Args:
            subjects: Their names, without wildcards.
            make: Makes of each message what is kept of it.
            at_least: Sequence that a replica must have seen.
            thing: What it is about, for errors.

        Returns:
            What was made, by subject; subjects without a message are missing.
        """
        wanted = list(subjects)
        found: dict[str, T] = {}
        if self._stream.sends_batches:
            found = await self._last_batch(wanted, make, at_least=at_least, thing=thing)
            if self._stream.replicas == 1:
                return found
        missing = [subject for subject in wanted if subject not in found]
        for group in _groups(missing, ALONE_AT_ONCE, ALONE_AT_ONCE):
            answers = await asyncio.gather(*(self._stream.last(subject, thing=thing) for subject in group))
            found |= {item.subject: make(item) for item in answers if item is not None}
        return found

    async def _last_batch(
        self, subjects: list[str], make: Callable[[Stored], T], *, at_least: int, thing: str
    ) -> dict[str, T]:
        loop, share = asyncio.get_running_loop(), SHARES[0] if self._stream.replicas > 1 else 1
        until = loop.time() + self._stream.link.address.request_seconds
        for _ in range(TRIES):
            if loop.time() > until:
                break
            try:
                async with watched(self._stream.link, thing, share=share), self._lanes.lane(thing) as lane:
                    batch = _LastBatch(lane, make)
                    await batch.ask(f"{self._stream.link.address.api}.DIRECT.GET.{self._stream.stream}", subjects)
            except StoreError:
                raise
            except (OSError, TimeoutError):
                batch = None
            if batch is not None and (batch.seen is None or batch.seen >= at_least):
                return batch.found
            await asyncio.sleep(PAUSE_SECONDS)
        shown = self._stream.link.address.shown
        raise StoreUnavailable(thing, f"{shown} did not answer in time, or lags behind", server=shown)


class _Answer:
    """One question, one answer of any size."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def ask(self, subject: str, question: dict[str, object]) -> bytes:
        self._lane.hold(self)
        self._lane.send(subject, self._lane.take_token(), json.dumps(question).encode())
        return await self._done

    def on_frame(self, frame: Frame) -> None:
        if self._done.done():
            return
        if frame.status:
            # Nobody answers: no stream of that name, or a server without a leader for it just now.
            self._done.set_exception(ConnectionError(f"{frame.status} {frame.description}".strip()))
        else:
            self._done.set_result(bytes(frame.payload))

    def on_reuse(self) -> None:
        """Nothing of the buffer is held."""

    def on_lost(self, error: Exception) -> None:
        if not self._done.done():
            self._done.set_exception(ConnectionError(str(error)))


class _LastBatch(Generic[T]):
    """One direct get of many last messages."""

    def __init__(self, lane: Lane, make: Callable[[Stored], T]) -> None:
        self._lane, self._make = lane, make
        self._token = lane.take_token()
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.found: dict[str, T] = {}
        self.seen: int | None = None

    async def ask(self, subject: str, subjects: list[str]) -> None:
        self._lane.hold(self)
        question = {"multi_last": subjects, "batch": len(subjects)}
        self._lane.send(subject, self._token, json.dumps(question).encode())
        await self._done

    def on_frame(self, frame: Frame) -> None:
        if self._done.done() or self._lane.token(frame) != self._token:
            return
        subject, sequence = frame.field(b"Nats-Subject"), frame.number(b"Nats-Sequence")
        if frame.status or subject is None or sequence is None:
            self._end(frame)
            return
        stored = Stored(
            subject=subject,
            sequence=sequence,
            data=bytes(frame.payload),
            stored_at=read_time(frame.field(b"Nats-Time-Stamp")),
            is_marker=frame.field(b"KV-Operation") is not None,
        )
        try:
            self.found[subject] = self._make(stored)
        except Exception as error:
            self._done.set_exception(error)

    def _end(self, frame: Frame) -> None:
        if frame.status == "204":
            self.seen = frame.number(b"Nats-UpTo-Sequence")
        elif frame.status != "404":
            text = failures.no_secrets(f"{frame.status} {frame.description}")
            self._done.set_exception(StoreUnavailable("last messages", f"the server refused to read them: {text}"))
            return
        self._done.set_result(None)

    def on_reuse(self) -> None:
        """Nothing of the buffer is held."""

    def on_lost(self, error: Exception) -> None:
        if not self._done.done():
            self._done.set_exception(ConnectionError(str(error)))


def in_groups(items: list[T]) -> Iterator[list[T]]:
    """Cut a list into groups to fetch: a small one first."""
    return _groups(items, GROUP_FIRST, GROUP_LATER)


def _groups(items: list[T], first: int, later: int) -> Iterator[list[T]]:
    start, size = 0, first
    while start < len(items):
        yield items[start : start + size]
        start, size = start + size, later


def _number(pattern: re.Pattern[bytes], text: bytes) -> int:
    found = pattern.search(text)
    return int(found[1]) if found is not None else 0
