"""Numbers that are given out once: sequence numbers of tools, versions of names.

A number is reserved by moving a small conditional record, so no two processes get the same one and none is given
out again after a removal. A reservation whose owner dies leaves a gap.
"""

from __future__ import annotations

import asyncio
import random

from kmnb.core.bounds import REQUEST_SECONDS
from kmnb.errors import ArtifactNotFound, StoreError, StoreUnavailable, VersionConflict
from kmnb.ops.context import Context

_PAUSE_MAX_SECONDS = 0.1


async def reserve_number(context: Context, name: str, *, floor: int = 0) -> int:
    """Take the next number of a counter.

    Args:
        context: Whose store.
        name: Key of the counter's record.
        floor: Smallest number that may be given out.

    Returns:
        A number that nobody else gets; 0 for a new counter.

    Raises:
        StoreUnavailable: Other writers won for :data:`~kmnb.core.bounds.REQUEST_SECONDS` on end.
        StoreError: The counter's record is damaged, or the store failed.
    """
    async with context.lock(name):
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                return await _reserve(context, name, floor)
        except TimeoutError:
            raise StoreUnavailable(f"counter {name}", "other writers win all the time", "Try again.") from None


async def _reserve(context: Context, name: str, floor: int) -> int:
    pause = 0.002
    while True:
        following, revision = await next_number(context, name)
        number = max(following, floor)
        try:
            await context.backend.records.put(name, str(number + 1).encode(), expected=revision)
        except VersionConflict:
            # Chance breaks the step of racing processes; it decides nothing else.
            await asyncio.sleep(random.random() * pause)  # noqa: S311
            pause = min(pause * 2, _PAUSE_MAX_SECONDS)
        else:
            return number


async def next_number(context: Context, name: str) -> tuple[int, str | None]:
    """Look at a counter without moving it.

    Returns:
        The number that it would give out next, and the revision of its record, None where it has none.

    Raises:
        StoreError: The record is damaged.
    """
    try:
        record = await context.backend.records.get(name)
    except ArtifactNotFound:
        return 0, None
    text = record.value
    if not text.isdigit() or len(text) > 18:
        raise StoreError(f"counter {name}", "its record is damaged", "Remove the record to count anew.")
    return int(text), record.revision
