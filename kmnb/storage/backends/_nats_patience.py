"""How long a transfer goes on after losses: long with a server that is there, not with one that is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kmnb.errors import StoreError
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends._nats_link import ATTEMPT_SECONDS, Link
from kmnb.storage.backends._nats_pings import PING_SECONDS
from kmnb.storage.backends._nats_stream import Stream

SILENT_SECONDS = ATTEMPT_SECONDS + PING_SECONDS
"""Longest time that a small call waits for a server that is connected and says nothing at all."""

STALL_SECONDS = 4.0
"""How long nothing may come over a lane before it is given up for another."""
WATCH_SECONDS = ATTEMPT_SECONDS
"""How often a server that prepares a long answer is pinged."""
_TICK = 0.01


class Patience:
    """Tells when a transfer gives up.

    With a server that takes connections it tries for the request time-out: it may be busy, or choose a leader. One
    that takes none, and one that says that the stream is gone, is waited for as long as it may take to start again, the
    connect time-out.

    Args:
        stream: What is read or written.
        thing: What errors name.
    """

    def __init__(self, stream: Stream, thing: str) -> None:
        self._stream, self._thing, self._link = stream, thing, stream.link
        self._loop = asyncio.get_running_loop()
        self.renew()

    def renew(self) -> None:
        """Take note that something came."""
        self._reached = self._loop.time()
        self._lost: float | None = None
        self._has_asked = False

    async def is_spent(self, error: Exception) -> bool:
        """Take note of a loss, and tell whether it was one too many.

        Raises:
            StoreUnavailable: The stream is gone.
        """
        now = self._loop.time()
        if self._lost is None:
            self._lost = now
        if failures.is_away(error):
            return now - self._reached >= self._link.patience - _TICK
        self._reached = now
        if not self._has_asked and now - self._lost >= self._link.patience - _TICK:
            self._has_asked = True
            await self._ask()
        return now - self._lost >= self._link.address.request_seconds - _TICK

    async def _ask(self) -> None:
        """Find out whether there is still a stream; nothing else that the server may say ends the patience."""
        try:
            await self._stream.api("STREAM.INFO", thing=self._thing)
        except StoreError as error:
            if failures.is_gone(error):
                raise


@asynccontextmanager
async def watched(link: Link, thing: str, *, share: float = 1) -> AsyncIterator[None]:
    """Bound what a server is waited for over a lane: by the request time-out, and by its pings.

    Args:
        link: The connection that is pinged.
        thing: What the call is about, for errors.
        share: Part of the request time-out for this try. What was asked of a leader that died is never answered,
            though all servers that are left answer pings.

    Raises:
        TimeoutError: It took so long.
        StoreUnavailable: The server is silent altogether.
    """
    loop, silent = asyncio.get_running_loop(), False
    limit = asyncio.timeout(link.address.request_seconds * share)

    async def watch() -> None:
        nonlocal silent
        while not silent:
            await asyncio.sleep(WATCH_SECONDS)
            client = await link.client()
            silent = not await link.pings.is_answered(client) and client.is_connected
        limit.reschedule(loop.time())

    try:
        async with limit:
            watcher = asyncio.ensure_future(watch())
            try:
                yield
            finally:
                watcher.cancel()
    except TimeoutError as error:
        if silent:
            raise failures.translate(error, thing, link.address.shown) from error
        raise
