"""Collect garbage: close a thread at once, sweep what is dead. Deciding is in ``core.retention``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from datetime import datetime

from kmnb.core.keys import ThreadFinder, crew_prefix, thread_prefix, unescape
from kmnb.core.metadata import Capability, ObjectInfo
from kmnb.core.registry import Entry, State, crew_records, record_key
from kmnb.core.report import Failure, Report
from kmnb.core.retention import Reason, Rules, Verdict, judge
from kmnb.errors import ArtifactNotFound, KmnbError
from kmnb.ops.context import Context
from kmnb.ops.foreign import foreign_threads
from kmnb.ops.holders import is_running, used_here
from kmnb.ops.holds import Hold, active_holds, hold_key
from kmnb.ops.threads import mark_closed, read_entry

PARALLEL = 32
"""Deletions under way at once."""
_FAULTS = (KmnbError, OSError, TimeoutError)


async def close_thread(context: Context, thread: str) -> Report:
    """Close a thread: it leaves the registry's active ones, and everything below its prefix goes at once.

    Args:
        context: The workspace.
        thread: The thread; an empty one is refused.

    Returns:
        A verdict for each object. Failed deletions are reported; a later sweep finishes them.

    Raises:
        KeySyntaxError: No thread can be called that.
        StoreError: The registry could not be written or the listing failed; nothing was deleted.
    """
    began = time.monotonic()
    names = context.names
    prefix = thread_prefix(names.namespace, names.crew, thread)
    entry = await mark_closed(context, thread)
    holds = await active_holds(context, await context.now(), prefix)
    verdicts = []
    async for info in context.backend.discussions.list(prefix):
        hold = holds.get(hold_key(info.key)) if holds else None
        verdicts.append(_held(info, hold) if hold else Verdict(info.key, Reason.CLOSED, info.size))
    failures = await delete_all(context, [verdict.key for verdict in verdicts if verdict.deletes])
    return Report(
        "close",
        prefix + "/",
        entry.closed_at or await context.now(),
        tuple(verdicts),
        tuple(failures),
        seconds=time.monotonic() - began,
    )


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
            reason = judge(
                state=registry.get(thread, State.UNKNOWN),
                created_at=info.created_at,
                held=False,
                foreign_active=thread in live,
                rules=rules,
            )
            verdicts.append(Verdict(info.key, reason, info.size))
    return verdicts, []


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


def _held(info: ObjectInfo, hold: Hold | None) -> Verdict:
    detail = f"until {hold.until.isoformat(timespec='seconds')}: {hold.reason}" if hold else "its record is damaged"
    return Verdict(info.key, Reason.HELD, info.size, detail)


async def carry_out(context: Context, verdicts: Iterable[Verdict]) -> tuple[list[Verdict], list[Failure]]:
    """Delete what verdicts say, thread by thread, asking the registry again before each thread.

    Returns:
        The verdicts as they were carried out, and the deletions that failed.
    """
    done: list[Verdict] = []
    failures: list[Failure] = []
    async for group in _groups(context, verdicts):
        done += group
        failures += await delete_all(context, [verdict.key for verdict in group if verdict.deletes])
    return done, failures


async def _groups(context: Context, verdicts: Iterable[Verdict]) -> AsyncIterator[list[Verdict]]:
    names = context.names
    threads: dict[str | None, list[Verdict]] = {}
    finder = ThreadFinder(names.namespace, names.crew)
    for verdict in verdicts:
        thread = finder.thread_of(verdict.key)
        threads.setdefault(thread if verdict.deletes else None, []).append(verdict)
    yield threads.pop(None, [])
    for thread, group in threads.items():
        now = await context.now()
        key = record_key(names.namespace, names.crew, thread or "")
        entry, revision, _ = await read_entry(context, key)
        state = State.UNKNOWN if revision is None else _state(context, key, entry=entry, now=now)
        revived = state in (State.ACTIVE, State.UNREADABLE)
        yield [
            Verdict(verdict.key, Reason.ACTIVE, verdict.size)
            if revived and verdict.reason is not Reason.EXPIRED
            else verdict
            for verdict in group
        ]


async def delete_all(context: Context, keys: Iterable[str]) -> list[Failure]:
    """Delete objects, a bounded number at once; a failure is reported and the rest goes on."""
    waiting = iter(list(keys))
    failures: list[Failure] = []

    async def work() -> None:
        for key in waiting:
            try:
                await context.backend.discussions.delete(key)
            except ArtifactNotFound:
                continue
            except _FAULTS as error:
                failures.append(Failure(key, str(error)))

    await asyncio.gather(*(work() for _ in range(PARALLEL)))
    return sorted(failures, key=lambda failure: failure.key)
