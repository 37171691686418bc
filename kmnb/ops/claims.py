"""Claims: what a collection is about to delete, told beforehand, so that a hold set meanwhile is not overlooked.

A collection writes its claim, then reads the holds, then deletes. Whoever holds an artifact writes the hold, then reads
the claims, and waits while one of them names the artifact. In whatever order the steps fall, one of the two sees
the other: the collection spares the artifact, or the hold finds out that it is gone and says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Collection, Mapping
from datetime import UTC, datetime, timedelta

from kmnb.core.references import read_time
from kmnb.errors import KmnbError
from kmnb.ops.context import Context
from kmnb.ops.holders import holder_name, is_dead

CLAIMS = "claims"
"""First segment of the records of claims."""
CLAIM_SECONDS = 60.0
"""How long a claim counts; a collection that was killed leaves one behind."""
CLAIM_KEYS_MAX = 1000
"""Most objects of one claim: its record stays small, and a hold waits for few deletions."""
MARK_CHARACTERS = 16
"""Length of an object's name in a claim: the beginning of the sha256 of its key."""
SKEW_SECONDS = 3600.0
"""How much clocks may differ where the store has none of its own."""
_POLL_SECONDS = 0.05


def mark_of(key: str) -> str:
    """Name an object in a claim."""
    return hashlib.sha256(key.encode()).hexdigest()[:MARK_CHARACTERS]


@contextlib.asynccontextmanager
async def claimed(context: Context, marks: Collection[str]) -> AsyncIterator[float]:
    """Claim objects while a block runs that reads the holds and then deletes.

    Args:
        context: The workspace.
        marks: What :func:`mark_of` calls them, at most :data:`CLAIM_KEYS_MAX`.

    Yields:
        The time of ``time.monotonic()`` from which on nothing may be deleted any more.

    Raises:
        StoreError: The claim could not be written; nothing may be deleted.
    """
    name = f"{CLAIMS}/{secrets.token_hex(16)}"
    deadline = time.monotonic() + CLAIM_SECONDS / 2
    until = await context.now() + timedelta(seconds=CLAIM_SECONDS)
    value = json.dumps({"until": until.isoformat(), "of": list(marks), "by": holder_name()}).encode()
    await context.backend.records.put(name, value, expected=None)
    try:
        yield deadline
    finally:
        # One that cannot be removed now ends by itself, and a later sweep removes it.
        with contextlib.suppress(KmnbError, OSError, TimeoutError):
            await context.backend.records.delete(name)


async def wait_for_claims(context: Context, key: str) -> None:
    """Wait until no collection is about to delete an object; the caller has written down its hold before."""
    mark, last = mark_of(key), time.monotonic() + CLAIM_SECONDS
    while time.monotonic() < last:
        earliest = await context.now() - timedelta(seconds=SKEW_SECONDS)
        if not any([until > earliest and mark in marks async for _, until, marks in _claims(context)]):
            return
        await asyncio.sleep(_POLL_SECONDS)


async def ended_claims(context: Context, now: datetime) -> list[str]:
    """Find the records of claims whose collection was killed."""
    earliest = now - timedelta(seconds=SKEW_SECONDS)
    return [name async for name, until, _ in _claims(context) if until <= earliest]


async def _claims(context: Context) -> AsyncIterator[tuple[str, datetime, frozenset[str]]]:
    async for record in context.backend.records.list(CLAIMS):
        yield record.key, *_read(record.value)


def _read(raw: bytes) -> tuple[datetime, frozenset[str]]:
    """Give the end of a claim and what it still stands for; a damaged one has ended."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        value = None
    facts: Mapping[str, object] = value if isinstance(value, Mapping) else {}
    marks = facts.get("of")
    known = frozenset(mark for mark in marks if isinstance(mark, str)) if isinstance(marks, list) else frozenset()
    if is_dead(str(facts.get("by", ""))):
        # It deletes nothing any more, so nobody needs to wait for it.
        known = frozenset()
    return read_time(facts.get("until")) or datetime.min.replace(tzinfo=UTC), known
