"""What every use case is handed: the store, the names, the settings and the clock."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from weakref import WeakValueDictionary

from kmnb.core.config import Names, Setting, Settings
from kmnb.storage._protocols import Backend, ExpiringBackend


@dataclass(slots=True)
class Live:
    """What one workspace remembers while it is open; nothing here outlives the process."""

    threads: dict[str, str] = field(default_factory=dict)
    """Threads that this workspace stored or said something in, by record key."""
    followed: dict[str, str] = field(default_factory=dict)
    """Threads that it only reads, by record key; bounded."""
    locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """One lock for each counter that is being moved, so that a process does not race with itself."""
    listeners: list[asyncio.Queue[Any]] = field(default_factory=list)
    """Local listeners of events."""
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    """Background work of this workspace."""
    turns: list[Any] = field(default_factory=list)
    """Open turns, innermost last."""
    identity: str = field(default_factory=lambda: os.urandom(8).hex())
    """Tells this workspace from all others of the process."""
    closers: list[Callable[[], Awaitable[object]]] = field(default_factory=list)
    """What has to be closed with it."""
    hooks: Any = None
    """Use cases that handles offer as methods; set by the workspace."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Context:
    """Everything that a use case needs and does not own."""

    backend: Backend
    """The opened store."""
    names: Names = field(default_factory=Names)
    """Namespace, crew, thread and the rest."""
    settings: Settings = field(default_factory=Settings)
    """Limits and choices."""
    clock: Callable[[], datetime] | None = None
    """Takes the place of the store's clock, in tests."""
    origins: tuple[Setting, ...] = ()
    """Where each setting comes from."""
    live: Live = field(default_factory=Live)
    """What the workspace remembers."""

    async def now(self) -> datetime:
        """The time by the store's clock, UTC."""
        return self.clock() if self.clock is not None else await self.backend.now()

    @property
    def ttl_seconds(self) -> float:
        """Age at which discussion artifacts expire: the store's own, else the setting that the sweep applies."""
        if isinstance(self.backend, ExpiringBackend) and self.backend.ttl_seconds is not None:
            return self.backend.ttl_seconds
        return self.settings.ttl_seconds

    def lock(self, name: str) -> asyncio.Lock:
        """The lock of a counter; use it on kmnb's loop only."""
        # A forked child must not wait for a lock that its parent held.
        owned = f"{os.getpid()} {name}"
        lock = self.live.locks.get(owned)
        if lock is None:
            lock = self.live.locks[owned] = asyncio.Lock()
        return lock
