"""A store in a bucket: areas, records, clock, leftovers."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from kmnb.core.metadata import Area, Capability
from kmnb.errors import AlreadyExists, ArtifactNotFound, StoreUnavailable, VersionConflict
from kmnb.storage._keys import check_key, check_prefix, is_below, is_key
from kmnb.storage._obstore import Bucket, Found
from kmnb.storage._protocols import LifecycleRules, Record, Remnant
from kmnb.storage._records import check_value
from kmnb.storage.backends._bucket_area import BucketArea
from kmnb.storage.backends._bucket_layout import Facts, Paths, pack_facts, read_facts
from kmnb.storage.backends._bucket_leftovers import collect_leftovers

AT_ONCE = 16
"""Records that a listing reads at once: each is a request of its own."""
_NONCE_BYTES = 8
# Begins every record, so that its ETag, which may be a digest of its bytes, changes with every write.


class BucketRecords:
    """Records below a prefix of a bucket, written conditionally."""

    def __init__(self, bucket: Bucket, prefix: str) -> None:
        self._bucket, self._paths = bucket, Paths(f"{prefix}records/")

    async def get(self, key: str) -> Record:
        """Read a record; see ``RecordArea.get``."""
        return _record(key, await self._bucket.get(self._paths.path(check_key(key)), thing=f"record {key!r}"))

    async def put(self, key: str, value: bytes, *, expected: str | None) -> str:
        """Write a record if it is still as expected; see ``RecordArea.put``."""
        path, thing = self._paths.path(check_key(key)), f"record {key!r}"
        check_value(key, value)
        mode = _mode(expected, thing)
        data = secrets.token_bytes(_NONCE_BYTES) + bytes(value)
        metadata = pack_facts(Facts("", "", key=key)) if self._paths.is_cut(path) else None
        try:
            revision = await self._bucket.put(path, data, mode=mode, metadata=metadata, thing=thing)
        except (AlreadyExists, ArtifactNotFound) as error:
            if expected is None and isinstance(error, ArtifactNotFound):
                step = "Make the bucket, or check the URL"
                raise StoreUnavailable(thing, "the bucket does not exist", step) from None
            revision = await self._own(path, data, thing)
        return json.dumps(revision)

    async def _own(self, path: str, data: bytes, thing: str) -> dict[str, str]:
        """Tell a lost race from an own write that was sent again after a lost answer."""
        with suppress(ArtifactNotFound):
            found = await self._bucket.get(path, thing=thing)
            if found.data == data:
                return dict(found.revision)
        raise VersionConflict(thing, "it is not as expected", "Read it again and decide anew")

    async def delete(self, key: str) -> None:
        """Remove a record; see ``RecordArea.delete``."""
        await self._bucket.delete(self._paths.path(check_key(key)), thing=f"record {key!r}")

    async def list(self, prefix: str = "") -> AsyncIterator[Record]:
        """Walk records; see ``RecordArea.list``."""
        below = check_prefix(prefix)
        folder, exact = self._paths.folder(below)
        keys = [below] if below and exact else []
        async for found in self._bucket.list(folder):
            key = await self._key(found.path)
            if key is not None and is_below(key, below) and is_key(key):
                keys.append(key)
        waiting = iter(sorted(keys, key=str.encode))
        while group := list(islice(waiting, AT_ONCE)):
            for record in await asyncio.gather(*(self._get_or_none(key) for key in group)):
                if record is not None:
                    yield record

    async def _get_or_none(self, key: str) -> Record | None:
        with suppress(ArtifactNotFound):
            return await self.get(key)
        return None

    async def _key(self, path: str) -> str | None:
        if not self._paths.is_cut(path):
            return self._paths.key(path)
        with suppress(ArtifactNotFound):
            found = await self._bucket.head(path, thing=f"record at {path!r}")
            return read_facts(found.metadata, found.revision).key
        return None


def _mode(expected: str | None, thing: str) -> Any:
    """Read a revision as a conditional write wants it; what no store gave is one that nothing has."""
    if expected is None:
        return "create"
    try:
        told = json.loads(expected)
    except ValueError:
        told = None
    known = isinstance(told, dict) and told and told.keys() <= {"e_tag", "version"}
    if not known or not all(isinstance(value, str) for value in told.values()):
        raise VersionConflict(thing, "it is not as expected", "Read it again and decide anew")
    return told


def _record(key: str, found: Found) -> Record:
    return Record(key, found.data[_NONCE_BYTES:], json.dumps(dict(found.revision)))


class BucketBackend:
    """An opened bucket, or the memory of this process."""

    server_url: str | None = None
    bus = None
    lifecycle: LifecycleRules | None = None

    def __init__(
        self, bucket: Bucket, prefix: str, *, metadata_bytes: int, capabilities: frozenset[Capability]
    ) -> None:
        self.url, self.capabilities = bucket.name, capabilities
        self._bucket, self._prefix, self._metadata_bytes = bucket, prefix, metadata_bytes
        self.discussions = BucketArea(bucket, prefix, area=Area.DISCUSSIONS, metadata_bytes=metadata_bytes)
        self.named = BucketArea(bucket, prefix, area=Area.NAMED, metadata_bytes=metadata_bytes)
        self.records = BucketRecords(bucket, prefix)

    def __repr__(self) -> str:
        return f"<store {self.url}>"

    @property
    def bucket(self) -> Bucket:
        """The bucket itself, for layouts that are not kmnb's."""
        return self._bucket

    @property
    def prefix(self) -> str:
        """What stands before everything, with its trailing slash where it is not empty."""
        return self._prefix

    def below(self, folder: str) -> BucketBackend:
        """Give the same bucket as a store whose things all lie below a folder, which ends with a slash."""
        prefix = f"{self._prefix}{folder}"
        limit = self._metadata_bytes
        lower = BucketBackend(self._bucket, prefix, metadata_bytes=limit, capabilities=self.capabilities)
        lower.lifecycle = self.lifecycle
        return lower

    async def now(self) -> datetime:
        """Give the bucket's clock, by writing a record and asking when it was written."""
        self._bucket.life.check()
        if Capability.CROSS_PROCESS not in self.capabilities:
            return datetime.now(UTC)
        path = f"{self._prefix}clock"
        await self._bucket.put(path, secrets.token_bytes(_NONCE_BYTES), thing="the store's clock")
        return (await self._bucket.head(path, thing="the store's clock")).modified

    async def describe(self) -> dict[str, Any]:
        """Tell what kind of store it is."""
        self._bucket.life.check()
        return {"kind": self.url.partition(":")[0], "url": self.url, "warnings": []}

    async def collect(self, *, dry_run: bool = False) -> list[Remnant]:
        """Remove parts and facts that no object points to; two requests for each large object that is a day old."""
        return await collect_leftovers(self._bucket, self._prefix, now=await self.now(), dry_run=dry_run)

    async def close(self) -> None:
        """Have every further call refused; nothing is held open."""
        self._bucket.life.end()
