"""What a spill costs over a bare put, and what a sweep of 100,000 objects costs."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import nats
import pytest

import kmnb
from kmnb._bridge import run
from kmnb.ops.workspace import Workspace
from kmnb.storage.backends._nats_layout import chunk_subject, meta_subject, write_digest, write_meta

OBJECTS, THREADS, DEAD_THREADS = 100_000, 2_000, 100
BUCKET = "kubemoot_discussion_artifacts"
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


async def fill(ws: Workspace) -> None:
    """Write small objects as any client would, without waiting for each: 100,000 puts would take longest of all."""
    client = await nats.connect(ws.context.backend.server_url, pending_size=64 * 1024 * 1024)
    stream = client.jetstream(publish_async_max_pending=4096)
    bucket, digest = BUCKET, write_digest(hashlib.sha256(b"x").digest())
    for number in range(OBJECTS):
        key, nuid = f"default/nocrew/t{number % THREADS}/a/x-{number}", f"N{number:021}"
        meta = {"name": key, "bucket": bucket, "nuid": nuid, "size": 1, "chunks": 1, "digest": digest}
        await stream.publish_async(chunk_subject(bucket, nuid), b"x")
        await stream.publish_async(meta_subject(bucket, key), write_meta(meta))
    await stream.publish_async_completed()
    await client.close()


def test_a_sweep_of_a_hundred_thousand_objects(ws: Workspace, figure: Callable[..., None]) -> None:
    asyncio.run(fill(ws))
    for number in range(THREADS):
        ws.open_thread(f"t{number}")
    began = time.perf_counter()
    kept = ws.sweep().kept
    figure("sweep that judges 100,000 objects", time.perf_counter() - began, "s", budget="≤ 10 s")
    assert kept == OBJECTS
    ahead = datetime.now(UTC) + timedelta(hours=5)
    object.__setattr__(ws.context, "clock", lambda: ahead)
    for number in range(DEAD_THREADS, THREADS):
        ws.open_thread(f"t{number}")
    began = time.perf_counter()
    report = ws.sweep()
    figure("sweep that deletes 5,000 of 100,000 objects", time.perf_counter() - began, "s")
    assert (report.deleted, report.kept) == (OBJECTS * DEAD_THREADS // THREADS, OBJECTS - report.deleted)
