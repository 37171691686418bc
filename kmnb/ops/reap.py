"""Collect garbage: close a thread at once, sweep what is dead. Deciding is in ``core.retention``."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import chain, islice

from kmnb.core.events import DELETED, EXPIRED
from kmnb.core.keys import ThreadFinder, crew_prefix, thread_prefix, unescape
from kmnb.core.metadata import Capability, ObjectInfo
from kmnb.core.registry import Entry, State, crew_records, record_key
from kmnb.core.report import Failure, Report
from kmnb.core.retention import Reason, Rules, Verdict, judge
from kmnb.errors import ArtifactNotFound, KmnbError
from kmnb.ops.claims import CLAIM_KEYS_MAX, mark_of
from kmnb.ops.context import Context
from kmnb.ops.events import tell_gone
from kmnb.ops.foreign import foreign_threads
from kmnb.ops.holders import is_running, used_here
from kmnb.ops.holds import Hold, active_holds, hold_key
from kmnb.ops.room import ROOM_OBJECTS, claimed_or_full, with_room
from kmnb.ops.threads import mark_closed, read_entry

PARALLEL = 32
"""Deletions, and questions to the registry, under way at once."""
_FAULTS = (KmnbError, OSError, TimeoutError)


async def close_thread(context: Context, thread: str, *, dry_run: bool = False) -> Report:
    """Close a thread: it leaves the registry's active ones, and everything below its prefix goes at once.

    Args:
        context: The workspace.
        thread: The thread; an empty one is refused.
        dry_run: Whether only to tell what would go; the thread stays as it is.

    Returns:
        A verdict for each object. Failed deletions are reported; a later sweep finishes them.

    Raises:
        KeySyntaxError: No thread can be called that.
        StoreError: The registry could not be written or the listing failed; nothing was deleted. A store without room
            for the registry's entry loses some of the thread's objects first.
    """
    began = time.monotonic()
    names = context.names
    prefix = thread_prefix(names.namespace, names.crew, thread)
    early: list[Verdict] = []
    closed_at = None if dry_run else (await _mark_closed(context, thread, prefix, early=early)).closed_at
    now = await context.now()
    found = [Verdict(info.key, Reason.CLOSED, info.size) async for info in context.backend.discussions.list(prefix)]
    holds = await active_holds(context, now, prefix)
    if dry_run:
        verdicts, failures = [spared(verdict, holds) for verdict in found], list[Failure]()
    else:
        verdicts, failures = await delete_claimed(
            context, found, kind=DELETED, again=lambda batch: _unless_reopened(context, thread, batch)
        )
    return Report(
        "close",
        prefix + "/",
        closed_at or now,
        (*early, *verdicts, *held_elsewhere(holds, {verdict.key for verdict in found})),
        tuple(failures),
        dry_run=dry_run,
        seconds=time.monotonic() - began,
    )


async def _mark_closed(context: Context, thread: str, prefix: str, *, early: list[Verdict]) -> Entry:
    """Mark a thread as closed; in a full store some of its objects make room for that, which are told in ``early``."""

    async def free() -> bool:
        found = [Verdict(info.key, Reason.CLOSED, info.size) async for info in context.backend.discussions.list(prefix)]
        holds = await active_holds(context, await context.now(), prefix)
        going = [verdict for verdict in found if spared(verdict, holds).deletes][:ROOM_OBJECTS]
        failed = {failure.key for failure in await delete_all(context, [verdict.key for verdict in going])}
        gone = [verdict for verdict in going if verdict.key not in failed]
        await tell_gone(context, DELETED, gone)
        early.extend(gone)
        return bool(gone)

    return await with_room(lambda: mark_closed(context, thread), free)


async def _unless_reopened(context: Context, thread: str, batch: list[Verdict]) -> list[Verdict]:
    """Spare what belongs to a thread that somebody opened again meanwhile."""
    entry, _, _ = await read_entry(context, record_key(context.names.namespace, context.names.crew, thread))
    if entry is None or entry.closed_at is not None:
        return batch
    return [Verdict(verdict.key, Reason.ACTIVE, verdict.size) for verdict in batch]


async def judge_crew(context: Context, *, foreign: bool, now: datetime) -> tuple[list[Verdict], list[str]]:
    """Judge every object of the workspace's crew; nothing is changed.

    Returns:
        A verdict for each object, and remarks.

    Raises:
        StoreError: The listing failed.
    """
    names, settings = context.names, context.settings
    # Objects first, registry second: whatever the listing shows had registered its thread before.
    objects = [info async for info in context.backend.discussions.list(crew_prefix(names.namespace, names.crew))]
    rules = Rules(
        now,
        settings.ttl_seconds,
        settings.grace_seconds,
        foreign=foreign,
        applies_ttl=Capability.TTL not in context.backend.capabilities,
    )
    try:
        registry = await read_registry(context, now)
        holds = await active_holds(context, now)
        live = await foreign_threads(context)
    except _FAULTS as error:
        return [Verdict(info.key, Reason.UNREADABLE, info.size) for info in objects], [
            f"the registry cannot be read, nothing is deleted: {error}"
        ]
    finder = ThreadFinder(names.namespace, names.crew)
    verdicts = []
    for info in objects:
        thread = finder.thread_of(info.key)
        hold = holds.get(hold_key(info.key)) if holds else None
        if thread is None:
            verdicts.append(Verdict(info.key, Reason.OTHER_CREW, info.size))
        elif hold is not None:
            verdicts.append(_held(info, hold))
        else:
            state = registry.get(thread, State.UNKNOWN)
            reason = judge(
                state=state,
                created_at=info.created_at,
                held=False,
                # What we said ourselves keeps a thread of ours no longer than its lease.
                foreign_active=live.get(thread, False) if state is State.LAPSED else thread in live,
                rules=rules,
            )
            verdicts.append(Verdict(info.key, reason, info.size))
    return verdicts + held_elsewhere(holds, {info.key for info in objects}), []


async def read_registry(context: Context, now: datetime) -> dict[str, State]:
    """Read the state of every thread of the workspace's crew in one listing."""
    names = context.names
    found: dict[str, State] = {}
    async for record in context.backend.records.list(crew_records(names.namespace, names.crew)):
        entry = Entry.from_bytes(record.value)
        found[unescape(record.key.rpartition("/")[2])] = _state(context, record.key, entry=entry, now=now)
    return found


