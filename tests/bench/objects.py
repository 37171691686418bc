"""Many objects in little time, for listings."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

from kmnb.storage.backends.nats import NatsBackend


async def fill_bucket(backend: NatsBackend, first: int, end: int) -> None:
    """Make objects without content, a hundred a thread, by their meta messages alone."""
    bucket, client = backend.discussions.bucket.name, await backend._link.client()
    done, acks = asyncio.Event(), 0

    async def on_ack(_: Any) -> None:
        nonlocal acks
        acks += 1
        if acks == end - first:
            done.set()

    inbox = client.new_inbox()
    subscription = await client.subscribe(inbox, cb=on_ack)
    for number in range(first, end):
        name = f"ns/crew/t{number // 100}/agent/tool-{number % 100}"
        document = {
            "name": name,
            "bucket": bucket,
            "nuid": f"n{number}",
            "size": 0,
            "chunks": 0,
            "metadata": {"preview": "x" * 400},
        }
        subject = f"$O.{bucket}.M.{base64.urlsafe_b64encode(name.encode()).decode()}"
        await client.publish(subject, json.dumps(document).encode(), reply=inbox)
        while number - first - acks > 2000:
            await asyncio.sleep(0.005)
    await done.wait()
    await subscription.unsubscribe()
