"""Extra behaviour around an opened store: counting, read-only, retrying. Each wraps a whole backend."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from datetime import datetime
from typing import Any, TypeVar, cast

from kmnb.core.metadata import Capability, ObjectInfo
from kmnb.core.progress import retried
from kmnb.errors import StoreDenied, StoreUnavailable
from kmnb.storage._protocols import (
    Attributes,
    Backend,
    Bus,
    LifecycleBackend,
    LifecycleRules,
    ObjectArea,
    Progress,
    RecordArea,
    Remnant,
    Source,
)

T = TypeVar("T")


class WrappedArea:
    """Passes every verb on; a wrapper changes the ones that it cares for."""

    def __init__(self, inner: ObjectArea) -> None:
        self._inner = inner

    async def put(
        self,
        key: str,
        source: Source,
        *,
        create_only: bool = False,
        attributes: Attributes | None = None,
        progress: Progress | None = None,
    ) -> ObjectInfo:
        """Store an object; see ``ObjectArea.put``."""
        return await self._inner.put(key, source, create_only=create_only, attributes=attributes, progress=progress)

    async def get_range(self, key: str, start: int, end: int, *, info: ObjectInfo | None = None) -> bytes:
        """Read some bytes; see ``ObjectArea.get_range``."""
        return await self._inner.get_range(key, start, end, info=info)

    async def stream(self, key: str, *, info: ObjectInfo | None = None) -> AsyncIterator[bytes]:
        """Read all of it; see ``ObjectArea.stream``."""
        async with aclosing(cast("Any", self._inner.stream(key, info=info))) as windows:
            async for window in windows:
                yield window

    async def head(self, key: str) -> ObjectInfo:
        """Tell the facts; see ``ObjectArea.head``."""
        return await self._inner.head(key)

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        """Walk objects; see ``ObjectArea.list``."""
        async with aclosing(cast("Any", self._inner.list(prefix))) as infos:
            async for info in infos:
                yield info

    async def delete(self, key: str) -> None:
        """Remove an object; see ``ObjectArea.delete``."""
        await self._inner.delete(key)


class WrappedBackend:
    """A backend whose areas are wrapped.

    Args:
        inner: The opened store; closing this one closes it.
        discussions: Its wrapped area.
        named: Its wrapped area.
        records: Its records, wrapped or not.
    """

    def __init__(
        self, inner: Backend, *, discussions: ObjectArea, named: ObjectArea, records: RecordArea | None = None
    ) -> None:
        self._inner = inner
        self.discussions, self.named = discussions, named
        self.records: RecordArea = records or inner.records

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"

    @property
    def url(self) -> str:
        """The store's address without secrets."""
        return self._inner.url

    @property
    def server_url(self) -> str | None:
        """Address of the server."""
        return self._inner.server_url

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the store can do."""
        return self._inner.capabilities

    @property
    def bus(self) -> Bus | None:
        """The bus, where there is one."""
        return self._inner.bus

    @property
    def lifecycle(self) -> LifecycleRules | None:
        """The bucket's own rules, where they can be reached."""
        return self._inner.lifecycle if isinstance(self._inner, LifecycleBackend) else None

    @property
    def prefix(self) -> str:
        """What stands before everything in a bucket."""
        return self._inner.prefix if isinstance(self._inner, LifecycleBackend) else ""

    async def now(self) -> datetime:
        """Give the store's clock."""
        return await self._inner.now()

    async def describe(self) -> dict[str, Any]:
        """Give facts for ``doctor``."""
        return await self._inner.describe()

    async def collect(self, *, dry_run: bool = False) -> list[Remnant]:
        """Remove what killed writers left."""
        return await self._inner.collect(dry_run=dry_run)

    async def close(self) -> None:
        """Close the store."""
        await self._inner.close()


