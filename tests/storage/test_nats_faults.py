"""What can go wrong between us and the server: nothing wrong is read, nothing half written is seen, nothing hangs."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

import pytest
from nats.aio.msg import Msg

from kmnb._bridge import run
from kmnb.core.bounds import CONNECT_SECONDS
from kmnb.core.progress import tally
from kmnb.errors import AlreadyExists, ArtifactNotFound, DigestMismatch, StoreError, StoreUnavailable
from kmnb.storage import open_backend
from kmnb.storage.backends import _nats_leftovers, _nats_link, _nats_patience, _nats_pings, _nats_writer
from kmnb.storage.backends._nats_area import NatsArea
from kmnb.storage.backends._nats_lane import Lane, Message
from kmnb.storage.backends.nats import NatsBackend
from kmnb.testing._nats import NatsServer
from tests.children import ROOT
from tests.storage.nats_places import (
    CHUNK,
    MIB,
    SECONDS,
    api,
    chunk_places,
    fresh,
    keys,
    messages,
    publish,
    read,
)

DATA = random.Random(5).randbytes(6 * MIB + 11)


@pytest.fixture
def own_server() -> Iterator[NatsServer]:
    """A server that a test may end."""
    running = NatsServer()
    yield running
    running.close()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short patience, so that the tests are quick."""
    monkeypatch.setattr(_nats_patience, "STALL_SECONDS", 0.5)


async def drop(area: NatsArea, key: str, index: int) -> None:
    _, places = await chunk_places(area, key)
    await api(area, "STREAM.MSG.DELETE", {"seq": places[index], "no_erase": True})


@pytest.mark.parametrize("index", [0, 1, 20, -1])
def test_a_chunk_that_is_gone_is_a_mismatch_that_names_the_object(area: NatsArea, index: int) -> None:
    async def story() -> None:
        await area.put("damaged", DATA)
        await drop(area, "damaged", index)
        with pytest.raises(DigestMismatch, match="'damaged'"):
            await read(area, "damaged")
        with pytest.raises(DigestMismatch, match="'damaged'"):
            await area.get_range("damaged", 0, len(DATA))
        place = (index % 49) * CHUNK
        with pytest.raises(DigestMismatch, match="'damaged'"):
            await area.get_range("damaged", place, place + 5)

    run(asyncio.wait_for(story(), SECONDS))


def test_a_foreign_chunk_behind_ours_is_a_mismatch(area: NatsArea) -> None:
    async def story() -> None:
        await area.put("grown", DATA)
        subject, _ = await chunk_places(area, "grown")
        await publish(area, subject, b"x" * 100)
        for reading in (read(area, "grown"), area.get_range("grown", 5 * CHUNK, 5 * CHUNK + 5)):
            with pytest.raises(DigestMismatch, match="'grown'"):
                await reading

    run(asyncio.wait_for(story(), SECONDS))


def test_a_changed_byte_is_a_mismatch(area: NatsArea) -> None:
    async def story() -> None:
        await area.put("changed", DATA)
        subject, places = await chunk_places(area, "changed")
        last = await area.bucket.next(subject, places[-1], thing="test")
        await drop(area, "changed", -1)
        await publish(area, subject, last.data[:-1] + bytes([last.data[-1] ^ 1]))
        with pytest.raises(DigestMismatch, match="sha256"):
            await read(area, "changed")

    run(asyncio.wait_for(story(), SECONDS))


def test_a_byte_that_changed_on_the_servers_disk_is_never_read_as_if_nothing_were(own_server: NatsServer) -> None:
    async def story() -> None:
        url = fresh(own_server.url, request_seconds=3)
        backend = await open_backend(url)
        await backend.discussions.put("rotten", DATA)
        await backend.close()
        own_server.stop()
        block = next(own_server.folder.glob("data/**/OBJ_discussions*/msgs/1.blk"))
        raw = bytearray(block.read_bytes())
        raw[3 * MIB] ^= 0xFF
        block.write_bytes(raw)
        own_server.start()
        backend = await open_backend(url)
        with pytest.raises((DigestMismatch, ArtifactNotFound, StoreUnavailable)):
            await read(backend.discussions, "rotten")
        await backend.close()

    run(asyncio.wait_for(story(), SECONDS))


