"""Reading an object's chunks: the place of a chunk, ranges, and whole objects."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncGenerator
from typing import Any

from kmnb.core.bounds import MIB, WINDOW_BYTES
from kmnb.errors import DigestMismatch
from kmnb.storage.backends._nats_bucket import Bucket
from kmnb.storage.backends._nats_layout import Place
from kmnb.storage.backends._nats_stream import Stored

AHEAD = 8
"""Chunks asked for ahead of the reader."""
CACHE_BYTES = 8 * MIB
"""How much of the chunks read last is kept for the next range."""


class ChunkReader:
    """Reads chunks of one bucket."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self._cache: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._cached = 0

    async def read_range(self, place: Place, start: int, end: int, *, key: str) -> bytes:
        """Read bytes from ``start`` to ``end``, exclusive, of an object of a known place."""
        first, last = start // place.chunk_bytes, (end - 1) // place.chunk_bytes
        parts = []
        sequence = 0
        for number in range(first, last + 1):
            data, sequence = await self._chunk(place, number, key=key, after=sequence)
            parts.append(data)
        skip = start - first * place.chunk_bytes
        return b"".join(parts)[skip : skip + end - start]

    async def _chunk(self, place: Place, number: int, *, key: str, after: int) -> tuple[bytes, int]:
        known = self._cache.get((place.nuid, number))
        if known is not None:
            self._cache.move_to_end((place.nuid, number))
            return known, 0
        stored = await self._find(place, number, key=key, after=after)
        if len(stored.data) != min(place.chunk_bytes, place.size - number * place.chunk_bytes):
            raise DigestMismatch(f"object {key}", f"chunk {number} has {len(stored.data)} bytes, not what it should")
        self._remember(place.nuid, number, stored.data)
        return stored.data, stored.sequence + 1

    async def _find(self, place: Place, number: int, *, key: str, after: int = 0) -> Stored:
        """Find the n-th chunk: chunks written without a pause lie just before the meta message."""
        low, high = 1, place.sequence
        guess = after or place.sequence - place.chunks + number
        for _ in range(64):
            guess = max(low, min(guess, high))
            stored = await self.bucket.next(place.chunk_subject, guess, thing=f"object {key}")
            if stored is None:
                high = guess - 1
                if high < low:
                    break
                guess = (low + high) // 2
                continue
            index = place.chunks - 1 - (stored.pending or 0)
            if index == number:
                return stored
            if index > number:
                high = guess - 1
                guess = min(stored.sequence - (index - number), high)
            else:
                low = stored.sequence + 1
                guess = stored.sequence + (number - index)
            if high < low:
                break
        raise DigestMismatch(f"object {key}", f"chunk {number} of {place.chunks} is not there")

    def _remember(self, nuid: str, number: int, data: bytes) -> None:
        self._cache[nuid, number] = data
        self._cached += len(data)
        while self._cached > CACHE_BYTES:
            _, dropped = self._cache.popitem(last=False)
            self._cached -= len(dropped)

    async def stream(self, place: Place, *, key: str) -> AsyncGenerator[bytes, None]:
        """Read all of it in order; size and digest are checked before the end."""
        digest, done = hashlib.sha256(), 0
        first = place.sequence - place.chunks
        pending: list[asyncio.Task[Stored | None]] = []
        try:
            for number in range(place.chunks):
                while len(pending) < min(AHEAD, place.chunks - number):
                    ahead = number + len(pending)
                    pending.append(asyncio.ensure_future(self._ahead(place, first + ahead, key)))
                stored = await pending.pop(0)
                if stored is None or place.chunks - 1 - (stored.pending or 0) != number:
                    stored = await self._find(place, number, key=key)
                    first = stored.sequence - number
                await asyncio.to_thread(digest.update, stored.data)
                done += len(stored.data)
                for begin in range(0, len(stored.data), WINDOW_BYTES):
                    yield stored.data[begin : begin + WINDOW_BYTES]
        finally:
            for task in pending:
                task.cancel()
        if done != place.size or (place.digest is not None and digest.digest() != place.digest):
            raise DigestMismatch(f"object {key}", "size or sha256 are not those that were stored")

    def _ahead(self, place: Place, sequence: int, key: str) -> Any:
        return self.bucket.next(place.chunk_subject, sequence, thing=f"object {key}")