class Counts:
    """What passed through a counted store."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        """Calls by verb."""
        self.bytes_read = 0
        """Bytes that reads handed out."""
        self.bytes_written = 0
        """Bytes that were stored."""

    def __repr__(self) -> str:
        return f"<{dict(self.calls)}, {self.bytes_read} bytes read, {self.bytes_written} written>"


class _CountedArea(WrappedArea):
    def __init__(self, inner: ObjectArea, counts: Counts) -> None:
        super().__init__(inner)
        self._counts = counts

    async def put(self, key: str, source: Source, **options: Any) -> ObjectInfo:
        self._counts.calls["put"] += 1
        info = await self._inner.put(key, source, **options)
        self._counts.bytes_written += info.size or 0
        return info

    async def get_range(self, key: str, start: int, end: int, *, info: ObjectInfo | None = None) -> bytes:
        self._counts.calls["get_range"] += 1
        data = await self._inner.get_range(key, start, end, info=info)
        self._counts.bytes_read += len(data)
        return data

    async def stream(self, key: str, *, info: ObjectInfo | None = None) -> AsyncIterator[bytes]:
        self._counts.calls["stream"] += 1
        async with aclosing(cast("Any", super().stream(key, info=info))) as windows:
            async for window in windows:
                self._counts.bytes_read += len(window)
                yield window

    async def head(self, key: str) -> ObjectInfo:
        self._counts.calls["head"] += 1
        return await self._inner.head(key)

    def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        self._counts.calls["list"] += 1
        return super().list(prefix)

    async def delete(self, key: str) -> None:
        self._counts.calls["delete"] += 1
        await self._inner.delete(key)


class CountingBackend(WrappedBackend):
    """Counts calls and bytes of both areas of objects in ``counts``."""

    def __init__(self, inner: Backend) -> None:
        self.counts = Counts()
        areas = [_CountedArea(area, self.counts) for area in (inner.discussions, inner.named)]
        super().__init__(inner, discussions=areas[0], named=areas[1])


def _refused(thing: str) -> StoreDenied:
    return StoreDenied(thing, "the store was opened for reading only", "Open it without read_only")


class _ReadOnlyArea(WrappedArea):
    async def put(self, key: str, source: Source, **options: Any) -> ObjectInfo:
        raise _refused(f"artifact {key!r}")

    async def delete(self, key: str) -> None:
        raise _refused(f"artifact {key!r}")


class _ReadOnlyRecords:
    def __init__(self, inner: RecordArea) -> None:
        self.get, self.list = inner.get, inner.list

    async def put(self, key: str, value: bytes, *, expected: str | None) -> str:
        raise _refused(f"record {key!r}")

    async def delete(self, key: str) -> None:
        raise _refused(f"record {key!r}")


class ReadOnlyBackend(WrappedBackend):
    """Refuses every write with ``StoreDenied``; nothing is sent to the store."""

    def __init__(self, inner: Backend) -> None:
        discussions, named = _ReadOnlyArea(inner.discussions), _ReadOnlyArea(inner.named)
        records = cast("RecordArea", _ReadOnlyRecords(inner.records))
        super().__init__(inner, discussions=discussions, named=named, records=records)

    async def collect(self, *, dry_run: bool = False) -> list[Remnant]:
        """Find what killed writers left; remove nothing of it."""
        return await self._inner.collect(dry_run=True) if dry_run else []


class _RetryingArea(WrappedArea):
    def __init__(self, inner: ObjectArea, pauses: tuple[float, ...]) -> None:
        super().__init__(inner)
        self._pauses = pauses

    async def _again(self, call: Callable[[], Awaitable[T]]) -> T:
        for pause in self._pauses:
            try:
                return await call()
            except StoreUnavailable:
                retried()
                await asyncio.sleep(pause)
        return await call()

    async def get_range(self, key: str, start: int, end: int, *, info: ObjectInfo | None = None) -> bytes:
        return await self._again(lambda: self._inner.get_range(key, start, end, info=info))

    async def head(self, key: str) -> ObjectInfo:
        return await self._again(lambda: self._inner.head(key))

    async def delete(self, key: str) -> None:
        await self._again(lambda: self._inner.delete(key))


class RetryingBackend(WrappedBackend):
    """Does again what may be done again: ``head``, ``get_range`` and ``delete`` when the store is unavailable.

    Args:
        inner: The opened store.
        pauses: Seconds between two tries; as many as there are further tries. Writes and streams, which cannot be
            begun anew from here, are passed on once.
    """

    def __init__(self, inner: Backend, *, pauses: tuple[float, ...] = (0.1, 0.5, 2.0)) -> None:
        areas = [_RetryingArea(area, pauses) for area in (inner.discussions, inner.named)]
        super().__init__(inner, discussions=areas[0], named=areas[1])