def test_an_object_that_is_replaced_while_it_is_read_is_said_to_be(area: NatsArea) -> None:
    big = DATA * 4

    async def story() -> None:
        info = await area.put("moving", big)
        walk = area.stream("moving", info=info)
        await anext(walk)
        await area.put("moving", b"new")
        with pytest.raises(DigestMismatch, match="replaced"):
            async for _ in walk:
                pass
        with pytest.raises(DigestMismatch, match="replaced"):
            await area.get_range("moving", 20 * MIB, 20 * MIB + 5, info=info)
        await area.delete("moving")
        with pytest.raises(ArtifactNotFound):
            await area.get_range("moving", MIB, MIB + 5, info=info)

    run(asyncio.wait_for(story(), SECONDS))


def test_a_reader_that_stops_early_leaves_the_store_usable(area: NatsArea) -> None:
    async def story() -> None:
        await area.put("long", DATA * 4)
        assert await read(area, "long") == DATA * 4
        before = len(asyncio.all_tasks())
        for _ in range(8):
            async for window in area.stream("long"):
                assert 0 < len(window) <= MIB
                break
        assert await read(area, "long") == DATA * 4
        assert len(asyncio.all_tasks()) < before + 8

    run(asyncio.wait_for(story(), SECONDS))


def test_a_slow_reader_gets_everything_and_holds_little(area: NatsArea) -> None:
    async def story() -> None:
        big = DATA * 6
        await area.put("slow", big)
        parts = []
        async for window in area.stream("slow"):
            parts.append(window)
            if len(parts) % 10 == 1:
                await asyncio.sleep(0.1)
        assert b"".join(parts) == big

    run(asyncio.wait_for(story(), SECONDS))


def test_an_interrupted_put_leaves_nothing(area: NatsArea) -> None:
    async def story() -> None:
        rng = random.Random(3)
        for turn in range(20):
            before = await messages(area)
            task = asyncio.ensure_future(area.put("interrupted", DATA))
            await asyncio.sleep(rng.random() * 0.04)
            task.cancel()
            begin = time.monotonic()
            try:
                await task
            except asyncio.CancelledError:
                assert time.monotonic() - begin < 3, turn
            if await keys(area):
                assert await read(area, "interrupted") == DATA
                await area.delete("interrupted")
                before += 0 if before else 1
            # A busy server may store what it had received only after the first removal; then it is removed again.
            async with asyncio.timeout(20):
                while await messages(area) > max(before, 1):
                    await asyncio.sleep(0.01)

    run(asyncio.wait_for(story(), SECONDS))


def test_what_a_sleeping_server_stores_after_its_writer_gave_up_is_removed(
    own_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_nats_writer, "PURGE_SECONDS", 0.3)
    monkeypatch.setattr(_nats_writer, "LATE_PAUSES", (0.2, 0.5, 1.0))

    async def story() -> None:
        backend = await open_backend(fresh(own_server.url))
        area, asleep = backend.discussions, asyncio.Event()

        async def source() -> AsyncIterator[bytes]:
            own_server.pause()
            asleep.set()
            yield DATA
            await asyncio.Event().wait()

        task = asyncio.ensure_future(area.put("given-up", source()))
        await asleep.wait()
        await asyncio.wait({task}, timeout=0.2)
        task.cancel()
        await asyncio.wait({task}, timeout=5)
        assert task.cancelled()
        assert len(backend._lanes._later) == 1
        own_server.resume()
        await asyncio.wait(backend._lanes._later, timeout=10)
        assert await keys(area) == []
        assert await messages(area) == 0
        await backend.close()

    run(asyncio.wait_for(story(), SECONDS))


def test_a_source_that_fails_leaves_nothing(area: NatsArea) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield DATA
        raise OSError("the disk is gone")

    async def story() -> None:
        await area.put("kept", b"old")
        before = await messages(area)
        with pytest.raises(OSError, match="the disk is gone"):
            await area.put("kept", broken())
        assert await read(area, "kept") == b"old"
        assert await messages(area) == before

    run(asyncio.wait_for(story(), SECONDS))


def test_attributes_that_fail_leave_nothing(area: NatsArea) -> None:
    def attributes() -> dict[str, str]:
        raise ValueError("no preview")

    async def story() -> None:
        with pytest.raises(ValueError, match="no preview"):
            await area.put("x", DATA, attributes=attributes)
        assert await messages(area) == 0

    run(asyncio.wait_for(story(), SECONDS))


