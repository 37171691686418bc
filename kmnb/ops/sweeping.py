"""One sweep from beginning to end: the lease, the verdicts, the deletions, and what else piles up."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from kmnb.core.keys import crew_prefix
from kmnb.core.references import read_time
from kmnb.core.report import Failure, Report
from kmnb.errors import ArtifactNotFound, DigestMismatch, KmnbError, VersionConflict
from kmnb.ops.context import Context
from kmnb.ops.holders import holder_name
from kmnb.ops.leftovers import collect_leftovers, collect_store, find_leftovers
from kmnb.ops.metrics import counted
from kmnb.ops.reap import carry_out, judge_crew

SWEEPS = "sweeps"
"""First segment of the records that tell of the last sweep."""
LEASE_SECONDS = 120
"""How long a background sweep may be silent before another one takes over."""

AHEAD_SECONDS = 600.0
"""How much the clock of another sweep may be ahead; what was written down for later comes from a wrong one."""


@dataclass(frozen=True, slots=True)
class Mark:
    """When a crew was swept last, and who is at it."""

    last: datetime | None = None
    """When the last sweep ended, UTC; None for never."""
    until: datetime | None = None
    """Until when somebody is at it, UTC; None for nobody."""
    holder: str = ""
    """Who is at it."""


async def sweep(context: Context, *, dry_run: bool = False, foreign: bool = False) -> Report:
    """Sweep the workspace's crew once.

    Args:
        context: The workspace.
        dry_run: Whether only to tell what would go.
        foreign: Whether threads that this registry never held may go too.

    Returns:
        A verdict for each object and leftover. A registry that cannot be read deletes nothing.

    Raises:
        StoreError: The store cannot be listed.
    """
    began, now = time.monotonic(), await context.now()
    verdicts, notes = await judge_crew(context, foreign=foreign, now=now)
    # Remarks mean that the registry is not to be trusted: then nothing else is touched either.
    leftovers = [] if notes else await find_leftovers(context, now)
    report = Report("sweep", crew_prefix(context.names.namespace, context.names.crew) + "/", now, notes=tuple(notes))
    failures: list[Failure] = []
    if dry_run:
        verdicts += [leftover.verdict for leftover in leftovers]
    else:
        verdicts, failures = await carry_out(context, verdicts)
        collected, broken = await collect_leftovers(context, leftovers)
        verdicts, failures = verdicts + collected, failures + broken
    if not notes:
        collected, broken = await collect_store(context, dry_run=dry_run)
        verdicts, failures = verdicts + collected, failures + broken
    if not notes and not dry_run:
        failures += await _remember(context, now)
    seconds = time.monotonic() - began
    report = replace(report, verdicts=tuple(verdicts), failures=tuple(failures), dry_run=dry_run, seconds=seconds)
    return report if dry_run else counted(report)


async def _remember(context: Context, now: datetime) -> list[Failure]:
    """Write down when the crew was swept; what was done stays done where that fails."""
    try:
        await _write_mark(context, last=now)
    except (KmnbError, OSError, TimeoutError) as error:
        return [Failure(f"record:{_mark_key(context)}", str(error))]
    return []


async def sweep_if_due(context: Context, *, every: float | None = None) -> Report | None:
    """Sweep in the background when the last sweep is old enough and nobody else is at it.

    Args:
        context: The workspace.
        every: Age of the last sweep in seconds; the setting ``sweep_seconds``.

    Returns:
        The report; None where it was not due or somebody else is at it.
    """
    if not await _take_lease(context, context.settings.sweep_seconds if every is None else every):
        return None
    keeper = asyncio.create_task(_keep_lease(context))
    try:
        return await sweep(context)
    finally:
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)
        await _write_mark(context)


async def read_mark(context: Context) -> tuple[Mark, str | None]:
    """Read when the crew was swept last; a damaged record counts as never, and so does a time in the future."""
    try:
        record = await context.backend.records.get(_mark_key(context))
    except ArtifactNotFound:
        return Mark(), None
    except DigestMismatch:
        key = _mark_key(context)
        found = [record.revision async for record in context.backend.records.list(key) if record.key == key]
        return Mark(), found[0] if found else None
    try:
        value = json.loads(record.value)
    except ValueError:
        value = None
    if not isinstance(value, Mapping):
        return Mark(), record.revision
    latest = await context.now() + timedelta(seconds=AHEAD_SECONDS)
    last, until = _not_after(value.get("last"), latest), _not_after(value.get("until"), latest)
    return Mark(last, until, str(value.get("holder", ""))), record.revision


def _not_after(told: object, latest: datetime) -> datetime | None:
    moment = read_time(told)
    return None if moment is None or moment > latest else moment


def _mark_key(context: Context) -> str:
    return f"{SWEEPS}/{crew_prefix(context.names.namespace, context.names.crew)}"


async def _take_lease(context: Context, every: float) -> bool:
    mark, revision = await read_mark(context)
    now = await context.now()
    due = mark.last is None or now - mark.last > timedelta(seconds=every)
    if not due or (mark.until is not None and now < mark.until):
        return False
    try:
        await _put_mark(context, replace(mark, until=now + timedelta(seconds=LEASE_SECONDS)), revision)
    except VersionConflict:
        return False
    return True


async def _keep_lease(context: Context) -> None:
    while True:
        await asyncio.sleep(LEASE_SECONDS / 4)
        mark, revision = await read_mark(context)
        until = await context.now() + timedelta(seconds=LEASE_SECONDS)
        try:
            await _put_mark(context, replace(mark, until=until), revision)
        except VersionConflict:
            continue


async def _write_mark(context: Context, last: datetime | None = None) -> None:
    for _ in range(20):
        mark, revision = await read_mark(context)
        try:
            await _put_mark(context, Mark(last or mark.last), revision)
        except VersionConflict:
            continue
        return


async def _put_mark(context: Context, mark: Mark, revision: str | None) -> None:
    times = {"last": mark.last, "until": mark.until}
    raw = {name: moment.isoformat() for name, moment in times.items() if moment is not None}
    value = json.dumps({**raw, "holder": holder_name()}).encode()
    await context.backend.records.put(_mark_key(context), value, expected=revision)