def _state(context: Context, key: str, *, entry: Entry | None, now: datetime) -> State:
    """Tell what a thread is; one whose lease ran out lives on while its holder is known to run."""
    if entry is None:
        return State.UNREADABLE
    state = entry.state(now)
    # On another clock than the world's nothing can be concluded from who runs.
    if state is State.LAPSED and context.clock is None and (used_here(context, key) or is_running(entry.holder)):
        return State.ACTIVE
    return state


def _held(info: ObjectInfo | Verdict, hold: Hold | None) -> Verdict:
    detail = f"until {hold.until.isoformat(timespec='seconds')}: {hold.reason}" if hold else "its record is damaged"
    return Verdict(info.key, Reason.HELD, info.size, detail)


def held_elsewhere(holds: Mapping[str, Hold | None], listed: Collection[str]) -> list[Verdict]:
    """Show the holds whose originals are gone: every hold stands in every report."""
    found = []
    for hold in holds.values():
        if hold is not None and hold.key not in listed:
            where = "its copy is kept" if hold.copy else "it was deleted"
            told = _held(Verdict(hold.key, Reason.HELD), hold)
            found.append(replace(told, detail=f"{told.detail} (the original is gone, {where})"))
    return found


def spared(verdict: Verdict, holds: Mapping[str, Hold | None]) -> Verdict:
    """Give the verdict on an object that was to go, now that the holds are known."""
    name = hold_key(verdict.key) if holds and verdict.deletes else ""
    return _held(verdict, holds[name]) if name in holds else verdict


