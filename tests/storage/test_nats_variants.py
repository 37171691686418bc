"""The same answers from an old server, a bucket without direct access, and a cluster that loses its leader."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing

import pytest

from kmnb._bridge import run
from kmnb.core.bounds import REQUEST_SECONDS
from kmnb.errors import AlreadyExists, ArtifactNotFound, DigestMismatch, StoreError, StoreUnavailable, VersionConflict
from kmnb.storage import open_backend
from kmnb.storage.backends import _nats_chunks, _nats_patience
from kmnb.storage.backends._nats_area import NatsArea
from kmnb.storage.backends.nats import NatsBackend
from kmnb.testing._nats import NatsCluster, NatsServer, old_binary
from tests.storage.nats_places import CHUNK, MIB, api, chunk_places, fresh, jetstream, keys, messages, publish, read

DATA = random.Random(9).randbytes(5 * MIB + 3)
SECONDS = 60.0


@pytest.fixture(scope="module")
def old() -> Iterator[NatsServer]:
    running = NatsServer(binary=old_binary())
    yield running
    running.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[NatsCluster]:
    running = NatsCluster()
    yield running
    running.close()


async def open_variant(request: pytest.FixtureRequest, variant: str) -> NatsBackend:
    if variant == "old":
        return await open_backend(fresh(request.getfixturevalue("old").url))
    if variant == "cluster":
        return await open_backend(fresh(request.getfixturevalue("cluster").url, replicas=3))
    server = request.getfixturevalue("server")
    url = fresh(server.url)
    bucket = url.rpartition("/")[2].partition("?")[0]
    async with jetstream(server.url) as js:
        await js.add_stream(
            name=f"OBJ_{bucket}",
            subjects=[f"$O.{bucket}.C.>", f"$O.{bucket}.M.>"],
            allow_rollup_hdrs=True,
            allow_direct=False,
            discard="new",
        )
    return await open_backend(url)


@pytest.fixture(params=["old", "indirect", "cluster"])
def variant(request: pytest.FixtureRequest) -> Iterator[NatsBackend]:
    opened = run(open_variant(request, request.param))
    yield opened
    run(opened.close())


def test_the_road_is_the_one_that_the_server_has(variant: NatsBackend, request: pytest.FixtureRequest) -> None:
    assert variant.discussions.bucket.sends_batches == ("cluster" in request.node.name)


def test_objects_are_read_whole_and_in_parts(variant: NatsBackend) -> None:
    area = variant.discussions

    async def story() -> None:
        info = await area.put("a/x", DATA, attributes={"content-type": "a/b"})
        assert await area.head("a/x") == info
        assert await read(area, "a/x") == DATA
        rng = random.Random(1)
        for _ in range(12):
            start = rng.randrange(len(DATA))
            end = start + rng.choice([1, 4096, CHUNK, MIB])
            assert await area.get_range("a/x", start, end, info=info) == DATA[start:end]
        await area.put("a/empty", b"")
        assert await read(area, "a/empty") == b""

    run(asyncio.wait_for(story(), SECONDS))


def test_listing_deletion_and_create_only_agree(variant: NatsBackend) -> None:
    area = variant.named

    async def story() -> None:
        for key in ("t1/a", "t10/a", "t1/b", "t1"):
            await area.put(key, b"1", create_only=True)
            with pytest.raises(AlreadyExists):
                await area.put(key, b"2", create_only=True)
        assert await keys(area, "t1") == ["t1", "t1/a", "t1/b"]
        await area.delete("t1/a")
        assert await keys(area, "t1/") == ["t1", "t1/b"]
        with pytest.raises(ArtifactNotFound, match="deleted"):
            await area.head("t1/a")
        await area.put("t1/a", b"3", create_only=True)
        assert await keys(area) == ["t1", "t1/a", "t1/b", "t10/a"]

    run(asyncio.wait_for(story(), SECONDS))


def test_racing_writers_have_one_winner(variant: NatsBackend) -> None:
    area = variant.discussions

    async def attempt(number: int) -> bool:
        try:
            await area.put("contested", bytes([number]) * 200_000, create_only=True)
        except AlreadyExists:
            return False
        return True

    async def story() -> None:
        won = await asyncio.gather(*(attempt(number) for number in range(20)))
        assert won.count(True) == 1
        assert await read(area, "contested") == bytes([won.index(True)]) * 200_000

    run(asyncio.wait_for(story(), SECONDS))


def test_records_are_conditional(variant: NatsBackend) -> None:
    records = variant.records

    async def story() -> None:
        first = await records.put("a/1", b"1", expected=None)
        second = await records.put("a/1", b"2", expected=first)
        for stale in (None, first):
            with pytest.raises(VersionConflict):
                await records.put("a/1", b"3", expected=stale)
        await records.put("a/2", b"4", expected=None)
        assert [(item.key, item.value) async for item in records.list("a")] == [("a/1", b"2"), ("a/2", b"4")]
        assert (await records.get("a/1")).revision == second
        await records.delete("a/1")
        assert [item.key async for item in records.list()] == ["a/2"]

    run(asyncio.wait_for(story(), SECONDS))


def test_damage_is_a_mismatch(variant: NatsBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_nats_chunks, "LAG_SECONDS", 0.5)
    area = variant.discussions

    async def story() -> None:
        for key, index in (("first", 0), ("middle", 17), ("last", -1)):
            await area.put(key, DATA)
            subject, places = await chunk_places(area, key)
            await api(area, "STREAM.MSG.DELETE", {"seq": places[index], "no_erase": True})
            with pytest.raises(DigestMismatch, match=key):
                await read(area, key)
            start = (index % 41) * CHUNK
            with pytest.raises(DigestMismatch, match=key):
                await area.get_range(key, start, start + 9)
            await publish(area, subject, b"x" * CHUNK)
            with pytest.raises(DigestMismatch, match=key):
                await read(area, key)

    run(asyncio.wait_for(story(), SECONDS))


def test_chunks_between_those_of_others_are_found(variant: NatsBackend) -> None:
    area = variant.discussions

    async def story() -> None:
        await asyncio.gather(area.put("x", DATA), area.put("y", DATA[::-1]))
        info = await area.head("x")
        for start in range(0, len(DATA), 700_001):
            assert await area.get_range("x", start, start + 4096, info=info) == DATA[start : start + 4096]
        assert await read(area, "y") == DATA[::-1]

    run(asyncio.wait_for(story(), SECONDS))


def test_history_and_events_are_kept(variant: NatsBackend) -> None:
    async def story() -> None:
        for number in range(300):
            await variant.bus.publish("kmnb.events.saved", b"%d" % number, stored=True)
        found = [message.data async for message in variant.bus.history("kmnb.events.saved")]
        assert found[-300:] == [b"%d" % number for number in range(300)]

    run(asyncio.wait_for(story(), SECONDS))


async def leader(area: NatsArea, cluster: NatsCluster) -> NatsServer:
    """The server that leads the area's stream now."""
    async with asyncio.timeout(SECONDS):
        while (name := (await api(area, "STREAM.INFO"))["cluster"].get("leader")) is None:
            await asyncio.sleep(0.02)  # an election is under way
    return cluster.servers[int(name[1:])]


