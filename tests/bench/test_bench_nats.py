"""NATS: reading, writing, ranges and listings, side by side with nats-py and the Rust client in the same rounds."""

from __future__ import annotations

import contextlib
import io
import random
import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import nats
import natsrpy
import pytest

from kmnb._bridge import run
from kmnb.storage import open_backend
from kmnb.storage.backends.nats import NatsBackend
from kmnb.testing._nats import NatsServer
from tests.bench.measure import ROUNDS, growing, in_turn_async, sized
from tests.bench.objects import fill_bucket

MIB = 1024 * 1024
SIZE = sized(256) * MIB
KEY = "ns/crew/t1/agent/tool-0"


class Place:
    """One server, and three clients of one bucket."""

    backend: NatsBackend
    python: Any
    rust: Any


@contextlib.asynccontextmanager
async def clients(server: NatsServer) -> AsyncIterator[Place]:
    place = Place()
    place.backend = await open_backend(server.url)
    bucket = place.backend.discussions.bucket.name
    connection, rust = await nats.connect(server.url), natsrpy.Nats([server.url])
    await rust.startup()
    place.python = await connection.jetstream().object_store(bucket)
    place.rust = await (await rust.jetstream()).object_store.get(bucket)
    try:
        yield place
    finally:
        await rust.shutdown()
        await connection.close()
        await place.backend.close()


@pytest.fixture
def server() -> Iterator[NatsServer]:
    running = NatsServer()
    yield running
    running.close()


class Counting:
    """A writer that keeps nothing."""

    def __init__(self) -> None:
        self.count = 0

    def write(self, data: bytes) -> int:
        self.count += len(data)
        return len(data)


def some_bytes(seed: int) -> bytes:
    rng = random.Random(seed)
    return b"".join(rng.randbytes(MIB) for _ in range(SIZE // MIB))


async def drain(backend: NatsBackend, key: str = KEY) -> int:
    return sum([len(window) async for window in backend.discussions.stream(key)])


def test_reading(server: NatsServer, figure: Callable[..., None]) -> None:
    async def story() -> None:
        async with clients(server) as place:
            await place.backend.discussions.put(KEY, some_bytes(1))

            async def rust() -> None:
                sink = Counting()
                await place.rust.get(KEY, sink)
                assert sink.count == SIZE

            taken = await in_turn_async(
                {
                    "kmnb": lambda: drain(place.backend),
                    "nats-py": lambda: place.python.get(KEY, writeinto=io.BytesIO()),
                    "natsrpy": rust,
                }
            )
            speed = {name: SIZE / MIB / seconds for name, seconds in taken.items()}
            ours = speed["kmnb"]
            figure("NATS read of 256 MiB, digest checked", ours, "MB/s")
            peer = f"{speed['nats-py']:.0f} MB/s"
            figure(
                "… as a multiple of nats-py `get(writeinto=…)`", ours / speed["nats-py"], "×", budget="≥ 4", peer=peer
            )
            peer = f"{speed['natsrpy']:.0f} MB/s"
            budget = "≥ 0.8, aim 1.3"
            figure("… as a multiple of natsrpy `get`", ours / speed["natsrpy"], "×", budget=budget, peer=peer)

    run(story())


def test_reading_through_the_blocking_store(server: NatsServer, figure: Callable[..., None]) -> None:
    import kmnb

    with kmnb.open_store(server.url) as store:
        store.put(KEY, some_bytes(1))
        taken = []
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            assert sum(map(len, store.stream(KEY))) == SIZE
            taken.append(time.perf_counter() - begin)
    figure("NATS read of 256 MiB through `open_store(…).stream`", SIZE / MIB / statistics.median(taken), "MB/s")


def test_writing(server: NatsServer, figure: Callable[..., None]) -> None:
    data = some_bytes(2)

    async def story() -> None:
        async with clients(server) as place:
            attributes = {"content-type": "text/plain", "index": "x" * 40_000}
            taken = await in_turn_async(
                {
                    "kmnb": lambda: place.backend.discussions.put(KEY, data, attributes=attributes),
                    "nats-py": lambda: place.python.put("theirs", io.BytesIO(data)),
                    "natsrpy": lambda: place.rust.put("rust", data, chunk_size=128 * 1024),
                }
            )
            speed = {name: SIZE / MIB / seconds for name, seconds in taken.items()}
            ours = speed["kmnb"]
            figure("NATS write of 256 MiB, digest and attributes included", ours, "MB/s")
            peer = f"{speed['nats-py']:.0f} MB/s"
            figure("… as a multiple of nats-py `put`", ours / speed["nats-py"], "×", budget="≥ 1.5", peer=peer)
            peer = f"{speed['natsrpy']:.0f} MB/s"
            figure("… as a multiple of natsrpy `put`", ours / speed["natsrpy"], "×", peer=peer)

    run(story())


def test_a_range_of_a_gigabyte(server: NatsServer, figure: Callable[..., None]) -> None:
    block = random.Random(3).randbytes(MIB)

    async def story() -> None:
        backend = await open_backend(server.url)
        area, link = backend.discussions, backend.discussions.bucket.link
        info = await area.put(KEY, (block for _ in range(sized(1024))))
        rng, taken, most_requests, most_bytes = random.Random(4), [], 0, 0
        for _ in range(50):
            start = rng.randrange(sized(1024) * MIB - 4096)
            requests, received = link.requests, link.received_bytes
            begin = time.perf_counter()
            await area.get_range(KEY, start, start + 4096, info=info)
            taken.append(time.perf_counter() - begin)
            most_requests = max(most_requests, link.requests - requests)
            most_bytes = max(most_bytes, link.received_bytes - received)
        figure("4 KiB at a random place of 1 GiB: requests, worst of 50", most_requests, "", budget="≤ 12")
        figure("… chunks moved, worst of 50", most_bytes / (128 * 1024 + 512), "", budget="≤ 3")
        figure("… median time", statistics.median(taken) * 1000, "ms")
        await backend.close()

    run(story())


def test_listing(server: NatsServer, figure: Callable[..., None]) -> None:
    async def story() -> None:
        async with clients(server) as place:
            area, first = place.backend.discussions, 0

            async def ours() -> None:
                assert len([info async for info in area.list("ns/crew/t5/")]) == 100

            async def theirs() -> None:
                assert len([info for info in await place.python.list() if info.name.startswith("ns/crew/t5/")]) == 100

            for count in growing(1_000, 10_000, 100_000):
                await fill_bucket(place.backend, first, count)
                first = count
                taken = await in_turn_async({"kmnb": ours, "nats-py": theirs})
                ratio, peer = taken["nats-py"] / taken["kmnb"], f"{taken['nats-py']:.3f} s"
                budget = "≤ 1 s" if count == 100_000 else ""
                figure(f"list one thread of 100 among {count:,} objects", taken["kmnb"], "s", budget=budget, peer=peer)
            figure("… as a multiple of nats-py `list()` plus filter", ratio, "× faster", budget="≥ 5")
            begin = time.perf_counter()
            assert len([info async for info in area.list()]) == first
            figure(f"list all {first:,} objects", time.perf_counter() - begin, "s")

    run(story())
