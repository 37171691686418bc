"""Sessions: kernels that keep their variables from cell to cell, each for one workspace and under one name."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from kmnb.errors import BoundExceeded, SandboxUnavailable
from kmnb.sandbox.kernels._kernel import Kernel

SESSION_IDLE_SECONDS = 1800.0
"""Time after which a session that ran no cell is closed."""
SESSIONS_MAX = 8
"""Most sessions at the same time."""
REMEMBERED_MAX = 256
"""Most ended sessions whose end is remembered for whoever comes back to them."""

Key = tuple[str, str]
"""Whose a session is, and its name: workspaces never share one."""


@dataclass(slots=True)
class Session:
    """One session."""

    kernel: Kernel | None = None
    """Its kernel; None before the first cell."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One cell at a time."""
    users: int = 0
    """Cells that run in it or wait for it."""
    used: float = field(default_factory=time.monotonic)
    """When it was last used, by the monotonic clock."""


@dataclass(slots=True)
class Sessions:
    """All sessions of one pool; on kmnb's own loop."""

    take: Callable[[], Awaitable[Kernel]]
    """Gives a kernel that has run nothing."""
    known: dict[Key, Session] = field(default_factory=dict)
    """The sessions that are there."""
    ended: dict[Key, str] = field(default_factory=dict)
    """Why sessions ended that nobody closed."""
    _watching: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def hold(self, key: Key) -> AsyncIterator[tuple[Kernel, tuple[str, ...]]]:
        """Have a session's kernel for one cell; a new one when there is none or it has ended.

        Args:
            key: The session.

        Yields:
            The kernel, and remarks: that it begins anew, and why.

        Raises:
            BoundExceeded: All sessions that there may be are at work.
        """
        session = await self._locked(key)
        try:
            kernel = await self._kernel(key, session)
            why = self.ended.pop(key, None)
            yield kernel, () if why is None else (f"session {key[1]!r} begins anew, without its variables: {why}",)
        finally:
            try:
                await self._tidy(key, session, "its last cell ended its kernel, or had to be ended with it")
            finally:
                session.lock.release()
                self._leave(key, session)

    async def _locked(self, key: Key) -> Session:
        """Wait for a session's turn; whoever waits while it is closed waits for the next one of that name."""
        while True:
            if key not in self.known:
                await self._make_room()
            session = self.known.setdefault(key, Session())
            session.users += 1
            try:
                await session.lock.acquire()
            except BaseException:
                self._leave(key, session)
                raise
            if self.known.get(key) is session:
                return session
            session.lock.release()
            self._leave(key, session)

    async def _kernel(self, key: Key, session: Session) -> Kernel:
        await self._tidy(key, session, "its kernel had ended")
        if session.kernel is None:
            kernel = await self.take()
            if self.known.get(key) is not session:
                await kernel.end("interrupt")
                raise SandboxUnavailable(f"session {key[1]!r}", "was closed while it began", "Run the cell again.")
            session.kernel = kernel
        return session.kernel

    async def _tidy(self, key: Key, session: Session, why: str) -> None:
        """Let go of a kernel that has ended."""
        if session.kernel is not None and not session.kernel.alive:
            kernel, session.kernel = session.kernel, None
            self._remember(key, why)
            await kernel.end("interrupt")

    def _leave(self, key: Key, session: Session) -> None:
        session.users -= 1
        session.used = time.monotonic()
        if not session.users and session.kernel is None and self.known.get(key) is session:
            del self.known[key]
        if self.known and (self._watching is None or self._watching.done()):
            self._watching = asyncio.get_running_loop().create_task(self._close_idle())

    def _remember(self, key: Key, why: str) -> None:
        self.ended[key] = why
        while len(self.ended) > REMEMBERED_MAX:
            del self.ended[next(iter(self.ended))]

    async def _make_room(self) -> None:
        """Close the session that was not used for longest, where there are as many as there may be."""
        while len(self.known) >= SESSIONS_MAX:
            idle = [key for key, one in self.known.items() if not one.users]
            if not idle:
                step = "Wait for one of them, close one, or leave the session out."
                why = f"{SESSIONS_MAX} of them are at work"
                raise BoundExceeded("sessions", why, step, limit="SESSIONS_MAX", value=SESSIONS_MAX, unit="sessions")
            oldest = min(idle, key=lambda one: self.known[one].used)
            await self.close(oldest)
            self._remember(oldest, f"it made room for another one; there may be {SESSIONS_MAX}")

    async def close(self, key: Key) -> bool:
        """End a session; tells whether there was one. A cell that runs in it ends with it."""
        session = self.known.pop(key, None)
        self.ended.pop(key, None)
        if session is None or session.kernel is None:
            return session is not None
        kernel, session.kernel = session.kernel, None
        await kernel.end("interrupt")
        return True

    async def close_all(self, owner: str | None = None) -> None:
        """End the sessions of one workspace; of all without one."""
        mine = [key for key in self.known if owner in (None, key[0])]
        await asyncio.gather(*map(self.close, mine), return_exceptions=True)
        for key in [one for one in self.ended if owner in (None, one[0])]:
            del self.ended[key]

    async def _close_idle(self) -> None:
        while self.known:
            # Until the one that was not used for longest may be idle long enough; most often it was used meanwhile.
            oldest = min(one.used for one in self.known.values())
            await asyncio.sleep(max(1.0, oldest + SESSION_IDLE_SECONDS - time.monotonic()))
            old = time.monotonic() - SESSION_IDLE_SECONDS
            for key in [key for key, one in self.known.items() if one.used <= old and not one.users]:
                await self.close(key)
                self._remember(key, f"it was idle for {SESSION_IDLE_SECONDS / 60:.0f} minutes")

    async def stop(self) -> None:
        """End everything."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await self.close_all()
