"""What a spill costs over a bare put, and what a sweep of 100,000 objects costs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import kmnb
from kmnb._bridge import run
from kmnb.ops.workspace import Workspace

OBJECTS, THREADS = 100_000, 2_000
BLOCK = b"".join(b"2026-06-01T00:00:%02dZ pod-%d ready\n" % (number % 60, number) for number in range(30_000))


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with kmnb.connect(
        f"nats+embedded://{tmp_path}/nats", thread="t", agent="a", config={"sweep_on_connect": False}
    ) as ws:
        yield ws


def best(call: Callable[[], Any], times: int = 3) -> float:
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def test_spilling_costs_little_over_a_bare_put(ws: Workspace, figure: Callable[..., None]) -> None:
    data = BLOCK * (64 * 1024 * 1024 // len(BLOCK))
    area, numbers = ws.context.backend.discussions, iter(range(100))
    bare = best(lambda: run(area.put(f"bare/b/c/d/x-{next(numbers)}", data)))
    spilled = best(lambda: ws.put(data, tool="x"))
    figure("spill of 64 MiB over a bare put", 100 * (spilled / bare - 1), "%", budget="≤ 25 %")
    small = best(lambda: ws.put("x" * 5000, tool="y"), 20)
    figure("spill of 5 KB, everything included", 1000 * small, "ms")


def test_a_sweep_of_a_hundred_thousand_objects(ws: Workspace, figure: Callable[..., None]) -> None:
    area = ws.context.backend.discussions

    async def fill() -> None:
        numbers = iter(range(OBJECTS))

        async def work() -> None:
            for number in numbers:
                await area.put(f"default/nocrew/t{number % THREADS}/a/x-{number}", b"x")

        await asyncio.gather(*(work() for _ in range(64)))

    run(fill())
    for number in range(THREADS):
        ws.open_thread(f"t{number}")
    began = time.perf_counter()
    kept = ws.sweep().kept
    figure("sweep that judges 100,000 objects", time.perf_counter() - began, "s", budget="≤ 10 s")
    assert kept == OBJECTS
    ahead = datetime.now(UTC) + timedelta(hours=5)
    object.__setattr__(ws.context, "clock", lambda: ahead)
    began = time.perf_counter()
    deleted = ws.sweep().deleted
    figure("sweep that deletes 100,000 objects", time.perf_counter() - began, "s")
    assert deleted == OBJECTS
