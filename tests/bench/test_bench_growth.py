"""How cost grows with the size of an object, with the number of objects, and with readers at the same time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.storage import open_backend
from kmnb.storage._protocols import Backend, ObjectArea
from kmnb.testing import Scratch, ScratchUnavailable, scratch
from tests.bench.measure import growing, in_turn_async
from tests.bench.objects import fill_bucket

MIB = 1024 * 1024
KEY = "ns/crew/t0/agent/tool-0"
RANGE_BYTES = 4096
RANGES = 320
READ_BYTES = 16 * MIB
LARGEST = {"file": 1024, "nats": 1024, "s3": 256}
"""Largest object in MiB; moto keeps all of them in memory."""


@pytest.fixture(scope="module", params=LARGEST)
def place(request: pytest.FixtureRequest) -> Iterator[Scratch]:
    try:
        found = scratch(request.param)
    except ScratchUnavailable as reason:
        pytest.skip(str(reason))
    with closing(found):
        yield found


@asynccontextmanager
async def opened(place: Scratch) -> AsyncIterator[Backend]:
    backend = await open_backend(place.fresh())
    try:
        yield backend
    finally:
        await backend.close()


def kind(place: Scratch) -> str:
    return place.url.partition(":")[0]


def title(place: Scratch) -> str:
    return f"{kind(place)} (moto, which copies a whole object for a range)" if kind(place) == "s3" else kind(place)


async def drain(area: ObjectArea, key: str = KEY) -> int:
    return sum([len(window) async for window in area.stream(key)])


def test_by_size(place: Scratch, growth: Callable[..., None]) -> None:
    block, rng = random.Random(5).randbytes(MIB), random.Random(6)
    rows: dict[str, Any] = {}

    async def one(area: ObjectArea, size: int) -> None:
        async def a_range() -> None:
            start = rng.randrange(size * MIB - RANGE_BYTES)
            assert len(await area.get_range(KEY, start, start + RANGE_BYTES)) == RANGE_BYTES

        steps = {"put": lambda: area.put(KEY, (block for _ in range(size))), "read": lambda: drain(area)}
        taken = await in_turn_async(steps, 2 if size >= 256 else 5)
        taken |= await in_turn_async({"range": a_range}, 20)
        rows[f"{size:,} MiB"] = {
            "write MiB/s": size / taken["put"],
            "read MiB/s": size / taken["read"],
            "4 KiB range ms": 1000 * taken["range"],
        }

    async def story() -> None:
        for size in growing(1, 16, 64, 256, 1024):
            if size <= LARGEST[kind(place)]:
                async with opened(place) as backend:
                    await one(backend.discussions, size)
                    await backend.discussions.delete(KEY)

    run(story())
    growth(f"{title(place)}: by the size of the object", "size", rows)


def test_by_readers(place: Scratch, growth: Callable[..., None]) -> None:
    rows: dict[str, Any] = {}

    async def story() -> None:
        async with opened(place) as backend:
            area = backend.discussions
            info = await area.put(KEY, random.Random(7).randbytes(READ_BYTES))

            async def ranges(reader: int, readers: int) -> None:
                for number in range(reader, RANGES, readers):
                    start = (number * 49_999) % (READ_BYTES - RANGE_BYTES)
                    assert len(await area.get_range(KEY, start, start + RANGE_BYTES, info=info)) == RANGE_BYTES

            for count in growing(1, 4, 16, 32):
                steps = {
                    "whole": lambda count=count: asyncio.gather(*(drain(area) for _ in range(count))),
                    "ranges": lambda count=count: asyncio.gather(*(ranges(number, count) for number in range(count))),
                }
                taken = await in_turn_async(steps, 3)
                rows[str(count)] = {
                    f"{READ_BYTES // MIB} MiB each, together MiB/s": READ_BYTES / MIB * count / taken["whole"],
                    "4 KiB ranges/s": RANGES / taken["ranges"],
                }

    run(story())
    growth(f"{title(place)}: by readers at the same time", "readers", rows)


async def count_all(area: ObjectArea, prefix: str = "") -> int:
    return len([info async for info in area.list(prefix)])


def add_row(rows: dict[str, Any], count: int, taken: dict[str, float]) -> None:
    rows[f"{count:,}"] = {"one thread of 100, ms": 1000 * taken["one"], "all, objects/s": count / taken["all"]}


def listings(area: ObjectArea) -> dict[str, Any]:
    return {"one": lambda: count_all(area, "ns/crew/t5"), "all": lambda: count_all(area)}


def test_nats_by_objects(growth: Callable[..., None]) -> None:
    rows: dict[str, Any] = {}

    async def story(place: Scratch) -> None:
        async with opened(place) as backend:
            first = 0
            for count in growing(1_000, 10_000, 100_000):
                await fill_bucket(backend, first, count)
                first = count
                assert await count_all(backend.discussions, "ns/crew/t5") == 100
                add_row(rows, count, await in_turn_async(listings(backend.discussions), 3))

    with scratch("nats") as place:
        run(story(place))
    growth("nats: by the number of objects", "objects", rows)


def test_files_by_objects(growth: Callable[..., None], tmp_path: Path) -> None:
    from tests.proof.test_stores_large import PER_THREAD, fill

    rows: dict[str, Any] = {}

    async def story() -> None:
        for count in growing(1_000, 10_000, 100_000):
            folder = tmp_path / str(count)
            await asyncio.to_thread(fill, folder, count // PER_THREAD)
            backend = await open_backend(f"file://{folder}")
            add_row(rows, count, await in_turn_async(listings(backend.discussions), 3))

    run(story())
    growth("file: by the number of objects", "objects", rows)