async def carry_out(context: Context, verdicts: Iterable[Verdict]) -> tuple[list[Verdict], list[Failure]]:
    """Delete what verdicts say, asking registry and holds again before each batch.

    Returns:
        The verdicts as they were carried out, and the deletions that failed.
    """
    finder = ThreadFinder(context.names.namespace, context.names.crew)
    threads: dict[str | None, list[Verdict]] = {}
    for verdict in verdicts:
        thread = finder.thread_of(verdict.key)
        threads.setdefault(thread if verdict.deletes else None, []).append(verdict)
    done = threads.pop(None, [])
    going, failures = await delete_claimed(
        context, chain.from_iterable(threads.values()), kind=EXPIRED, again=lambda batch: _again(context, finder, batch)
    )
    return done + going, failures


async def _again(context: Context, finder: ThreadFinder, batch: list[Verdict]) -> list[Verdict]:
    """Judge a batch anew by what the registry says of its threads now."""
    names, revived, now = context.names, {}, await context.now()
    waiting = iter(dict.fromkeys(finder.thread_of(verdict.key) for verdict in batch))
    while group := list(islice(waiting, PARALLEL)):
        keys = [record_key(names.namespace, names.crew, thread or "") for thread in group]
        entries = await asyncio.gather(*(read_entry(context, key) for key in keys))
        for thread, key, (entry, revision, _) in zip(group, keys, entries, strict=True):
            state = State.UNKNOWN if revision is None else _state(context, key, entry=entry, now=now)
            revived[thread] = state in (State.ACTIVE, State.UNREADABLE)
    return [
        Verdict(verdict.key, Reason.ACTIVE, verdict.size)
        if revived[finder.thread_of(verdict.key)] and verdict.reason is not Reason.EXPIRED
        else verdict
        for verdict in batch
    ]


async def delete_claimed(
    context: Context,
    verdicts: Iterable[Verdict],
    *,
    kind: str,
    again: Callable[[list[Verdict]], Awaitable[list[Verdict]]] | None = None,
) -> tuple[list[Verdict], list[Failure]]:
    """Delete what verdicts say, batch by batch, each under a claim, and tell of it.

    Args:
        context: The workspace.
        verdicts: All of them say that something goes.
        kind: Type of the events.
        again: Judges a batch anew, once it is claimed.

    Returns:
        The verdicts as they were carried out, and the deletions that failed.
    """
    done: list[Verdict] = []
    failures: list[Failure] = []
    waiting: Iterator[Verdict] = iter(verdicts)
    while batch := list(islice(waiting, CLAIM_KEYS_MAX)):
        try:
            async with claimed_or_full(context, [mark_of(verdict.key) for verdict in batch]) as deadline:
                if deadline is None:
                    batch, waiting = batch[:ROOM_OBJECTS], chain(batch[ROOM_OBJECTS:], waiting)
                holds = await active_holds(context, await context.now())
                batch = [spared(verdict, holds) for verdict in (await again(batch) if again else batch)]
                going = [one.key for one in batch if one.deletes]
                broken = await delete_all(context, going, deadline=deadline or math.inf)
        except _FAULTS as error:
            broken = [Failure(verdict.key, str(error)) for verdict in batch if verdict.deletes]
        done += batch
        failures += broken
        failed = {failure.key for failure in broken}
        await tell_gone(context, kind, [one for one in batch if one.deletes and one.key not in failed])
    return done, failures


async def delete_all(context: Context, keys: Iterable[str], *, deadline: float = math.inf) -> list[Failure]:
    """Delete objects, a bounded number at once; a failure is reported and the rest goes on.

    Args:
        context: The workspace.
        keys: The objects.
        deadline: Time of ``time.monotonic()`` after which no deletion is begun.
    """
    waiting = iter(list(keys))
    failures: list[Failure] = []

    async def work() -> None:
        for key in waiting:
            if time.monotonic() > deadline:
                failures.append(Failure(key, "the store is too slow; a later sweep goes on"))
                continue
            try:
                await context.backend.discussions.delete(key)
            except ArtifactNotFound:
                continue
            except _FAULTS as error:
                failures.append(Failure(key, str(error)))

    await asyncio.gather(*(work() for _ in range(PARALLEL)))
    return sorted(failures, key=lambda failure: failure.key)
