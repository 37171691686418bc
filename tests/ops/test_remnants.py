"""What is no object and piles up in a store itself: found by a dry run, collected by a sweep, each with a reason."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nats
import obstore
import pytest

import kmnb
from kmnb._bridge import run
from kmnb.ops.workspace import Workspace
from kmnb.storage._protocols import Remnant
from kmnb.testing import Scratch, ScratchUnavailable, scratch
from kmnb.testing._nats import NatsServer

LARGE = bytes(9 * 1024 * 1024)


@pytest.fixture(scope="module", params=["memory", "file", "nats", "s3", "gs", "az"])
def place(request: pytest.FixtureRequest) -> Iterator[Scratch]:
    """A running store of each kind."""
    try:
        running = scratch(request.param)
    except ScratchUnavailable as reason:
        pytest.skip(str(reason))
    with running:
        yield running


@pytest.fixture
def ws(place: Scratch) -> Iterator[Workspace]:
    with kmnb.connect(place.fresh(), thread="t", agent="a", config={"sweep_on_connect": False}) as workspace:
        yield workspace


def later(ws: Workspace, monkeypatch: pytest.MonkeyPatch, **amount: float) -> None:
    """Put the store's clock forward."""
    kind = type(ws.context.backend)
    real = kind.now

    async def now(self: Any) -> datetime:
        return await real(self) + timedelta(**amount)

    monkeypatch.setattr(kind, "now", now)


def plant_staged_file(ws: Workspace) -> dict[str, int | None]:
    folder = Path(urlsplit(ws.context.backend.url).path) / "staging"
    (folder / "abandoned").write_bytes(b"12345")
    (folder / "under-way").write_bytes(b"1")
    old = time.time() - 3600
    os.utime(folder / "abandoned", (old, old))
    return {"store:staging/abandoned": 5}


def plant_parts(ws: Workspace) -> dict[str, int | None]:
    backend: Any = ws.context.backend
    for path in ("parts/old-style", "parts/discussions/new-style", "facts/discussions/lost"):
        obstore.put(backend._bucket._store, backend._prefix + path, b"1234", use_multipart=False)
    return {f"store:{path}": 4 for path in ("parts/old-style", "parts/discussions/new-style", "facts/discussions/lost")}


def plant_chunks(ws: Workspace) -> dict[str, int | None]:
    backend: Any = ws.context.backend

    async def plant() -> None:
        client = await nats.connect(ws.context.backend.server_url)
        try:
            for bucket in (backend.discussions.bucket.name, backend.named.bucket.name):
                await client.jetstream().publish(f"$O.{bucket}.C.LOST", b"chunk")
        finally:
            await client.close()

    asyncio.run(plant())
    return {f"store:$O.{area.bucket.name}.C.LOST": None for area in (backend.discussions, backend.named)}


PLANT: dict[str, Callable[[Workspace], dict[str, int | None]]] = {"file": plant_staged_file, "nats": plant_chunks}


def test_remnants_are_shown_by_a_dry_run_and_collected_by_a_sweep(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = urlsplit(ws.context.backend.url).scheme
    ws.save("kept.bin", LARGE)
    planted = PLANT.get(kind, plant_parts)(ws)
    later(ws, monkeypatch, hours=25)
    for report in (ws.sweep(dry_run=True), ws.sweep(dry_run=True), ws.sweep()):
        found = {one.key: one for one in report.verdicts if one.key.startswith("store:")}
        assert {key: one.size for key, one in found.items()} == planted
        assert all(one.detail and str(one.reason) == "leftover" for one in found.values())
        assert report.failures == ()
    assert not any(one.key.startswith("store:") for one in ws.sweep().verdicts)
    assert ws.load("kept.bin").read(0, len(LARGE)) == LARGE


def test_what_may_be_under_way_is_left_alone(ws: Workspace) -> None:
    kind = urlsplit(ws.context.backend.url).scheme
    if kind == "file":
        folder = Path(urlsplit(ws.context.backend.url).path) / "staging"
        (folder / "under-way").write_bytes(b"1")
    else:
        PLANT.get(kind, plant_parts)(ws)
    assert not any(one.key.startswith("store:") for one in ws.sweep().verdicts)


@pytest.fixture(scope="module")
def bare() -> Iterator[str]:
    """A server that takes every client."""
    server = NatsServer()
    yield server.url
    server.close()


@pytest.fixture
def on_nats(bare: str, names: dict[str, str]) -> Iterator[Workspace]:
    bucket = f"remnants-{names['namespace']}"
    with kmnb.connect(f"{bare}/{bucket}", config={"sweep_on_connect": False}, **names) as workspace:
        yield workspace


async def subjects(ws: Workspace, bucket: str) -> list[str]:
    area: Any = getattr(ws.context.backend, bucket)
    answer = await area.bucket.api("STREAM.INFO", {"subjects_filter": f"$O.{area.bucket.name}.>"}, thing="test")
    return sorted(answer["state"].get("subjects") or {})


def test_marks_of_deletions_go_once_nobody_asks_for_them(on_nats: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    ws = on_nats
    ws.save("once.txt", "gone")
    ws.save("stays.txt", "here")
    before = run(subjects(ws, "named"))
    ws.remove("once.txt")
    assert len(run(subjects(ws, "named"))) == len(before) - 1, "the chunks are gone, the mark stands"
    later(ws, monkeypatch, hours=47)
    assert not any("once" in one.detail for one in ws.sweep().verdicts)
    later(ws, monkeypatch, hours=2)
    (mark,) = [one for one in ws.sweep().verdicts if "once" in one.detail]
    assert (mark.key[:6], "was deleted" in mark.detail, mark.deletes) == ("store:", True, True)
    assert len(run(subjects(ws, "named"))) <= len(before) - 2
    assert ws.load("stays.txt").read(0, 10) == b"here"
    assert ws.save("once.txt", "again").version == 1, "numbers are not used twice"


def test_a_damaged_document_keeps_every_chunk_and_stops_no_sweep(
    on_nats: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = on_nats
    planted = plant_chunks(ws)
    area: Any = ws.context.backend.discussions

    async def damage() -> None:
        client = await nats.connect(ws.context.backend.server_url)
        try:
            await client.jetstream().publish(f"$O.{area.bucket.name}.M.ZGFtYWdlZA==", b"{ damaged")
        finally:
            await client.close()

    asyncio.run(damage())
    later(ws, monkeypatch, hours=25)
    found = {one.key for one in ws.sweep().verdicts if one.key.startswith("store:")}
    assert f"store:$O.{area.bucket.name}.C.LOST" not in found
    assert found <= set(planted)


def test_a_store_that_cannot_be_searched_is_a_failure_and_the_rest_goes_on(
    on_nats: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kmnb.errors import StoreUnavailable

    async def away(self: Any, *, dry_run: bool = False) -> list[Remnant]:
        raise StoreUnavailable("store", "went away")

    ws = on_nats
    monkeypatch.setattr(type(ws.context.backend), "collect", away)
    art = ws.put("d", tool="x")
    report = ws.sweep()
    assert [("went away" in failure.reason) for failure in report.failures] == [True]
    assert str(report.explain(art.key).reason) == "thread-active"  # type: ignore[union-attr]
