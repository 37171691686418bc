"""Signs of life of a NATS server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nats.aio.client import Client

PING_SECONDS = 3.0
"""How long a server that gave no answer may take to answer a ping; one that does not is frozen or cut off."""
FLUSH_SECONDS = 5.0
"""How long the server may take to confirm that it has what was sent."""
_GIVEN_UP_SECONDS = 3600
"""How long nats-py waits for a pong; long before that it takes the connection for lost."""


class Pings:
    """The pings of one connection.

    The client's own flush is never interrupted: its reader dies of a pong that nobody waits for any more.
    """

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    async def flush(self, client: Client, seconds: float | None = None) -> None:
        """Wait until the server has taken all that was sent.

        Raises:
            TimeoutError: It did not in time.
            ConnectionError: The connection was lost.
        """
        ping = asyncio.ensure_future(client.flush(timeout=_GIVEN_UP_SECONDS))
        self._waiting.add(ping)
        ping.add_done_callback(self._forget)
        await asyncio.wait({ping}, timeout=FLUSH_SECONDS if seconds is None else seconds)
        if not ping.done():
            raise TimeoutError("no pong")
        if ping.cancelled():
            raise ConnectionResetError("the connection was lost")
        ping.result()

    def _forget(self, ping: asyncio.Future[None]) -> None:
        self._waiting.discard(ping)
        if not ping.cancelled():
            ping.exception()

    async def is_answered(self, client: Client) -> bool:
        """Tell whether the server answers a ping."""
        try:
            await self.flush(client, PING_SECONDS)
        except Exception:
            return False
        return True

    def cancel(self) -> None:
        """Give all up: the connection is gone, and no pong can come any more."""
        for ping in self._waiting:
            ping.cancel()
