"""What killed writers leave in a bucket: bytes and attributes that no object points to.

Parts of uploads that were never completed are not to be seen by obstore; buckets have a rule of their own for those
(S3: AbortIncompleteMultipartUpload; GCS the same; Azure drops them after a week).
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from kmnb.errors import ArtifactNotFound
from kmnb.storage._obstore import Bucket, Found
from kmnb.storage._protocols import Remnant
from kmnb.storage.backends._bucket_layout import read_facts

LEFTOVER_SECONDS = 24 * 3600.0
"""Age below which such things are left alone: an upload may be under way for long."""


async def collect_leftovers(
    bucket: Bucket, prefix: str, *, now: datetime, older_than: float = LEFTOVER_SECONDS, dry_run: bool = False
) -> list[Remnant]:
    """Remove what no object points to.

    Args:
        bucket: The bucket.
        prefix: The store's prefix in it.
        now: The bucket's clock.
        older_than: Age in seconds.
        dry_run: Whether only to find it.

    Returns:
        What no object points to.
    """
    remnants = []
    for folder in (f"{prefix}parts/", f"{prefix}facts/"):
        async for found in bucket.list(folder):
            old = now - found.modified >= timedelta(seconds=older_than)
            if old and not await _is_used(bucket, found, prefix=prefix, identity=found.path.removeprefix(folder)):
                if not dry_run:
                    await bucket.delete(found.path, thing="a leftover")
                remnants.append(Remnant(found.path.removeprefix(prefix), "no object points to it", found.size))
    return remnants


async def _is_used(bucket: Bucket, found: Found, *, prefix: str, identity: str) -> bool:
    try:
        told = await bucket.head(found.path, thing="a leftover")
    except ArtifactNotFound:
        return False
    facts = read_facts(told.metadata, told.revision)
    if facts.damaged:
        return True  # what cannot be understood is not surely nobody's
    return facts.key is not None and await _points(bucket, facts.key, prefix=prefix, identity=identity)


async def _points(bucket: Bucket, owner: str, *, prefix: str, identity: str) -> bool:
    """Tell whether an object points there; older stores wrote its whole path, which is tried as well."""
    for path in dict.fromkeys((prefix + owner, owner)):
        with suppress(ArtifactNotFound):
            seen = await bucket.head(path, thing="the owner of a leftover")
            facts = read_facts(seen.metadata, seen.revision)
            if facts.damaged or facts.identity == identity:
                return True
    return False
