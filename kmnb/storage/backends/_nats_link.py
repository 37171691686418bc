"""One shared connection to NATS through nats-py: requests with deadlines, errors translated, reconnects waited for."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kmnb.core.progress import retried
from kmnb.errors import StoreError, StoreUnavailable
from kmnb.storage._life import Life
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends._nats_address import Address
from kmnb.storage.backends._nats_pings import Pings

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

ATTEMPT_SECONDS = 5.0
"""How long one attempt of a request may take before it is made again."""
SEARCH_SECONDS = 1.0
"""Pause between two searches for a server that went away and may come back elsewhere."""
PAUSE_SECONDS = 0.05
"""Pause before a request is made again."""
_SUBJECT = re.compile(r'"([^"]+)"')


class Link:
    """A connection that several calls share. It is made again after a fork.

    Args:
        address: Where the server is.
        after_fork: Called in a forked child before it connects.
        find: Tells where a server that went away is now; without it, it is waited for where it was.
    """

    def __init__(
        self,
        address: Address,
        *,
        after_fork: Callable[[], None] | None = None,
        find: Callable[[Address], Awaitable[Address]] | None = None,
    ) -> None:
        self.address, self.life = address, Life(f"nats://{address.shown}")
        self._after_fork, self._find = after_fork, find
        self._search: asyncio.Task[None] | None = None
        self.pings = Pings()
        self._client: Client | None = None
        self._pid = os.getpid()
        self._opening = asyncio.Lock()
        self._waiting: dict[str, set[asyncio.Future[Msg]]] = {}
        self.server_version: tuple[int, int] = (0, 0)
        self.max_payload = 0
        self.requests = 0
        self.received_bytes = 0

    @property
    def patience(self) -> float:
        """Seconds that a call waits for a server that is away: it may be starting again."""
        return min(self.address.connect_seconds, self.address.request_seconds)

    async def client(self) -> Client:
        """Give the connection; open it when there is none, wait for it while it is being made again.

        Raises:
            StoreUnavailable: No server was reached within the connect time-out.
            StoreDenied: The credentials were refused.
            StoreError: The store was closed.
        """
        self.life.check()
        if self._pid != os.getpid():
            self._client, self._pid, self._opening, self._waiting = None, os.getpid(), asyncio.Lock(), {}
            self._search, self.pings = None, Pings()
            if self._after_fork is not None:
                self._after_fork()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.patience
        while True:
            client = await self._opened()
            self.life.check()
            if client.is_connected:
                return client
            if loop.time() >= deadline:
                raise self._away(f"NATS server {self.address.shown}")
            await asyncio.sleep(PAUSE_SECONDS)

    async def _opened(self) -> Client:
        if self._client is None or self._client.is_closed:
            async with self._opening:
                if self._client is None or self._client.is_closed:
                    client = await self._connect()
                    if not self.life.is_open:  # closed meanwhile
                        await _close_quietly(client)
                    self.life.check()
                    self._client = client
        return self._client

    def _away(self, thing: str) -> StoreUnavailable:
        shown = self.address.shown
        reason = f"it is not reachable: the connection was lost, and no other came about in {self.patience:g} s"
        return StoreUnavailable(thing, reason, "Is the server up?", server=shown)

    async def _connect(self) -> Client:
        from nats.aio.client import Client

        client, seen = Client(), list[Exception]()
        address = self.address

        async def on_error(error: Exception) -> None:
            # A server that stays away for days is tried five times a second.
            del seen[:-8]
            seen.append(error)
            self._deny(error)

        async def on_lost() -> None:
            if client is self._client:
                self._lose(client)

        try:
            async with asyncio.timeout(address.connect_seconds):
                await client.connect(
                    list(address.servers),
                    name="kmnb",
                    error_cb=on_error,
                    disconnected_cb=on_lost,
                    connect_timeout=max(1, int(address.connect_seconds)),
                    max_reconnect_attempts=1,
                    reconnect_time_wait=0,
                    **address.login.client_arguments(),
                )
        except BaseException as error:
            await _close_quietly(client)
            if not isinstance(error, Exception):
                raise
            reason = _telling(seen, error)
            raise failures.translate(reason, f"NATS server {address.shown}", address.shown) from error
        version = client.connected_server_version
        self.server_version, self.max_payload = (version.major, version.minor), client.max_payload
        client.options |= {"max_reconnect_attempts": -1, "reconnect_time_wait": 0.2}
        return client

    def _lose(self, client: Client) -> None:
        """Have the requests under way asked again, for no answer can come any more, and look for the server."""
        for future in [future for waiting in self._waiting.values() for future in waiting]:
            if not future.done():
                future.set_exception(ConnectionResetError("the connection was lost"))
        self.pings.cancel()
        if self._find is not None and not client.is_closed and (self._search is None or self._search.done()):
            self._search = asyncio.ensure_future(self._look(client, self._find))

    async def _look(self, client: Client, find: Callable[[Address], Awaitable[Address]]) -> None:
        """Tell the client where the server is now, until it is connected again; it keeps its subscriptions."""
        while client is self._client and not client.is_connected and not client.is_closed:
            with suppress(StoreError, OSError):
                self.address = await find(self.address)
                login = self.address.login
                client.options |= {"user": login.user, "password": login.password}
                client.set_server_pool(list(self.address.servers))
            await asyncio.sleep(SEARCH_SECONDS)

    def _deny(self, error: Exception) -> None:
        """Fail the requests that the server refused: it tells so beside them, never as their answer."""
        text = str(error)
        if "permissions violation" not in text.lower():
            return
        for subject in _SUBJECT.findall(text):
            for future in self._waiting.get(subject.lower(), ()):
                if not future.done():
                    future.set_exception(error)

    async def request(
        self, subject: str, data: bytes = b"", *, thing: str, headers: dict[str, str] | None = None
    ) -> Msg:
        """Ask and wait for the answer; asked again while the server is away, until the deadline.

        Args:
            subject: Where to ask.
            data: The question. It must be harmless when it arrives twice.
            thing: What it is about, for errors.
            headers: Headers of the question.

        Raises:
            StoreUnavailable: No answer within the request time-out; earlier where nothing listens, or all is silent.
            StoreDenied: The credentials lack the right.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.address.request_seconds
        while True:
            left = deadline - loop.time()
            client = await self.client()
            try:
                seconds = min(ATTEMPT_SECONDS, max(left, 0.01))
                answer = await self._ask(client, subject, (data, headers), seconds=seconds)
                self.requests += 1
                self.received_bytes += len(answer.data)
                return answer
            except Exception as error:
                mine = failures.translate(error, thing, self.address.shown)
                may_pass = isinstance(mine, StoreUnavailable) and self._may_pass(error)
                if not may_pass or deadline - loop.time() < PAUSE_SECONDS or not await self._may_come(client, error):
                    raise mine from error
            retried()
            await asyncio.sleep(PAUSE_SECONDS)

    async def _may_come(self, client: Client, error: Exception) -> bool:
        """Ask a server that gave no answer for a sign of life; one that is away is waited for elsewhere."""
        if not isinstance(error, TimeoutError | failures.timeout()):
            return True
        return await self.pings.is_answered(client) or not client.is_connected

    def _may_pass(self, error: Exception) -> bool:
        if not isinstance(error, failures.no_responders()):
            return True
        # On one server "no responders" is final; in a cluster it also means an election under way.
        client = self._client
        return client is not None and len(client.servers) > 1

    async def _ask(
        self, client: Client, subject: str, question: tuple[bytes, dict[str, str] | None], *, seconds: float
    ) -> Msg:
        data, headers = question
        task = asyncio.ensure_future(client.request(subject, data, timeout=seconds, headers=headers))
        refused: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(subject.lower(), set())
        waiting.add(refused)
        try:
            await asyncio.wait({task, refused}, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else refused.result()
        finally:
            waiting.discard(refused)
            if not waiting:
                self._waiting.pop(subject.lower(), None)
            for future in (task, refused):
                if not future.done():
                    future.cancel()
                elif not future.cancelled():
                    future.exception()

    async def api(self, verb: str, question: dict[str, Any] | None = None, *, thing: str) -> dict[str, Any]:
        """Ask JetStream's API.

        Args:
            verb: Subject after ``$JS.API.``, whatever the domain.
            question: The request document.
            thing: What it is about, for errors.

        Returns:
            The answer.

        Raises:
            ApiError: JetStream said no.
            StoreError: As :meth:`request`.
        """
        data = b"" if question is None else json.dumps(question).encode()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.address.request_seconds
        while True:
            message = await self.request(f"{self.address.api}.{verb}", data, thing=thing)
            answer: dict[str, Any] = json.loads(message.data)
            error = failures.ApiError.of(answer)
            if error is None:
                return answer
            if error.code not in failures.NOT_NOW or loop.time() > deadline:
                raise error
            await asyncio.sleep(PAUSE_SECONDS)

    async def close(self) -> None:
        """Let go of the connection, for good."""
        self.life.end()
        client, self._client = self._client, None
        if self._search is not None and self._pid == os.getpid():
            self._search.cancel()
        if client is not None and self._pid == os.getpid():
            await _close_quietly(client)
            self.pings.cancel()


def _telling(seen: list[Exception], error: Exception) -> Exception:
    """Choose the error that says most: nats-py ends with "no servers" and tells the reason on the side."""
    for candidate in reversed(seen):
        if str(candidate):
            return candidate
    return error


async def _close_quietly(client: Client) -> None:
    # A close that meets a dead server must not hide why we are here.
    try:
        async with asyncio.timeout(1):
            await client.close()
    except Exception:
        return
