"""One shared connection to NATS through nats-py: requests with deadlines, errors translated, reconnects waited for."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kmnb.errors import StoreUnavailable
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends._nats_address import Address

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

ATTEMPT_SECONDS = 5.0
"""How long one attempt of a request may take before it is made again."""
PAUSE_SECONDS = 0.05
"""Pause before a request is made again."""
_SUBJECT = re.compile(r'"([^"]+)"')


class Link:
    """A connection that several calls share. It is made again after a fork."""

    def __init__(self, address: Address, *, after_fork: Callable[[], None] | None = None) -> None:
        self.address = address
        self._after_fork = after_fork
        self._client: Client | None = None
        self._pid = os.getpid()
        self._opening = asyncio.Lock()
        self._waiting: dict[str, set[asyncio.Future[Msg]]] = {}
        self.server_version: tuple[int, int] = (0, 0)
        self.max_payload = 0
        self.requests = 0
        self.received_bytes = 0

    async def client(self) -> Client:
        """Give the connection; open it when there is none.

        Raises:
            StoreUnavailable: No server was reached within the connect time-out.
            StoreDenied: The credentials were refused.
        """
        if self._pid != os.getpid():
            self._client, self._pid, self._opening, self._waiting = None, os.getpid(), asyncio.Lock(), {}
            if self._after_fork is not None:
                self._after_fork()
        if self._client is not None and not self._client.is_closed:
            return self._client
        async with self._opening:
            if self._client is None or self._client.is_closed:
                self._client = await self._connect()
            return self._client

    async def _connect(self) -> Client:
        from nats.aio.client import Client

        client, seen = Client(), list[Exception]()
        address = self.address

        async def on_error(error: Exception) -> None:
            seen.append(error)
            self._deny(error)

        try:
            async with asyncio.timeout(address.connect_seconds):
                await client.connect(
                    list(address.servers),
                    name="kmnb",
                    error_cb=on_error,
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
            StoreUnavailable: No answer within the request time-out.
            StoreDenied: The credentials lack the right.
        """
        shown = self.address.shown
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
                mine = failures.translate(error, thing, shown)
                if not isinstance(mine, StoreUnavailable) or left < PAUSE_SECONDS or not self._may_pass(error):
                    raise mine from error
            await asyncio.sleep(PAUSE_SECONDS)

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
        """Let go of the connection."""
        client, self._client = self._client, None
        if client is not None and self._pid == os.getpid():
            await _close_quietly(client)


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
