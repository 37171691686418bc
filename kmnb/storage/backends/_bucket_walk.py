"""Walk the objects of an area of a bucket in order of their keys."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace

from kmnb.core.metadata import ObjectInfo
from kmnb.errors import ArtifactNotFound, DigestMismatch
from kmnb.storage._keys import is_below, is_key
from kmnb.storage._obstore import Bucket, Found
from kmnb.storage.backends._bucket_layout import Paths, read_facts


async def walk(bucket: Bucket, paths: Paths, below: str) -> AsyncGenerator[ObjectInfo, None]:
    """Walk the objects below a checked prefix.

    Args:
        bucket: The bucket.
        paths: Paths of the area.
        below: Whole segments, without trailing slash; empty for all.

    Yields:
        Key, size and time. Only for an empty object, which may be a pointer, and for a cut path, which hides its key,
        something is asked; a damaged object has no size.
    """
    folder, exact = paths.folder(below)
    if below and exact:
        with suppress(ArtifactNotFound):
            yield await _listed(bucket, paths, await bucket.head(folder, thing=f"artifact {below!r}"))
    async with aclosing(_ordered(bucket, paths, folder)) as found:
        async for info in found:
            if is_below(info.key, below) and is_key(info.key):
                yield info


async def _ordered(bucket: Bucket, paths: Paths, folder: str) -> AsyncGenerator[ObjectInfo, None]:
    """Give everything below a folder; stretches with cut paths, which are not in order, are sorted."""
    mixed: list[ObjectInfo] = []
    mix: bytes | None = None
    async with aclosing(bucket.list(folder)) as pages:
        async for found in pages:
            now = paths.mix(found.path)
            if mixed and now != mix:
                for info in sorted(mixed, key=_by_key):
                    yield info
                mixed.clear()
            mix = now
            try:
                info = await _listed(bucket, paths, found)
            except ArtifactNotFound:
                continue  # deleted since the page was made
            if now is None:
                yield info
            else:
                mixed.append(info)
    for info in sorted(mixed, key=_by_key):
        yield info


async def _listed(bucket: Bucket, paths: Paths, found: Found) -> ObjectInfo:
    cut = paths.is_cut(found.path)
    if found.size and not cut:
        return ObjectInfo(paths.key(found.path), found.size, None, found.modified)
    if found.metadata is None:
        found = await bucket.head(found.path, thing=f"path {found.path!r}")
    facts = read_facts(found.metadata, found.revision)
    key = facts.key if cut and facts.key is not None else paths.key(found.path)
    try:
        return replace(facts.info(key, found.size, found.modified), attributes={})
    except DigestMismatch:
        return ObjectInfo(key, created_at=found.modified)


def _by_key(info: ObjectInfo) -> bytes:
    return info.key.encode()
