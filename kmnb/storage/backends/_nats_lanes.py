"""The lanes of one store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Any

from kmnb.errors import StoreUnavailable
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends._nats_lane import Lane
from kmnb.storage.backends._nats_link import Link

IDLE_LANES = 4
"""Lanes that stay connected when nobody uses them."""


class Lanes:
    """The lanes of one store: opened when needed, a few kept."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._idle: list[Lane] = []
        self._loop: Any = None
        self._later: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def lane(self, thing: str) -> AsyncIterator[Lane]:
        """Borrow a lane; after an error it is not used again.

        Args:
            thing: What it is for, for errors.

        Raises:
            StoreUnavailable: No server takes the connection.
            StoreError: The store was closed.
        """
        self._link.life.check()
        lane = self._pick() or await self._open(thing)
        bytes_before, messages_before = lane.received_bytes, lane.sent_messages
        try:
            yield lane
        except BaseException as error:
            lane.abort()
            if isinstance(error, Exception):
                # What befell this one may have befallen all: the next transfer shall not find out by waiting again.
                self._abort_idle()
            raise
        finally:
            lane.release()
            self._link.received_bytes += lane.received_bytes - bytes_before
            self._link.requests += lane.sent_messages - messages_before
        if lane.is_reusable and len(self._idle) < IDLE_LANES and self._link.life.is_open:
            self._idle.append(lane)
        else:
            lane.abort()

    def _pick(self) -> Lane | None:
        if self._loop is not asyncio.get_running_loop():
            # After a fork the sockets are the parent's.
            self._idle, self._loop = [], asyncio.get_running_loop()
        while self._idle:
            lane = self._idle.pop()
            if lane.error is None:
                return lane
        return None

    async def warm(self) -> None:
        """Open the first lane: it tells clearly and at once what is wrong, before nats-py tries anything.

        Raises:
            StoreUnavailable: No server is reached.
            StoreDenied: It refuses us, or offers no TLS where that is required.
        """
        self._pick()
        address = self._link.address
        self._idle.append(await self._try(address.servers, thing=f"NATS server {address.shown}"))

    async def _open(self, thing: str) -> Lane:
        client = await self._link.client()
        near = client.connected_url
        urls = [near, *client.servers] if near is not None else client.servers
        servers = (f"{url.scheme}://{url.netloc.rpartition('@')[2]}" for url in urls)
        return await self._try(servers, thing=thing)

    async def _try(self, servers: Iterable[str], *, thing: str) -> Lane:
        from nats.nuid import NUID

        address = self._link.address
        reason: BaseException = StoreUnavailable(thing, "there is no server")
        candidates = list(dict.fromkeys(servers))
        for server in candidates:
            try:
                async with asyncio.timeout(address.connect_seconds / len(candidates)):
                    return await Lane.open(server, address.login, f"_INBOX.{NUID().next().decode()}")
            except Exception as error:
                reason = error
        raise failures.translate(reason, thing, address.shown) from reason

    def later(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Have something done that nobody waits for; it is given up when the store is closed."""
        task = asyncio.ensure_future(work())
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    def close(self) -> None:
        """Close the idle lanes."""
        for task in self._later:
            task.cancel()
        self._abort_idle()

    def _abort_idle(self) -> None:
        for lane in self._idle:
            lane.abort()
        self._idle.clear()
