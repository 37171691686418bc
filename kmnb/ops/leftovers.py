"""What else piles up: forgotten registry entries, counters, holds that ended, and whatever a store leaves behind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from kmnb.core.registry import Entry, crew_records, may_forget
from kmnb.core.report import Failure
from kmnb.core.retention import Reason, Verdict
from kmnb.errors import KmnbError
from kmnb.ops.context import Context
from kmnb.ops.holds import list_holds


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that nobody owns any more."""

    verdict: Verdict
    """What it is and why it goes."""
    remove: Callable[[], Awaitable[None]]
    """Removes it."""


async def find_leftovers(context: Context, now: datetime) -> list[Leftover]:
    """Find what nobody owns any more; nothing is changed."""
    return [*await _ended_holds(context, now), *await _forgotten_threads(context, now)]


async def _ended_holds(context: Context, now: datetime) -> list[Leftover]:
    found = []
    async for key, hold in list_holds(context):
        if hold is None or now < hold.until:
            continue

        async def remove(key: str = key, copy: str | None = hold.copy) -> None:
            if copy is not None:
                await context.backend.named.delete(copy)
            await context.backend.records.delete(key)

        detail = f"the hold of {hold.key} ended at {hold.until.isoformat(timespec='seconds')}"
        found.append(Leftover(Verdict(f"record:{key}", Reason.LEFTOVER, None, detail), remove))
    return found


async def _forgotten_threads(context: Context, now: datetime) -> list[Leftover]:
    names, settings = context.names, context.settings
    found = []
    async for record in context.backend.records.list(crew_records(names.namespace, names.crew)):
        entry = Entry.from_bytes(record.value)
        if entry is None or not may_forget(
            entry, now, ttl_seconds=settings.ttl_seconds, grace_seconds=settings.grace_seconds
        ):
            continue

        async def remove(key: str = record.key) -> None:
            await context.backend.records.delete(key)

        detail = f"its thread ended at {entry.ended_at().isoformat(timespec='seconds')}"
        found.append(Leftover(Verdict(f"record:{record.key}", Reason.LEFTOVER, None, detail), remove))
    return found


async def collect_leftovers(context: Context, leftovers: list[Leftover]) -> tuple[list[Verdict], list[Failure]]:
    """Remove leftovers; a failure is reported and the rest goes on."""
    failures = []
    for leftover in leftovers:
        try:
            await leftover.remove()
        except (KmnbError, OSError, TimeoutError) as error:
            failures.append(Failure(leftover.verdict.key, str(error)))
    return [leftover.verdict for leftover in leftovers], failures
