"""Objects in a bucket: the same rules for memory, S3, GCS and Azure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import NoReturn

from kmnb.core.bounds import WINDOW_BYTES
from kmnb.core.metadata import Area, ObjectInfo
from kmnb.errors import ArtifactNotFound, DigestMismatch, StoreDenied, StoreError, StoreUnavailable
from kmnb.storage._attributes import read_attributes
from kmnb.storage._digest import RunningDigest
from kmnb.storage._keys import check_key, check_prefix
from kmnb.storage._obstore import Bucket, Found
from kmnb.storage._protocols import Attributes, Progress, Source
from kmnb.storage._ranges import check_range, same_object
from kmnb.storage._source import Intake, known_size
from kmnb.storage.backends._bucket_layout import (
    SMALL_MAX_BYTES,
    Facts,
    Paths,
    read_facts,
)
from kmnb.storage.backends._bucket_walk import walk
from kmnb.storage.backends._bucket_writer import BucketWriter

REQUEST_BYTES = 64 * 1024 * 1024
"""Range that one request streams of a large object; it is bounded, since a request has a time-out."""


class BucketArea:
    """One area of a bucket.

    Args:
        bucket: Where things lie.
        prefix: What stands before everything, with its trailing slash where it is not empty.
        area: Name of the area.
        metadata_bytes: What fits into an object's own metadata.
    """

    def __init__(self, bucket: Bucket, prefix: str, *, area: str, metadata_bytes: int) -> None:
        self._bucket, self._paths = bucket, Paths(f"{prefix}{area}/")
        self._parts, self._facts = f"{prefix}parts/", f"{prefix}facts/"
        home = f"{area}/" if area == Area.DISCUSSIONS else ""
        self._writer = BucketWriter(bucket, self._paths, prefix=prefix, home=home, metadata_bytes=metadata_bytes)

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
        writer, path = self._writer, self._paths.path(check_key(key))
        self._bucket.life.check()
        size = known_size(source)
        if create_only and (size is None or size > SMALL_MAX_BYTES):
            # Only the conditional write decides; whoever is late anyway shall not read or send a large source first.
            await writer.before(path, f"artifact {key!r}", create_only=True)
        async with aclosing(Intake(source, progress)) as intake:
            return await writer.put(key, intake, create_only=create_only, attributes=attributes)

    async def head(self, key: str) -> ObjectInfo:
        """Tell size, digest, time and attributes; see ``ObjectArea.head``."""
        path, thing = self._paths.path(check_key(key)), f"artifact {key!r}"
        lost: Facts | None = None
        while True:
            found = await self._bucket.head(path, thing=thing)
            facts = read_facts(found.metadata, found.revision)
            if not facts.apart:
                return facts.info(key, found.size, found.modified)
            try:
                kept = await self._bucket.get(self._facts + facts.identity, thing=thing)
            except ArtifactNotFound:
                # Either somebody wrote the object again between the two requests, or they are gone for good.
                if lost is not None and lost.identity == facts.identity:
                    raise DigestMismatch(thing, "its attributes are gone from the bucket", "Store it again") from None
                lost = facts
                continue
            try:
                attributes = read_attributes(json.loads(kept.data).get("attributes", {}))
            except (ValueError, AttributeError, RecursionError):
                raise DigestMismatch(thing, "its attributes cannot be read", "Store it again") from None
            return replace(facts, attributes=attributes).info(key, found.size, found.modified)

    async def _known(self, key: str, info: ObjectInfo | None) -> ObjectInfo:
        """Facts without attributes: those of the caller where they are enough, else asked for."""
        if info is not None and info.identity is not None and info.size is not None:
            return replace(info, key=key)  # facts may be told under another name, as those of held copies are
        found = await self._bucket.head(self._paths.path(key), thing=f"artifact {key!r}")
        known = _told(key, found)
        same_object(known, info)
        return known

    def _where(self, known: ObjectInfo) -> tuple[str, bool]:
        """Path of the bytes, and whether they lie apart from the key."""
        identity = known.identity or ""
        apart = identity.endswith("+")
        return (self._parts + identity[:-1] if apart else self._paths.path(known.key)), apart

    def _check(self, known: ObjectInfo, found: Found) -> None:
        """Make sure that what was read is of the object that is known."""
        if not self._where(known)[1]:
            same_object(_told(known.key, found), known)
        if found.size != known.size:
            reason = f"{found.size} bytes lie in the bucket, stored were {known.size}"
            raise DigestMismatch(f"artifact {known.key!r}", reason, "Store it again")

    async def _gone(self, known: ObjectInfo) -> NoReturn:
        """Tell why a range of a known object is not there."""
        same_object(await self._known(known.key, None), known)
        raise DigestMismatch(f"artifact {known.key!r}", "its bytes are gone from the bucket", "Store it again")

    async def _read(self, known: ObjectInfo, start: int, end: int) -> bytes:
        """Read a range that lies inside."""
        thing = f"artifact {known.key!r}"
        try:
            found = await self._bucket.get_range(self._where(known)[0], start, end, thing=thing)
        except (StoreUnavailable, StoreDenied):
            raise
        except (ArtifactNotFound, StoreError):
            await self._gone(known)
        self._check(known, found)
        return found.data

    async def get_range(self, key: str, start: int, end: int, *, info: ObjectInfo | None = None) -> bytes:
        """Read some bytes; see ``ObjectArea.get_range``."""
        check_range(start, end)
        self._bucket.life.check()
        known = await self._known(check_key(key), info)
        stop = min(end, known.size or 0)
        if start >= stop:
            return b""
        data = await self._read(known, start, stop)
        if len(data) == known.size:
            _check(known, hashlib.sha256(data).hexdigest())
        return data

    async def stream(self, key: str, *, info: ObjectInfo | None = None) -> AsyncIterator[bytes]:
        """Read all of it, checked; see ``ObjectArea.stream``."""
        thing, digest = f"artifact {key!r}", RunningDigest()
        first = await self._bucket.get(self._paths.path(check_key(key)), thing=thing, max_bytes=SMALL_MAX_BYTES)
        known = _told(key, first)
        same_object(known, info)
        chunks = _one(first.data) if known.size == len(first.data) else self._chunks(known)
        held: list[bytes] = []
        try:
            async with aclosing(chunks):
                async for some in chunks:
                    await digest.feed(some)
                    for window in _cut(held):
                        yield window
                    held = some
            # The last chunks are held back until all of it was checked.
            _check(known, (await digest.finish()).hex())
        finally:
            await digest.close()
        for window in _cut(held):
            yield window

    async def _chunks(self, known: ObjectInfo) -> AsyncGenerator[list[bytes], None]:
        """Read a large object in few requests; one that breaks off is taken up again where it broke."""
        size, done, thing = known.size or 0, 0, f"artifact {known.key!r}"
        while done < size:
            before, end = done, min(done + REQUEST_BYTES, size)
            try:
                async with aclosing(self._bucket.stream(self._where(known)[0], done, end, thing=thing)) as chunks:
                    async for found, some in chunks:
                        self._check(known, found)
                        done += sum(map(len, some))
                        yield some
            except (StoreUnavailable, StoreDenied):
                if done == before:
                    raise
            except DigestMismatch:
                raise
            except (ArtifactNotFound, StoreError):
                await self._gone(known)

    async def delete(self, key: str) -> None:
        """Remove an object; see ``ObjectArea.delete``."""
        path, thing = self._paths.path(check_key(key)), f"artifact {key!r}"
        try:
            found = await self._bucket.head(path, thing=thing)
        except ArtifactNotFound:
            return
        await self._bucket.delete(path, thing=thing)
        await self._writer.drop(read_facts(found.metadata, found.revision), path)

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        """Walk objects; one request more for an empty or a very long one. See ``ObjectArea.list``."""
        async with aclosing(walk(self._bucket, self._paths, check_prefix(prefix))) as found:
            async for info in found:
                yield info


def _told(key: str, found: Found) -> ObjectInfo:
    return read_facts(found.metadata, found.revision).info(key, found.size, found.modified)


def _check(known: ObjectInfo, digest: str) -> None:
    if known.digest is not None and known.digest != f"sha256:{digest}":
        reason = f"sha256 is {digest}, stored was {known.digest.removeprefix('sha256:')}"
        raise DigestMismatch(f"artifact {known.key!r}", reason, "The object was changed or damaged; store it again")


def _cut(chunks: list[bytes]) -> Iterator[bytes]:
    """Give chunks as windows; most are small enough."""
    for chunk in chunks:
        for start in range(0, len(chunk), WINDOW_BYTES):
            yield chunk[start : start + WINDOW_BYTES]


async def _one(chunk: bytes) -> AsyncGenerator[list[bytes], None]:
    yield [chunk]