KILLS = 5
"""The store contract kills twenty; these show what is left behind, and that it is collected."""
WRITERS = """
import asyncio, os, sys
from kmnb.storage import open_backend
async def main():
    backend = await open_backend(sys.argv[1])
    data = bytes(1024 * 1024) * 12
    os.write(1, b"%d\\n" % os.getpid())
    for number in range(1000):
        await backend.discussions.put(f"k{number}", data)
for line in sys.stdin:
    if os.fork() == 0:
        asyncio.run(main())
    os.wait()
    os.write(1, b"dead\\n")
"""


def test_a_writer_that_is_killed_at_any_moment_leaves_nothing_half_written(server: NatsServer) -> None:
    url = fresh(server.url)
    rng = random.Random(7)

    async def check() -> None:
        backend = await open_backend(url)
        area = backend.discussions
        for info in [info async for info in area.list()]:
            assert info.size == 12 * MIB
            assert sum([len(window) async for window in area.stream(info.key)]) == info.size
            await area.delete(info.key)
        await backend.close()

    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", WRITERS, url], stdin=pipe, stdout=pipe, cwd=ROOT) as writers:
        for _ in range(KILLS):
            writers.stdin.write(b"go\n")
            writers.stdin.flush()
            pid = int(writers.stdout.readline())
            time.sleep(rng.random() * 0.15)
            os.kill(pid, signal.SIGKILL)
            assert writers.stdout.readline() == b"dead\n"
            run(asyncio.wait_for(check(), SECONDS))
        writers.stdin.close()

    async def collect() -> None:
        backend = await open_backend(url)
        bucket, lanes = backend.discussions.bucket, backend._lanes
        await backend.discussions.put("kept", DATA)
        assert await backend.collect() == []
        now = await backend.now()
        assert await _nats_leftovers.collect_leftovers(bucket, lanes, now=now, older_than=-5) != []
        assert await keys(backend.discussions) == ["kept"]
        assert await read(backend.discussions, "kept") == DATA
        subjects = (await api(backend.discussions, "STREAM.INFO", {"subjects_filter": "$O.*.C.>"}))["state"]["subjects"]
        assert len(subjects) == 1
        await backend.close()

    run(asyncio.wait_for(collect(), SECONDS))


def restarts(server: NatsServer, how: str) -> None:
    if how == "pause":
        server.pause()
        time.sleep(0.8)
        server.resume()
    else:
        (server.kill if how == "kill" else server.stop)()
        server.start()


@pytest.mark.parametrize("how", ["stop", "kill", "pause"])
def test_a_read_goes_on_when_the_server_comes_back(own_server: NatsServer, how: str, quick: None) -> None:
    big = DATA * 10

    async def story() -> None:
        backend = await open_backend(fresh(own_server.url))
        await backend.discussions.put("x", big)
        parts = []
        with tally("get") as work:
            async for window in backend.discussions.stream("x"):
                parts.append(window)
                if len(parts) == 20:
                    await asyncio.to_thread(restarts, own_server, how)
        assert b"".join(parts) == big
        # Whoever waits is told that it was asked again.
        assert work.retries or how == "pause"
        assert await backend.discussions.get_range("x", 30 * MIB, 30 * MIB + 7) == big[30 * MIB : 30 * MIB + 7]
        await backend.close()

    run(asyncio.wait_for(story(), SECONDS))


