"""Numbers that are given out once: sequence numbers of tools, versions of names.

A number is reserved by moving a small conditional record, so no two processes get the same one and none is given
out again after a removal. A reservation whose owner dies leaves a gap.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from datetime import datetime

from kmnb.core.bounds import REQUEST_SECONDS
from kmnb.core.versions import Counter
from kmnb.errors import ArtifactNotFound, StoreError, StoreUnavailable, VersionConflict
from kmnb.ops.context import Context

COUNTERS = "counters"
"""First segment of the records that count the results of tools."""
_PAUSE_MAX_SECONDS = 0.1


async def reserve_number(context: Context, name: str, *, floor: int = 0, moment: datetime | None = None) -> int:
    """Take the next number of a counter.

    Args:
        context: Whose store.
        name: Key of the counter's record.
        floor: Smallest number that may be given out.
        moment: The time, for counters that are collected one day.

    Returns:
        A number that nobody else gets; 0 for a new counter.

    Raises:
        StoreUnavailable: Other writers won for :data:`~kmnb.core.bounds.REQUEST_SECONDS` on end.
        StoreError: The counter's record is damaged, or the store failed.
    """
    before = await change_counter(context, name, lambda now: now.reserved(max(now.following, floor), moment))
    return max(before.following, floor)


async def change_counter(context: Context, name: str, change: Callable[[Counter], Counter]) -> Counter:
    """Change a counter's record as one step.

    Args:
        context: Whose store.
        name: Key of the record.
        change: Gives the new record from the present one; called again after a lost race. A raise changes nothing.

    Returns:
        The record as it was before.

    Raises:
        StoreUnavailable: Other writers won for :data:`~kmnb.core.bounds.REQUEST_SECONDS` on end.
        StoreError: The record is damaged, or the store failed.
    """
    async with context.lock(name):
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                return await _change(context, name, change)
        except TimeoutError:
            raise StoreUnavailable(f"counter {name}", "other writers win all the time", "Try again.") from None


async def _change(context: Context, name: str, change: Callable[[Counter], Counter]) -> Counter:
    pause = 0.002
    while True:
        counter, revision = await read_counter(context, name)
        wanted = change(counter)
        if wanted == counter and revision is not None:
            return counter
        try:
            await context.backend.records.put(name, wanted.to_bytes(), expected=revision)
        except VersionConflict:
            # Chance breaks the step of racing processes; it decides nothing else.
            await asyncio.sleep(random.random() * pause)  # noqa: S311
            pause = min(pause * 2, _PAUSE_MAX_SECONDS)
        else:
            return counter


async def read_counter(context: Context, name: str) -> tuple[Counter, str | None]:
    """Look at a counter.

    Returns:
        What its record holds, and the revision of the record, None where there is none.

    Raises:
        StoreError: The record is damaged.
    """
    try:
        record = await context.backend.records.get(name)
    except ArtifactNotFound:
        return Counter(), None
    counter = Counter.from_bytes(record.value)
    if counter is None:
        raise StoreError(f"counter {name}", "its record is damaged", "Remove the record to count anew.")
    return counter, record.revision
