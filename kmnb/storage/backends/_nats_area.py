"""Objects of one bucket, with the verbs of every backend."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing

from kmnb.core.metadata import ObjectInfo
from kmnb.errors import (
    AlreadyExists,
    ArtifactNotFound,
    BadRequest,
    DigestMismatch,
    KeySyntaxError,
    NotSupported,
    StoreError,
)
from kmnb.storage._keys import check_key, check_prefix, is_below
from kmnb.storage._protocols import Attributes, Progress, Source
from kmnb.storage.backends._nats_bucket import Bucket
from kmnb.storage.backends._nats_chunks import ChunkReader
from kmnb.storage.backends._nats_lane import Lanes
from kmnb.storage.backends._nats_layout import Meta, Place, meta_name, meta_pattern, meta_subject, read_meta, write_meta
from kmnb.storage.backends._nats_lister import Lister, in_groups
from kmnb.storage.backends._nats_stream import Stored
from kmnb.storage.backends._nats_writer import ObjectWriter

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
        previous = await self._meta(check_key(key))
        if create_only:
            _refuse_taken(key, previous)
        writer = ObjectWriter(self.bucket, self._lanes, key)
        try:
            document = await writer.write(source, attributes, progress)
            meta, replaced = await self._commit(writer, document, previous, create_only=create_only)
        except BaseException:
            await writer.undo()
            raise
        if replaced is not None and replaced.chunks:
            await self.bucket.purge(replaced.chunk_subject, thing=f"object {key}")
        return meta.info()

    async def _commit(
        self, writer: ObjectWriter, document: bytes, previous: Meta | None, *, create_only: bool
    ) -> tuple[Meta, Meta | None]:
        """Make an object visible; give its meta, and the one that it replaced, which nobody else did."""
        while True:
            try:
                await writer.commit(document, previous.sequence if previous is not None else 0)
            except AlreadyExists:
                current = await self._meta(writer.key)
                if current is None or current.nuid != writer.nuid:
                    if create_only:
                        _refuse_taken(writer.key, current)
                    previous = current
                    continue
            stored = await self._meta(writer.key)
            if stored is None or stored.nuid != writer.nuid:
                # Replaced again in the meantime; what we tell is what we wrote.
                stored = read_meta(self.bucket.name, document, sequence=0, stored_at=None)
            return stored, previous

    async def head(self, key: str) -> ObjectInfo:
        """Tell the facts; see the protocol."""
        return (await self._target(check_key(key))).info(key)

    async def get_range(self, key: str, start: int, end: int, *, info: ObjectInfo | None = None) -> bytes:
        """Read some bytes; see the protocol."""
        check_key(key)
        if start < 0 or end < start:
            raise BadRequest(f"range {start} to {end} of object {key}", "it is negative or reversed")
        place = Place.of(info or await self.head(key))
        end = min(end, place.size)
        if start >= end:
            return b""
        reader = await self._reader_of(place)
        try:
            return await reader.read_range(place, start, end, key=key)
        except DigestMismatch as error:
            raise await self._told(key, place, error) from error

    async def stream(self, key: str, *, info: ObjectInfo | None = None) -> AsyncIterator[bytes]:
        """Read all of it; see the protocol."""
        place = Place.of(info or await self.head(check_key(key)))
        reader = await self._reader_of(place)
        try:
            async with aclosing(reader.stream(place, key=key)) as windows:
                async for window in windows:
                    yield window
        except DigestMismatch as error:
            raise await self._told(key, place, error) from error

    async def _told(self, key: str, place: Place, error: DigestMismatch) -> StoreError | ArtifactNotFound:
        """Say what became of an object whose chunks do not add up: gone, replaced, or damaged."""
        if Place.of(await self.head(key)).sequence != place.sequence:
            return DigestMismatch(f"object {key}", "it was replaced while it was read", "Read it again")
        return error

    async def delete(self, key: str) -> None:
        """Remove an object; see the protocol."""
        meta = await self._meta(check_key(key))
        if meta is None or meta.deleted:
            return
        document = {"name": key, "bucket": meta.bucket, "nuid": meta.nuid, "size": 0, "chunks": 0, "deleted": True}
        subject = meta_subject(self.bucket.name, key)
        headers = {"Nats-Rollup": "sub"}
        await self.bucket.link.request(subject, write_meta(document), thing=f"object {key}", headers=headers)
        if meta.nuid and meta.chunks:
            await self.bucket.purge(meta.chunk_subject, thing=f"object {key}")

    async def _meta(self, key: str) -> Meta | None:
        stored = await self.bucket.last(meta_subject(self.bucket.name, key), thing=f"object {key}")
        return None if stored is None else self._read(stored)

    def _read(self, stored: Stored) -> Meta:
        return read_meta(self.bucket.name, stored.data, sequence=stored.sequence, stored_at=stored.stored_at)

    async def _target(self, key: str) -> Meta:
        area, name = self, key
        for _ in range(LINKS_MAX):
            meta = await area._meta(name)
            if meta is None or meta.deleted:
                reason = "deleted" if meta is not None else "it never existed, was deleted or has expired"
                raise ArtifactNotFound(f"object {key}", reason)
            if meta.link is None:
                return meta
            bucket, target = meta.link
            if target is None:
                raise NotSupported(f"object {key}", f"it is a link to the whole bucket {bucket}", "Open that bucket")
            area, name = await area._area_of(bucket), target
        raise StoreError(f"object {key}", f"more than {LINKS_MAX} links follow one another")

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
            metas = await self._lister.last((subject for _, subject in group), self._read, at_least=last, thing=thing)
            for name, subject in group:
                meta = metas.get(subject)
                if meta is not None and not meta.deleted and _is_key(name):
                    yield await self._listed(meta)

    async def _listed(self, meta: Meta) -> ObjectInfo:
        """Give the facts that a listing tells; a link has those of its target, few where that is gone."""
        key = meta.name
        if meta.link is not None:
            try:
                meta = await self._target(key)
            except (ArtifactNotFound, NotSupported):
                return ObjectInfo(key, created_at=meta.stored_at)
        return meta.info(key, with_attributes=False)


def _refuse_taken(key: str, current: Meta | None) -> None:
    if current is not None and not current.deleted:
        raise AlreadyExists(f"object {key}", "there is one already", "Choose another key")


def _is_key(name: str) -> bool:
    """Tell whether kmnb could name an object of another client."""
    try:
        check_key(name)
    except KeySyntaxError:
        return False
    return True
