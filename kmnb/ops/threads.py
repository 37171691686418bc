"""The thread registry: which discussions are alive. It is what the sweep asks.

Entries live in the store as small conditional records keyed namespace, crew and thread, so all processes share them
and they survive restarts. A spill, a put and a publish register their thread and renew its lease.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from kmnb.core.keys import thread_of, unescape
from kmnb.core.registry import Entry, State, crew_records, new_entry, record_key
from kmnb.errors import ArtifactNotFound, BadRequest, DigestMismatch, StoreError, StoreUnavailable, VersionConflict
from kmnb.ops.context import Context
from kmnb.ops.holders import holder_name

FOLLOWED_MAX = 1000
"""Most threads that one workspace keeps alive by reading."""
_ATTEMPTS = 100


class ThreadClosed(BadRequest):
    """The discussion thread was closed; nothing is stored under it any more."""

    code = "thread-closed"


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as the registry knows it."""

    namespace: str
    """Its namespace."""
    crew: str
    """Its crew."""
    thread: str
    """Its identifier."""
    state: State
    """What it is now."""
    opened_at: datetime | None
    """When it was registered, UTC; None where the entry is damaged."""
    lease_until: datetime | None
    """Until when it counts as active, UTC."""
    closed_at: datetime | None
    """When it was closed, UTC."""


async def read_entry(context: Context, key: str) -> tuple[Entry | None, str | None, State | None]:
    """Read an entry with its revision; the state is ``UNREADABLE`` or None."""
    try:
        record = await context.backend.records.get(key)
    except ArtifactNotFound:
        return None, None, None
    except DigestMismatch:
        # A listing tells the revision of a record that cannot be read, so that it can be replaced.
        found = [record.revision async for record in context.backend.records.list(key) if record.key == key]
        return None, found[0] if found else None, State.UNREADABLE
    entry = Entry.from_bytes(record.value)
    return entry, record.revision, State.UNREADABLE if entry is None else None


async def touch_thread(context: Context, thread: str, *, reopen: bool = False, own: bool = True) -> datetime:
    """Register a thread, or renew its lease; returns the time by the store's clock.

    Args:
        context: The workspace.
        thread: The thread.
        reopen: Whether a closed thread is opened again.
        own: Whether the workspace works in the thread, rather than reads it.

    Raises:
        ThreadClosed: It was closed, and is not to be reopened.
    """
    names, settings = context.names, context.settings
    key = record_key(names.namespace, names.crew, thread)
    for attempt in range(_ATTEMPTS):
        entry, revision, damaged = await read_entry(context, key)
        now = await context.now()
        if entry is not None and entry.closed_at is not None and not reopen:
            raise closed_error(thread, entry.closed_at)
        if entry is None or entry.closed_at is not None:
            wanted = new_entry(now, lease_seconds=settings.lease_seconds, holder=holder_name())
        elif (entry.lease_until - now).total_seconds() > settings.lease_seconds / 2:
            break
        else:
            wanted = entry.renewed(now, lease_seconds=settings.lease_seconds, holder=holder_name())
        if damaged is not None and not reopen:
            raise StoreError(f"thread {thread!a:.200}", "its registry entry is damaged", "Open or close the thread.")
        try:
            await context.backend.records.put(key, wanted.to_bytes(), expected=revision)
            break
        except VersionConflict:
            await asyncio.sleep(0.001 * attempt)
    else:
        raise StoreUnavailable(f"thread {thread!a:.200}", "its registry entry changes all the time", "Try again.")
    if own:
        context.live.threads[key] = thread
    return now


def closed_error(thread: str, closed_at: datetime) -> ThreadClosed:
    """Make the error of a late spill."""
    return ThreadClosed(
        f"thread {thread!a:.200}",
        f"was closed at {closed_at.isoformat(timespec='seconds')}",
        "Use another thread, or open it again with open_thread().",
        closed_at=closed_at,
    )


async def check_open(context: Context, thread: str) -> None:
    """Tell whether a thread is still open, after something was stored under it.

    Raises:
        ThreadClosed: It was closed meanwhile.
    """
    entry, _, _ = await read_entry(context, record_key(context.names.namespace, context.names.crew, thread))
    if entry is not None and entry.closed_at is not None:
        raise closed_error(thread, entry.closed_at)


async def mark_closed(context: Context, thread: str) -> Entry:
    """Write into the registry that a thread is closed; closing it twice keeps the first time.

    Returns:
        The entry as it stands now.
    """
    key = record_key(context.names.namespace, context.names.crew, thread)
    context.live.threads.pop(key, None)
    for attempt in range(_ATTEMPTS):
        entry, revision, _ = await read_entry(context, key)
        if entry is not None and entry.closed_at is not None:
            return entry
        now = await context.now()
        opened = entry.opened_at if entry is not None else now
        closed = Entry(opened, now, now, holder_name())
        try:
            await context.backend.records.put(key, closed.to_bytes(), expected=revision)
        except VersionConflict:
            await asyncio.sleep(0.001 * attempt)
        else:
            return closed
    raise StoreUnavailable(f"thread {thread!a:.200}", "its registry entry changes all the time", "Try again.")


async def list_threads(context: Context, *, now: datetime | None = None) -> AsyncIterator[Thread]:
    """Walk the threads of the workspace's crew that the registry knows."""
    names = context.names
    moment = now or await context.now()
    async for record in context.backend.records.list(crew_records(names.namespace, names.crew)):
        thread = unescape(record.key.rpartition("/")[2])
        entry = Entry.from_bytes(record.value)
        if entry is None:
            yield Thread(names.namespace, names.crew, thread, State.UNREADABLE, None, None, None)
        else:
            yield Thread(
                names.namespace,
                names.crew,
                thread,
                entry.state(moment),
                entry.opened_at,
                entry.lease_until,
                entry.closed_at,
            )


def follow_thread(context: Context, key: str) -> None:
    """Remember that this workspace reads an artifact, so that its thread gets signs of life while it is open."""
    names = context.names
    thread = thread_of(key, namespace=names.namespace, crew=names.crew)
    if thread is not None and len(context.live.followed) < FOLLOWED_MAX:
        context.live.followed.setdefault(record_key(names.namespace, names.crew, thread), thread)


async def renew_leases(context: Context) -> None:
    """Give a sign of life for every open thread of this workspace.

    A thread that it works in is registered again where the registry lost it. One that it only reads and that the
    registry does not know stays unknown: it is others' business.
    """
    live = context.live
    for key in list(live.followed):
        entry, _, _ = await read_entry(context, key)
        if entry is None or entry.closed_at is not None:
            del live.followed[key]
    for key, thread in [*live.threads.items(), *live.followed.items()]:
        try:
            await touch_thread(context, thread, own=key in live.threads)
        except ThreadClosed:
            live.threads.pop(key, None)
            live.followed.pop(key, None)
