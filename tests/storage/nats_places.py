"""NATS servers and stores for the tests here; import the fixtures that a file needs."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import nats
from nats.js import JetStreamContext

from kmnb.storage.backends._nats_area import NatsArea

MIB = 1024 * 1024
CHUNK = 128 * 1024
SECONDS = 20.0
_numbers = itertools.count()


def fresh(url: str, **options: object) -> str:
    """The URL of an empty store on a server."""
    number = next(_numbers)
    words = {"named_bucket": f"named{number}", "records_bucket": f"records{number}", **options}
    return f"{url}/discussions{number}?" + "&".join(f"{name}={value}" for name, value in words.items())


def eventually(condition: Callable[[], bool], seconds: float = SECONDS) -> bool:
    """Whether something that nobody tells of happens in time; looked at now and then, to leave it the processor."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


async def read(area: NatsArea, key: str, **options: Any) -> bytes:
    return b"".join([window async for window in area.stream(key, **options)])


async def keys(area: NatsArea, prefix: str = "") -> list[str]:
    return [info.key async for info in area.list(prefix)]


@contextlib.asynccontextmanager
async def jetstream(url: str, **options: Any) -> AsyncIterator[JetStreamContext]:
    """A connection of nats-py, as any other client has it."""
    client = await nats.connect(url, **options)
    try:
        yield client.jetstream()
    finally:
        await client.close()


async def api(area: NatsArea, verb: str, question: dict[str, Any] | None = None) -> dict[str, Any]:
    """Ask about the area's stream behind the store's back."""
    return await area.bucket.api(verb, question, thing="test")


async def chunk_places(area: NatsArea, key: str) -> tuple[str, list[int]]:
    """Subject and sequences of an object's chunks; as the leader has them, since a follower may lag."""
    meta = await area._last(key)
    found, sequence, bucket = [], 1, area.bucket
    while True:
        if bucket.replicas == 1:
            stored = await bucket.next(meta.chunk_subject, sequence, thing="test")
        else:
            stored = await bucket._from_leader({"seq": sequence, "next_by_subj": meta.chunk_subject}, "test")
        if stored is None:
            return meta.chunk_subject, found
        found.append(stored.sequence)
        sequence = stored.sequence + 1


async def messages(area: NatsArea) -> int:
    """Number of messages in the area's stream."""
    return (await api(area, "STREAM.INFO"))["state"]["messages"]


async def publish(area: NatsArea, subject: str, data: bytes, headers: dict[str, str] | None = None) -> int:
    """Put a message into the area's stream as a foreign client would."""
    client = await area.bucket.link.client()
    return json.loads((await client.request(subject, data, headers=headers, timeout=20)).data)["seq"]
