"""Objects in a bucket: the same rules for memory, S3, GCS and Azure.

A larger object is uploaded under a name that nobody knows, then an empty pointer to it appears under the key, with the
same conditional request that stores a small one. So both appear whole or not at all, create-only or not.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import NoReturn

from kmnb.core.bounds import WINDOW_BYTES
from kmnb.core.metadata import Area, ObjectInfo
from kmnb.errors import AlreadyExists, ArtifactNotFound, DigestMismatch, StoreDenied, StoreError, StoreUnavailable
from kmnb.storage._digest import RunningDigest
from kmnb.storage._keys import check_key, check_prefix
from kmnb.storage._obstore import Bucket, Found
from kmnb.storage._protocols import Attributes, Progress, Source
from kmnb.storage._ranges import check_range, same_object
from kmnb.storage._source import Intake, final_attributes, known_size
from kmnb.storage._threads import settle
from kmnb.storage.backends._bucket_layout import SMALL_MAX_BYTES, Facts, Paths, fit_facts, pack_facts, read_facts
from kmnb.storage.backends._bucket_walk import walk

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
        self._bucket, self._limit = bucket, metadata_bytes
        self._paths = Paths(f"{prefix}{area}/")
        self._parts, self._facts = f"{prefix}parts/", f"{prefix}facts/"
        self._home = f"{area}/" if area == Area.DISCUSSIONS else ""

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
        path, thing = self._paths.path(check_key(key)), f"artifact {key!r}"
        self._bucket.life.check()
        facts = Facts(self._home + secrets.token_hex(16), "", key=key if self._paths.is_cut(path) else None)
        if create_only and (known_size(source) or SMALL_MAX_BYTES + 1) > SMALL_MAX_BYTES:
            # Only the conditional write decides; whoever is late anyway shall not read or send a large source first.
            await self._before(path, thing, create_only=True)
        async with aclosing(Intake(source, progress)) as intake:
            data = await intake.whole(SMALL_MAX_BYTES)
            before = None if create_only else await self._before(path, thing, create_only=False)
            publishing = None
            try:
                if data is None:
                    facts = replace(facts, parts=True)
                    owner = pack_facts(Facts(facts.identity, "", key=path))
                    parts = self._parts + facts.identity
                    await self._bucket.upload(parts, intake.rest(), thing=thing, metadata=owner)
                facts = replace(facts, size=intake.size)
                facts = replace(facts, digest=await intake.digest(), attributes=final_attributes(attributes))
                work = self._publish(path, data or b"", facts, create_only=create_only, thing=thing)
                publishing = asyncio.ensure_future(work)
                await settle(publishing)
            except BaseException:
                if publishing is None or publishing.cancelled() or publishing.exception() is not None:
                    await self._drop(facts)  # nothing points to it
                raise
        if before is not None:
            await self._drop(before)
        return facts.info(key, len(data or b""), datetime.now(UTC))

    async def _before(self, path: str, thing: str, *, create_only: bool) -> Facts | None:
        try:
            found = await self._bucket.head(path, thing=thing)
        except ArtifactNotFound:
            return None
        if create_only:
            raise AlreadyExists(thing, "the key is taken", "Choose another key")
        return read_facts(found.metadata, found.revision)

    async def _publish(self, path: str, data: bytes, facts: Facts, *, create_only: bool, thing: str) -> None:
        kept = fit_facts(facts, self._limit)
        if kept.apart:
            told = json.dumps({"attributes": dict(facts.attributes)}).encode()
            owner = pack_facts(Facts(facts.identity, "", key=path))
            await self._bucket.put(self._facts + facts.identity, told, thing=thing, metadata=owner)
        mode = "create" if create_only else "overwrite"
        try:
            await self._bucket.put(path, data, mode=mode, metadata=pack_facts(kept), thing=thing)
        except AlreadyExists:
            # A request that was sent again after a lost answer meets its own first success.
            with suppress(ArtifactNotFound):  # whoever was faster may have been deleted since
                found = await self._bucket.head(path, thing=thing)
                if read_facts(found.metadata, found.revision).identity == facts.identity:
                    return
            raise
        except ArtifactNotFound:
            raise StoreUnavailable(thing, "the bucket does not exist", "Make the bucket, or check the URL") from None

    async def _drop(self, facts: Facts) -> None:
        """Remove what lies apart."""
        if facts.parts:
            await self._bucket.delete(self._parts + facts.identity, thing="parts of an artifact")
        if fit_facts(facts, self._limit).apart:
            await self._bucket.delete(self._facts + facts.identity, thing="facts of an artifact")

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
            attributes = json.loads(kept.data)["attributes"]
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
        await self._drop(read_facts(found.metadata, found.revision))

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
