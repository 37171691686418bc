"""What killed writers left: chunks that no meta message names."""

from __future__ import annotations

from datetime import datetime, timedelta

from kmnb.storage.backends._nats_bucket import Bucket
from kmnb.storage.backends._nats_lanes import Lanes
from kmnb.storage.backends._nats_layout import chunk_subject, read_meta
from kmnb.storage.backends._nats_lister import Lister, in_groups
from kmnb.storage.backends._nats_stream import Stored

LEFTOVER_SECONDS = 3600.0
"""Age of the last chunk from which on nobody can still be writing the object."""


async def collect_leftovers(
    bucket: Bucket, lanes: Lanes, *, now: datetime, older_than: float = LEFTOVER_SECONDS
) -> int:
    """Remove chunks of objects that never became visible.

    Args:
        bucket: Where to look.
        lanes: Connections to use.
        now: The server's clock.
        older_than: Age in seconds of the last chunk from which on it is a leftover.

    Returns:
        Number of objects whose chunks were removed.
    """
    lister, thing = Lister(bucket, lanes), f"bucket {bucket.name}"
    nuids, _ = await lister.tokens(chunk_subject(bucket.name, "")[:-1], rb'[^".\\]+', thing=thing)
    # Metas are listed after the chunks, so that an object which is finished in between is seen.
    root = f"$O.{bucket.name}.M"
    tokens, last_meta = await lister.tokens(root, rb"[A-Za-z0-9_=-]+", thing=thing)

    def nuid_of(stored: Stored) -> str:
        meta = read_meta(bucket.name, stored.data, sequence=stored.sequence, stored_at=stored.stored_at)
        return "" if meta.deleted else meta.nuid

    for group in in_groups(sorted(tokens)):
        subjects = [f"{root}.{token}" for token in group]
        nuids -= set((await lister.last(subjects, nuid_of, at_least=last_meta, thing=thing)).values())
    removed = 0
    for nuid in sorted(nuids):
        subject = chunk_subject(bucket.name, nuid)
        newest = await bucket.last(subject, thing=thing)
        if newest is None or newest.stored_at is None or now - newest.stored_at < timedelta(seconds=older_than):
            continue
        await bucket.purge(subject, thing=thing)
        removed += 1
    return removed
