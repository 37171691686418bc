"""Follow a subject of the bus: what is stored first, then what comes, without a gap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from kmnb.storage._protocols import Bus, BusMessage


async def follow(bus: Bus, subject: str) -> AsyncIterator[BusMessage | None]:
    """Walk the stored messages of a subject, then None, then further messages without end.

    Args:
        bus: The bus.
        subject: The subject; wildcards are allowed.

    Yields:
        Messages; one that is sent while the stored ones are read may come twice. From the first item on no further
        message is missed.
    """
    follower = bus.subscribe(subject)
    first: asyncio.Future[BusMessage] = asyncio.ensure_future(anext(follower))
    try:
        # The subscription stands once its first item is awaited: it is sent before anything that is asked below.
        for _ in range(5):
            await asyncio.sleep(0)
        async for stored in bus.history(subject):
            yield stored
        yield None
        while True:
            yield await first
            first = asyncio.ensure_future(anext(follower))
    finally:
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        if (close := getattr(follower, "aclose", None)) is not None:
            await close()
