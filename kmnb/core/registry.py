"""Entries of the thread registry, and what follows from one. Pure; the store keeps them, ``ops`` moves them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from kmnb.core.keys import escape
from kmnb.core.references import read_time

THREADS = "threads"
"""First segment of the registry's record keys."""


class State(StrEnum):
    """What a registry says of a thread."""

    ACTIVE = "active"
    """Open, with a lease that runs."""
    LAPSED = "lapsed"
    """Open, but nobody gave a sign of life for the length of a lease."""
    CLOSED = "closed"
    """Closed on purpose."""
    UNKNOWN = "unknown"
    """Never seen, or forgotten."""
    UNREADABLE = "unreadable"
    """There is an entry that cannot be read: nothing may be concluded from it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the registry remembers of one thread."""

    opened_at: datetime
    """When it was registered, or reopened."""
    lease_until: datetime
    """Until when it counts as active without another sign of life, exclusive."""
    closed_at: datetime | None = None
    """When it was closed; None while it is open."""
    holder: str = ""
    """Who gave the last sign of life."""

    def to_bytes(self) -> bytes:
        """Write the entry as a record."""
        times = {"opened": self.opened_at, "until": self.lease_until, "closed": self.closed_at}
        raw = {name: moment.isoformat() for name, moment in times.items() if moment is not None}
        return json.dumps({**raw, "holder": self.holder}).encode()

    @classmethod
    def from_bytes(cls, raw: bytes) -> Entry | None:
        """Read a record; None where it is damaged."""
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, Mapping):
            return None
        opened, until = read_time(value.get("opened")), read_time(value.get("until"))
        closed = read_time(value.get("closed"))
        if opened is None or until is None or (closed is None and value.get("closed") is not None):
            return None
        return cls(opened, until, closed, str(value.get("holder", "")))

    def state(self, now: datetime) -> State:
        """Tell what the thread is at a time."""
        if self.closed_at is not None:
            return State.CLOSED
        return State.ACTIVE if now < self.lease_until else State.LAPSED

    def renewed(self, now: datetime, *, lease_seconds: float, holder: str) -> Entry:
        """Give the entry after a sign of life; a lease is never made shorter."""
        until = max(self.lease_until, now + timedelta(seconds=lease_seconds))
        return replace(self, lease_until=until, holder=holder)

    def ended_at(self) -> datetime:
        """When the thread stopped being active, or will."""
        return self.closed_at or self.lease_until


def new_entry(now: datetime, *, lease_seconds: float, holder: str) -> Entry:
    """Make the entry of a thread that is opened now."""
    return Entry(now, now + timedelta(seconds=lease_seconds), None, holder)


def record_key(namespace: str, crew: str, thread: str) -> str:
    """Key of a thread's record."""
    return f"{THREADS}/{escape(namespace)}/{escape(crew)}/{escape(thread, what='thread')}"


def crew_records(namespace: str, crew: str) -> str:
    """Prefix of the records of a crew."""
    return f"{THREADS}/{escape(namespace)}/{escape(crew)}"


def may_forget(entry: Entry, now: datetime, *, ttl_seconds: float, grace_seconds: float) -> bool:
    """Whether an entry may leave the registry: every object of the thread is past its TTL by then."""
    return now > entry.ended_at() + timedelta(seconds=ttl_seconds + grace_seconds)
