"""What nobody needs in a bucket: chunks that no meta message names, and marks of deletions that are old."""

from __future__ import annotations

from datetime import datetime, timedelta

from kmnb.errors import StoreError
from kmnb.storage._protocols import Remnant
from kmnb.storage.backends._nats_bucket import Bucket
from kmnb.storage.backends._nats_lanes import Lanes
from kmnb.storage.backends._nats_layout import Meta, chunk_subject, read_meta
from kmnb.storage.backends._nats_lister import Lister, in_groups
from kmnb.storage.backends._nats_stream import Stored

LEFTOVER_SECONDS = 3600.0
"""Age of the last chunk from which on nobody can still be writing the object."""
MARK_SECONDS = 48 * 3600.0
"""Age from which on nobody asks why an object is gone: references to it have expired."""


async def collect_leftovers(
    bucket: Bucket,
    lanes: Lanes,
    *,
    now: datetime,
    older_than: float = LEFTOVER_SECONDS,
    marks_older_than: float = MARK_SECONDS,
    dry_run: bool = False,
) -> list[Remnant]:
    """Remove chunks of objects that never became visible, and old marks of deletions.

    Args:
        bucket: Where to look.
        lanes: Connections to use.
        now: The server's clock.
        older_than: Age in seconds of the last chunk from which on it is a leftover.
        marks_older_than: Age in seconds from which on a mark of a deletion is one.
        dry_run: Whether only to find it.

    Returns:
        What was found.
    """
    lister, thing = Lister(bucket, lanes), f"bucket {bucket.name}"
    nuids, _ = await lister.tokens(chunk_subject(bucket.name, "")[:-1], rb'[^".\\]+', thing=thing)
    # Metas are listed after the chunks, so that an object which is finished in between is seen.
    root = f"$O.{bucket.name}.M"
    tokens, last_meta = await lister.tokens(root, rb"[A-Za-z0-9_=-]+", thing=thing)
    marks: list[tuple[str, Meta]] = []

    def nuid_of(stored: Stored) -> str | None:
        try:
            meta = read_meta(bucket.name, stored.data, sequence=stored.sequence, stored_at=stored.stored_at)
        except StoreError:
            return None
        if not meta.deleted:
            return meta.nuid
        if _is_old(meta.stored_at, now, marks_older_than):
            marks.append((stored.subject, meta))
        return ""

    for group in in_groups(sorted(tokens)):
        subjects = [f"{root}.{token}" for token in group]
        named = set((await lister.last(subjects, nuid_of, at_least=last_meta, thing=thing)).values())
        # A damaged document may belong to any chunks: then none of them is surely nobody's.
        nuids = set() if None in named else nuids - named
    found = []
    for nuid in sorted(nuids):
        subject = chunk_subject(bucket.name, nuid)
        newest = await bucket.last(subject, thing=thing)
        if newest is None or not _is_old(newest.stored_at, now, older_than):
            continue
        if not dry_run:
            await bucket.purge(subject, thing=thing)
        found.append(Remnant(subject, "chunks of an object that never became visible"))
    for subject, meta in marks:
        if not dry_run:
            # Whoever writes under that name meanwhile has a later sequence.
            await bucket.purge(subject, thing=thing, up_to=meta.sequence)
        found.append(Remnant(subject, f"the mark that {meta.name} was deleted is old"))
    return found


def _is_old(moment: datetime | None, now: datetime, seconds: float) -> bool:
    return moment is not None and now - moment >= timedelta(seconds=seconds)