@pytest.mark.parametrize("how", ["stop", "kill", "pause"])
def test_a_write_goes_on_when_the_server_comes_back_and_stores_everything_once(
    own_server: NatsServer, how: str, quick: None
) -> None:
    async def source() -> AsyncIterator[bytes]:
        for number in range(10):
            if number == 5:
                await asyncio.to_thread(restarts, own_server, how)
            yield DATA

    async def story() -> None:
        backend = await open_backend(fresh(own_server.url))
        info = await backend.discussions.put("x", source())
        assert info.size == 10 * len(DATA)
        assert await read(backend.discussions, "x") == DATA * 10
        _, places = await chunk_places(backend.discussions, "x")
        assert len(places) == -(-info.size // CHUNK)
        await backend.close()

    run(asyncio.wait_for(story(), SECONDS))


def test_what_a_server_that_stays_away_was_asked_ends_in_time(own_server: NatsServer, quick: None) -> None:
    async def story() -> None:
        backend = await open_backend(fresh(own_server.url, request_seconds=0.5, connect_seconds=0.5))
        area = backend.discussions
        info = await area.put("x", DATA)
        walk = area.stream("x")
        await anext(walk)
        own_server.pause()
        for call in (
            lambda: area.head("x"),
            lambda: area.get_range("x", 3 * MIB, 3 * MIB + 5, info=info),
            lambda: area.put("y", DATA),
            lambda: area.delete("x"),
            lambda: keys(area),
            lambda: backend.records.get("x"),
            lambda: backend.bus.publish("kmnb.events.x", b"", stored=True),
        ):
            begin = time.monotonic()
            with pytest.raises(StoreUnavailable) as caught:
                await call()
            assert time.monotonic() - begin < 10
            assert str(own_server.port) in str(caught.value)
            assert str(caught.value).count("Is the server up") <= 1, caught.value
        own_server.resume()
        assert await read(area, "x") == DATA
        await backend.close()

    run(asyncio.wait_for(story(), 60))


def calls(backend: NatsBackend) -> list[Callable[[], Awaitable[object]]]:
    """One small call of each kind."""
    area = backend.discussions
    return [
        lambda: area.head("x"),
        lambda: area.put("y", b"small"),
        lambda: area.get_range("x", 3 * MIB, 3 * MIB + 5),
        lambda: area.delete("x"),
        lambda: keys(area),
        lambda: backend.records.get("x"),
        lambda: backend.bus.publish("kmnb.events.x", b"", stored=True),
        lambda: backend.bus.publish("other.x", b"", stored=False),
    ]


def test_where_nothing_listens_a_call_fails_within_the_time_out_of_connecting(own_server: NatsServer) -> None:
    async def story() -> None:
        backend = await open_backend(fresh(own_server.url, connect_seconds=0.5))
        await backend.discussions.put("x", DATA)
        own_server.kill()
        for call in calls(backend):
            begin = time.monotonic()
            with pytest.raises(StoreUnavailable, match=f"127.0.0.1:{own_server.port}"):
                await call()
            assert time.monotonic() - begin < 5
        own_server.start()
        assert await read(backend.discussions, "x") == DATA
        await backend.close()

    run(asyncio.wait_for(story(), SECONDS))


def test_a_frozen_server_is_given_up_by_its_silence(own_server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _nats_patience.SILENT_SECONDS <= 10
    assert _nats_patience.STALL_SECONDS + CONNECT_SECONDS <= 10
    monkeypatch.setattr(_nats_link, "ATTEMPT_SECONDS", 0.4)
    monkeypatch.setattr(_nats_pings, "PING_SECONDS", 0.4)
    monkeypatch.setattr(_nats_pings, "FLUSH_SECONDS", 0.4)
    monkeypatch.setattr(_nats_patience, "WATCH_SECONDS", 0.4)
    monkeypatch.setattr(_nats_patience, "STALL_SECONDS", 0.4)

    async def story() -> None:
        backend = await open_backend(fresh(own_server.url, connect_seconds=0.5))
        info = await backend.discussions.put("x", DATA)
        own_server.pause()
        kept = (lambda: backend.discussions.get_range("x", MIB, MIB + 5, info=info),)
        for call in (*calls(backend), *kept):
            begin = time.monotonic()
            with pytest.raises(StoreUnavailable, match=f"127.0.0.1:{own_server.port}"):
                await call()
            assert time.monotonic() - begin < 8
        own_server.resume()
        assert await read(backend.discussions, "x") == DATA
        await backend.close()

    run(asyncio.wait_for(story(), 40))


def test_a_server_that_is_slow_but_answers_pings_is_waited_for(
    own_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_nats_link, "ATTEMPT_SECONDS", 0.1)

    async def story() -> None:
        backend = await open_backend(fresh(own_server.url, request_seconds=5))
        client, asked = await backend._link.client(), []

        async def answer(message: Msg) -> None:
            asked.append(message)
            if len(asked) == 4:
                await message.respond(b"late")

        await client.subscribe("slow", cb=answer)
        assert (await backend._link.request("slow", thing="test")).data == b"late"
        await backend.close()

    run(asyncio.wait_for(story(), SECONDS))


@pytest.mark.parametrize("number", range(4))
def test_a_call_that_is_under_way_while_the_server_restarts_completes(own_server: NatsServer, number: int) -> None:
    async def story() -> None:
        backend = await open_backend(fresh(own_server.url))
        await backend.discussions.put("x", DATA)
        own_server.kill()
        call = asyncio.ensure_future(calls(backend)[number]())
        await asyncio.to_thread(own_server.start)
        await call
        await backend.discussions.put("afterwards", DATA)
        assert (await backend.discussions.head("afterwards")).size == len(DATA)
        await backend.close()

    run(asyncio.wait_for(story(), SECONDS))


def test_a_server_that_is_gone_is_an_error_and_the_store_works_again_when_it_is_back(own_server: NatsServer) -> None:
    async def story() -> None:
        backend = await open_backend(fresh(own_server.url, request_seconds=1))
        await backend.discussions.put("x", DATA)
        own_server.stop()
        for call in (lambda: backend.discussions.head("x"), lambda: backend.discussions.put("y", b"1")):
            with pytest.raises(StoreUnavailable) as caught:
                await call()
            assert str(caught.value).count("Is the server up") == 1, caught.value
        own_server.start()
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                assert (await backend.discussions.head("x")).size == len(DATA)
                break
            except StoreUnavailable:
                assert time.monotonic() < deadline
        assert await read(backend.discussions, "x") == DATA
        await backend.close()

    run(asyncio.wait_for(story(), SECONDS))


def test_a_chunk_that_overtook_its_predecessor_is_put_back_in_order(area: NatsArea) -> None:
    """What a change of leader can do: a chunk is lost while the next one is stored."""

    async def story() -> None:
        chunks = [bytes([number]) * CHUNK for number in range(6)]
        original, lost = Lane.send_all, []

        def send_all_but_one(self: Lane, messages: Sequence[Message]) -> None:
            kept = [message for message in messages if lost or not message[3].endswith(b".2\r\n")]
            lost.extend(message[3] for message in messages if message not in kept)
            original(self, kept)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Lane, "send_all", send_all_but_one)
            patch.setattr(_nats_patience, "STALL_SECONDS", 0.3)
            await area.put("x", b"".join(chunks))
        assert len(lost) == 1
        assert await read(area, "x") == b"".join(chunks)

    run(asyncio.wait_for(story(), SECONDS))


def test_fifty_writers_of_one_key_have_one_winner(area: NatsArea) -> None:
    async def story() -> None:
        async def attempt(number: int) -> bool:
            try:
                await area.put("contested", bytes([number]) * 200_000, create_only=True)
            except AlreadyExists:
                return False
            return True

        won = await asyncio.gather(*(attempt(number) for number in range(50)))
        assert won.count(True) == 1
        assert await read(area, "contested") == bytes([won.index(True)]) * 200_000
        assert await messages(area) == 3

    run(asyncio.wait_for(story(), SECONDS))


def test_many_writers_over_one_key_leave_one_object_and_no_chunks_of_others(area: NatsArea) -> None:
    async def story() -> None:
        await asyncio.gather(*(area.put("contested", bytes([number]) * 200_000) for number in range(20)))
        data = await read(area, "contested")
        assert data == data[:1] * 200_000
        assert await messages(area) == 3

    run(asyncio.wait_for(story(), SECONDS))


def test_deleting_and_writing_at_once_never_leaves_half_an_object(area: NatsArea) -> None:
    async def story() -> None:
        for turn in range(10):
            await area.put("x", bytes([turn]) * 300_000)
            await asyncio.gather(area.delete("x"), area.put("x", bytes([turn + 100]) * 300_000), area.delete("x"))
            if await keys(area):
                assert await read(area, "x") == bytes([turn + 100]) * 300_000
                assert await messages(area) == 4
            else:
                assert await messages(area) == 1

    run(asyncio.wait_for(story(), SECONDS))


def test_readers_side_by_side_get_their_own_bytes(backend: NatsBackend) -> None:
    area = backend.discussions
    parts = {f"k{number}": random.Random(number).randbytes(2 * MIB + number) for number in range(12)}

    async def story() -> None:
        await asyncio.gather(*(area.put(key, data) for key, data in parts.items()))
        found = await asyncio.gather(*(read(area, key) for key in parts for _ in range(3)))
        assert found == [data for data in parts.values() for _ in range(3)]
        assert len(backend._lanes._idle) <= 4

    run(asyncio.wait_for(story(), SECONDS))


def test_a_damaged_meta_document_hides_no_other_object_and_can_be_deleted(area: NatsArea) -> None:
    async def story() -> None:
        from kmnb.storage.backends._nats_layout import meta_subject

        await area.put("a", b"1")
        await publish(area, meta_subject(area.bucket.name, "b"), b"{broken")
        await area.put("c", b"3")
        assert [(info.key, info.size) async for info in area.list()] == [("a", 1), ("b", None), ("c", 1)]
        with pytest.raises(StoreError, match="no meta document"):
            await area.head("b")
        await area.delete("b")
        assert await keys(area) == ["a", "c"]

    run(asyncio.wait_for(story(), SECONDS))
