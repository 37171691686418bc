"""Objects of one bucket, with the verbs of every backend."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress

from kmnb.core.metadata import ObjectInfo
from kmnb.errors import (
    AlreadyExists,
    ArtifactNotFound,
    DigestMismatch,
    NotSupported,
    StoreError,
    StoreUnavailable,
)
from kmnb.storage._keys import check_key, check_prefix, is_below, is_key
from kmnb.storage._protocols import Attributes, Progress, Source
from kmnb.storage._ranges import check_range, same_object
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends._nats_bucket import Bucket
from kmnb.storage.backends._nats_chunks import ChunkReader
from kmnb.storage.backends._nats_lanes import Lanes
from kmnb.storage.backends._nats_layout import (
    Meta,
    Place,
    chunk_subject,
    meta_name,
    meta_pattern,
    meta_subject,
    read_meta,
    write_meta,
)
from kmnb.storage.backends._nats_lister import Lister, in_groups
from kmnb.storage.backends._nats_metas import Broken, understand
from kmnb.storage.backends._nats_stream import Stored
from kmnb.storage.backends._nats_writer import ObjectWriter

COMMIT_SECONDS = 0.15
"""How long an interrupted put waits for its last step, which goes on in any case."""
LINKS_MAX = 4
"""Links that are followed one after the other."""


class NatsArea:
    """An object area in a JetStream object store."""

    def __init__(self, bucket: Bucket, lanes: Lanes) -> None:
        self.bucket = bucket
        self._lanes = lanes
        self._reader = ChunkReader(bucket, lanes)
        self._lister = Lister(bucket, lanes)
        self._others: dict[str, NatsArea] = {}

    async def put(
        self,
        key: str,
        source: Source,
        *,
        create_only: bool = False,
        attributes: Attributes | None = None,
        progress: Progress | None = None,
    ) -> ObjectInfo:
        """Store an object; see the protocol."""
        previous = await self._last(check_key(key))
        if create_only and _is_taken(previous):
            raise AlreadyExists(f"artifact {key!r}", "there is one already", "Choose another key")
        writer = ObjectWriter(self.bucket, self._lanes, key)
        try:
            document = await writer.write(source, attributes, progress)
        except BaseException as error:
            await writer.undo(error)
            raise
        # From here on it is a matter of milliseconds, and a half-made decision would be worse than a late one.
        commit = asyncio.ensure_future(self._commit(writer, document, previous, create_only=create_only))
        try:
            return (await asyncio.shield(commit)).info()
        except asyncio.CancelledError:
            await asyncio.wait({commit}, timeout=COMMIT_SECONDS)
            raise

    async def _commit(
        self, writer: ObjectWriter, document: bytes, previous: Meta | Broken | None, *, create_only: bool
    ) -> Meta:
        """Make an object visible, and remove the chunks of the one that it replaces, which nobody else does."""
        while True:
            try:
                await writer.commit(document, previous.sequence if previous is not None else 0)
                break
            except StoreUnavailable:
                # It may still arrive, so its chunks stay; without a meta they are collected later.
                raise
            except AlreadyExists as error:
                current = await self._last(writer.key)
                if isinstance(current, Meta) and current.nuid == writer.nuid:
                    break
                if create_only and _is_taken(current):
                    await writer.undo(error)
                    raise
                previous = current
            except BaseException as error:
                await writer.undo(error)
                raise
        if isinstance(previous, Meta) and previous.chunks and not previous.deleted:
            # The new object stands whatever comes of this; chunks without a meta are collected later.
            with suppress(StoreError):
                await self.bucket.purge(previous.chunk_subject, thing=f"artifact {writer.key!r}")
        stored = await self._last(writer.key)
        if not isinstance(stored, Meta) or stored.nuid != writer.nuid:
            # Replaced again in the meantime; what we tell is what we wrote.
            return read_meta(self.bucket.name, document, sequence=0, stored_at=None)
        return stored

    async def head(self, key: str) -> ObjectInfo:
        """Tell the facts; see the protocol."""
        return (await self._target(check_key(key))).info(key)

    async def get_range(self, key: str, start: int, end: int, *, info: ObjectInfo | None = None) -> bytes:
        """Read some bytes; see the protocol."""
        check_range(start, end)
        place = await self._place(check_key(key), info)
        end = min(end, place.size)
        if start >= end:
            return b""
        reader = await self._reader_of(place)
        try:
            return await reader.read_range(place, start, end, key=key, is_fresh=info is None)
        except DigestMismatch as error:
            raise await self._told(key, place, error) from error

    async def stream(self, key: str, *, info: ObjectInfo | None = None) -> AsyncIterator[bytes]:
        """Read all of it; see the protocol."""
        place = await self._place(check_key(key), info)
        reader = await self._reader_of(place)
        try:
            async with aclosing(reader.stream(place, key=key)) as windows:
                async for window in windows:
                    yield window
        except DigestMismatch as error:
            raise await self._told(key, place, error) from error

    async def _place(self, key: str, expected: ObjectInfo | None) -> Place:
        """Tell where an object's chunks are; facts of this store spare asking for it again."""
        place = Place.read(expected.identity) if expected is not None else None
        if place is not None:
            return place
        found = await self.head(key)
        same_object(found, expected)
        return Place.of(found)

    async def _told(self, key: str, place: Place, error: DigestMismatch) -> StoreError | ArtifactNotFound:
        """Say what became of an object whose chunks do not add up: gone, replaced, or damaged."""
        if Place.of(await self.head(key)).sequence != place.sequence:
            return DigestMismatch(f"artifact {key!r}", "it was replaced while it was read", "Read it again")
        return error

    async def delete(self, key: str) -> None:
        """Remove an object; see the protocol."""
        thing = f"artifact {key!r}"
        subject = meta_subject(self.bucket.name, check_key(key))
        while (stored := await self.bucket.last(subject, thing=thing)) is not None:
            meta = self._understand(stored)
            nuid = meta.nuid if isinstance(meta, Meta) else ""
            if isinstance(meta, Meta) and meta.deleted:
                return
            marker = {"name": key, "bucket": self.bucket.name, "nuid": nuid, "size": 0, "chunks": 0, "deleted": True}
            headers = {"Nats-Rollup": "sub", "Nats-Expected-Last-Subject-Sequence": str(stored.sequence)}
            try:
                await self.bucket.store(subject, write_meta(marker), thing=thing, headers=headers)
            except failures.ApiError as error:
                if error.code in failures.WRONG_SEQUENCE:
                    continue
                if error.code not in failures.FULL:
                    raise failures.translate(error, thing, self.bucket.link.address.shown) from error
                # No room is left for the mark; without one nobody learns why it is gone, but room is made.
                await self.bucket.purge(subject, thing=thing, up_to=stored.sequence)
            if nuid:
                await self.bucket.purge(chunk_subject(self.bucket.name, nuid), thing=thing)
            return

    async def _last(self, key: str) -> Meta | Broken | None:
        stored = await self.bucket.last(meta_subject(self.bucket.name, key), thing=f"artifact {key!r}")
        return None if stored is None else self._understand(stored)

    def _understand(self, stored: Stored) -> Meta | Broken:
        return understand(self.bucket.name, stored)

    async def _target(self, key: str) -> Meta:
        area, name = self, key
        for _ in range(LINKS_MAX):
            meta = await area._last(name)
            if isinstance(meta, Broken):
                raise meta.error(name)
            if meta is None or meta.deleted:
                reason = "deleted" if meta is not None else "it never existed, was deleted or has expired"
                raise ArtifactNotFound(f"artifact {key!r}", reason)
            if meta.link is None:
                return meta
            bucket, target = meta.link
            if target is None:
                raise NotSupported(
                    f"artifact {key!r}", f"it is a link to the whole bucket {bucket}", "Open that bucket"
                )
            area, name = await area._area_of(bucket), target
        raise StoreError(f"artifact {key!r}", f"more than {LINKS_MAX} links follow one another")

    async def _area_of(self, bucket: str) -> NatsArea:
        if bucket == self.bucket.name:
            return self
        if re.fullmatch(r"[A-Za-z0-9_-]{1,200}", bucket) is None:
            raise StoreError(f"bucket {bucket!r}", "no bucket can have that name")
        if bucket not in self._others:
            self._others[bucket] = NatsArea(await Bucket.find(self.bucket.link, bucket), self._lanes)
        return self._others[bucket]

    async def _reader_of(self, place: Place) -> ChunkReader:
        return (await self._area_of(place.bucket))._reader

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        """Walk the objects below a prefix; see the protocol."""
        prefix, thing = check_prefix(prefix), f"bucket {self.bucket.name}"
        root, pattern = meta_pattern(self.bucket.name, prefix)
        tokens, last = await self._lister.tokens(root, pattern, thing=thing)
        named = ((meta_name(token), f"{root}.{token}") for token in tokens)
        matches = sorted((name, subject) for name, subject in named if name is not None and is_below(name, prefix))
        for group in in_groups(matches):
            subjects = [subject for _, subject in group]
            metas = await self._lister.last(subjects, self._understand, at_least=last, thing=thing)
            for name, subject in group:
                meta = metas.get(subject)
                if meta is None or not is_key(name):
                    continue
                if isinstance(meta, Broken):
                    # One damaged document does not hide the others.
                    yield ObjectInfo(name, created_at=meta.stored_at)
                elif not meta.deleted:
                    yield await self._listed(meta)

    async def _listed(self, meta: Meta) -> ObjectInfo:
        """Give the facts that a listing tells; a link has those of its target, few where that is gone."""
        key = meta.name
        if meta.link is not None:
            try:
                meta = await self._target(key)
            except StoreUnavailable:
                raise
            except (ArtifactNotFound, StoreError):
                return ObjectInfo(key, created_at=meta.stored_at)
        return meta.info(key, with_attributes=False)


def _is_taken(current: Meta | Broken | None) -> bool:
    return isinstance(current, Broken) or (current is not None and not current.deleted)
