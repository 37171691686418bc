"""A store in a dict whose clock a simulation moves; it can crash in the middle of its work and lose its registry."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Any

from kmnb.core.metadata import Capability, ObjectInfo
from kmnb.errors import ArtifactNotFound, StoreUnavailable, VersionConflict
from kmnb.storage._protocols import Record


class Killed(BaseException):
    """The process that used the store was killed."""


class VirtualArea:
    """Objects without bytes: only what a sweep asks of them."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self.objects: dict[str, ObjectInfo] = {}
        self.die_after: int | None = None
        self.deleted: list[str] = []

    async def put(self, key: str, source: Any, *, created_at: datetime | None = None, **_: Any) -> ObjectInfo:
        info = ObjectInfo(
            key, len(source), "sha256:" + hashlib.sha256(source).hexdigest(), created_at or self.now(), key
        )
        self.objects[key] = info
        return info

    async def head(self, key: str) -> ObjectInfo:
        if key not in self.objects:
            raise ArtifactNotFound(key, "there is none")
        return self.objects[key]

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        start = prefix.rstrip("/") + "/"
        for key in [key for key in self.objects if key.startswith(start)]:
            if (info := self.objects.get(key)) is not None:
                yield info

    async def delete(self, key: str) -> None:
        if self.die_after is not None:
            self.die_after -= 1
            if self.die_after < 0:
                raise Killed
        if self.objects.pop(key, None) is not None:
            self.deleted.append(key)


class VirtualRecords:
    """Records with revisions; they can be out of order or lost."""

    def __init__(self) -> None:
        self.records: dict[str, tuple[bytes, int]] = {}
        self.broken = False
        self._revision = 0

    async def get(self, key: str) -> Record:
        if self.broken:
            raise StoreUnavailable("registry", "cannot be read")
        if key not in self.records:
            raise ArtifactNotFound(key, "there is none")
        value, revision = self.records[key]
        return Record(key, value, str(revision))

    async def put(self, key: str, value: bytes, *, expected: str | None) -> str:
        if self.broken:
            raise StoreUnavailable("registry", "cannot be written")
        present = self.records.get(key)
        if (None if present is None else str(present[1])) != expected:
            raise VersionConflict(key, "is another revision")
        self._revision += 1
        self.records[key] = (value, self._revision)
        return str(self._revision)

    async def delete(self, key: str) -> None:
        self.records.pop(key, None)

    async def list(self, prefix: str = "") -> AsyncIterator[Record]:
        if self.broken:
            raise StoreUnavailable("registry", "cannot be read")
        start = prefix.rstrip("/") + "/"
        for key in sorted(key for key in self.records if key.startswith(start)):
            value, revision = self.records[key]
            yield Record(key, value, str(revision))


class VirtualBackend:
    """The store."""

    server_url = None
    bus = None
    url = "virtual://"
    capabilities = frozenset({Capability.RANGE})

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self.discussions, self.named, self.records = VirtualArea(now), VirtualArea(now), VirtualRecords()

    async def now(self) -> datetime:
        return self._now()

    async def describe(self) -> dict[str, Any]:
        return {}

    async def collect(self, *, dry_run: bool = False) -> list[Any]:
        return []

    async def close(self) -> None:
        """Nothing is open."""