async def heal(area: NatsArea, server: NatsServer) -> None:
    """Start a server again and wait until it holds what the others hold."""
    await asyncio.to_thread(server.start)
    async with asyncio.timeout(SECONDS):
        while True:
            replicas = (await api(area, "STREAM.INFO"))["cluster"].get("replicas") or []
            if len(replicas) == 2 and all(item["current"] and not item.get("offline") for item in replicas):
                return
            await asyncio.sleep(0.02)  # leaves the processor to the servers


@pytest.mark.parametrize("how", ["kill"])
def test_a_put_survives_the_loss_of_its_leader(cluster: NatsCluster, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_nats_patience, "STALL_SECONDS", 1.0)

    async def story() -> None:
        backend = await open_backend(fresh(cluster.url, replicas=3))
        area = backend.discussions
        lost = await leader(area, cluster)

        async def source() -> AsyncIterator[bytes]:
            for number in range(6):
                if number == 3:
                    asyncio.get_running_loop().run_in_executor(None, getattr(lost, how))
                yield DATA

        try:
            info = await area.put("x", source())
            assert info.size == 6 * len(DATA)
            assert await read(area, "x") == DATA * 6
            _, places = await chunk_places(area, "x")
            assert len(places) == -(-info.size // CHUNK)
        finally:
            await asyncio.to_thread(getattr(lost, how))
            await heal(area, lost)
        await backend.close()

    run(asyncio.wait_for(story(), SECONDS))


@pytest.mark.parametrize("how", ["stop"])
def test_a_read_survives_the_loss_of_the_leader(
    cluster: NatsCluster, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_nats_patience, "STALL_SECONDS", 1.0)

    async def story() -> None:
        backend = await open_backend(fresh(cluster.url, replicas=3))
        area = backend.discussions
        await area.put("x", DATA * 8)
        lost, parts = await leader(area, cluster), []
        try:
            async for window in area.stream("x"):
                parts.append(window)
                if len(parts) == 10:
                    await asyncio.to_thread(getattr(lost, how))
            assert b"".join(parts) == DATA * 8
            assert (await area.head("x")).size == 8 * len(DATA)
        finally:
            await heal(area, lost)
        await backend.close()

    run(asyncio.wait_for(story(), SECONDS))


def test_a_listing_asks_again_what_a_leader_took_along(cluster: NatsCluster) -> None:
    """Nobody answers a question that was on its way to a leader that died; the time-out of one request is 30 s."""

    async def story() -> None:
        backend = await open_backend(fresh(cluster.url, replicas=3))
        area = backend.discussions
        for number in range(40):
            await area.put(f"t/{number:02}", b"1")
        assert len(await keys(area)) == 40
        lost = await leader(area, cluster)
        while (await area.bucket.link.client()).connected_url.port == lost.port:
            await api(area, "STREAM.LEADER.STEPDOWN")
            lost = await leader(area, cluster)
        try:
            await asyncio.to_thread(lost.kill)
            async with asyncio.timeout(25):
                assert len(await keys(area)) == 40
        finally:
            await heal(area, lost)
        await backend.close()

    run(asyncio.wait_for(story(), 2 * SECONDS))


def test_a_bucket_that_is_gone_is_told_by_every_verb(server: NatsServer) -> None:
    """As after a restart of a server that kept the bucket in memory, or when somebody removed it."""

    async def story() -> None:
        backend = await open_backend(fresh(server.url))
        area = backend.discussions
        await area.put("x", b"1")
        await api(area, "STREAM.DELETE")
        for verb in (lambda: area.put("y", b"1"), lambda: area.head("x"), lambda: read(area, "x"), lambda: keys(area)):
            with pytest.raises(StoreUnavailable, match="stream is gone"):
                await verb()
        await backend.close()

    run(asyncio.wait_for(story(), SECONDS))


@pytest.mark.parametrize("is_made_anew", [False, True])
@pytest.mark.parametrize("verb", ["put", "stream"])
def test_a_bucket_that_goes_in_the_middle_is_not_waited_for_long(
    server: NatsServer, verb: str, is_made_anew: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is there and will never have the rest: the request time-out would pass for nothing."""
    monkeypatch.setattr(_nats_patience, "STALL_SECONDS", 0.3)

    async def story() -> None:
        url = fresh(server.url, connect_seconds=0.2)
        backend = await open_backend(url)
        area = backend.discussions

        async def lose() -> None:
            await api(area, "STREAM.DELETE")
            if is_made_anew:
                await (await open_backend(url)).close()

        async def source() -> AsyncIterator[bytes]:
            for number in range(20):
                if number == 12:
                    await lose()
                yield bytes(MIB)

        async def half_read() -> None:
            await area.put("x", bytes(40 * MIB))
            async with aclosing(area.stream("x")) as windows:
                await anext(windows)
                await lose()
                async for _ in windows:
                    pass

        kinds = (ArtifactNotFound, StoreError) if is_made_anew else StoreUnavailable
        begun = time.monotonic()
        with pytest.raises(kinds, match="'x'"):
            await (area.put("x", source()) if verb == "put" else half_read())
        assert time.monotonic() - begun < REQUEST_SECONDS / 2
        if is_made_anew:
            assert await messages(area) == 0
        await backend.close()

    run(asyncio.wait_for(story(), SECONDS))
