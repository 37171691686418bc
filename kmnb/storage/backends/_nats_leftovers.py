"""What nobody needs in a bucket: chunks that no meta message names, and marks of deletions that are old."""

from __future__ import annotations

import re
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
_NUID = re.compile(rb'"nuid":\s*"([^"]*)"')
# All that a document names so, wherever it stands: sparing too much does no harm, reading every document takes long.
_ODD = re.compile(rb'"deleted":\s*true|\\u|\\/')
# Marks of deletions, and documents in which a name may be written in another way.


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
    thing = f"bucket {bucket.name}"
    nuids, deletions = await _census(bucket, lanes, thing=thing)
    found = []
    for nuid in sorted(nuids):
        subject = chunk_subject(bucket.name, nuid)
        newest = await bucket.last(subject, thing=thing)
        if newest is None or not _is_old(newest.stored_at, now, older_than):
            continue
        if not dry_run:
            await bucket.purge(subject, thing=thing)
        found.append(Remnant(subject, "chunks of an object that never became visible"))
    for subject, meta in deletions:
        if not _is_old(meta.stored_at, now, marks_older_than):
            continue
        if not dry_run:
            # Whoever writes under that name meanwhile has a later sequence.
            await bucket.purge(subject, thing=thing, up_to=meta.sequence)
        found.append(Remnant(subject, f"the mark that {meta.name} was deleted is old"))
    return found


async def _census(bucket: Bucket, lanes: Lanes, *, thing: str) -> tuple[set[str], list[tuple[str, Meta]]]:
    """Tell which chunks no document names, and which documents mark a deletion."""
    lister = Lister(bucket, lanes)
    nuids, _ = await lister.tokens(chunk_subject(bucket.name, "")[:-1], rb'[^".\\]+', thing=thing)
    # Metas are listed after the chunks, so that an object which is finished in between is seen.
    root = f"$O.{bucket.name}.M"
    tokens, last_meta = await lister.tokens(root, rb"[A-Za-z0-9_=-]+", thing=thing)
    marks: list[tuple[str, Meta]] = []

    def nuids_of(stored: Stored) -> list[str] | None:
        if not _ODD.search(stored.data) and (plain := _NUID.findall(stored.data)):
            return [nuid.decode("utf-8", "replace") for nuid in plain]
        try:
            meta = read_meta(bucket.name, stored.data, sequence=stored.sequence, stored_at=stored.stored_at)
        except StoreError:
            return None
        if meta.deleted:
            marks.append((stored.subject, meta))
        return [] if meta.deleted else [meta.nuid]

    for group in in_groups(sorted(tokens)):
        subjects = [f"{root}.{token}" for token in group]
        for named in (await lister.last(subjects, nuids_of, at_least=last_meta, thing=thing)).values():
            if named is None:
                # A damaged document may belong to any chunks: then none of them is surely nobody's.
                nuids.clear()
            else:
                nuids.difference_update(named)
    return nuids, marks


def _is_old(moment: datetime | None, now: datetime, seconds: float) -> bool:
    return moment is not None and now - moment >= timedelta(seconds=seconds)
