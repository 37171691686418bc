"""The bus on NATS: what is sent arrives, what is stored can be read again, what is lost is said to be lost."""

from __future__ import annotations

import asyncio

import pytest

from kmnb._bridge import run
from kmnb.errors import StoreError
from kmnb.storage.backends import _nats_bus
from kmnb.storage.backends.nats import NatsBackend
from kmnb.testing._nats import NatsServer
from tests.storage.nats_places import SECONDS, jetstream


def test_the_streams_are_made_as_kubemoot_makes_them(backend: NatsBackend, server: NatsServer) -> None:
    async def story() -> None:
        await backend.bus.publish("kubemoot.discuss.ns.crew.general.t1", b"{}", stored=True)
        await backend.bus.publish("kmnb.events.saved", b"{}", stored=True)
        async with jetstream(server.url) as js:
            config = (await js.stream_info("KUBEMOOT_DISCUSS")).config
            assert (config.subjects, config.max_age, config.max_msgs) == (["kubemoot.discuss.>"], 86_400, 5_000)
            assert (config.retention, config.storage, config.discard, config.num_replicas) == (
                "limits",
                "file",
                "old",
                1,
            )
            assert (await js.stream_info("KMNB_EVENTS")).config.subjects == ["kmnb.events.>"]

    run(asyncio.wait_for(story(), SECONDS))


def test_no_stream_is_made_for_what_is_only_sent(backend: NatsBackend, server: NatsServer) -> None:
    async def story() -> None:
        async with jetstream(server.url) as js:
            before = {info.config.name for info in await js.streams_info()}
            await backend.bus.publish("kubemoot.artifacts.ns.crew.t", b"{}", stored=False)
            assert [message async for message in backend.bus.history("kubemoot.artifacts.>")] == []
            assert {info.config.name for info in await js.streams_info()} == before

    run(asyncio.wait_for(story(), SECONDS))


def test_a_message_that_no_stream_keeps_is_an_error_when_it_should_be_kept(backend: NatsBackend) -> None:
    with pytest.raises(StoreError, match="no stream keeps"):
        run(backend.bus.publish("nobody.listens", b"x", stored=True))


def test_a_stream_that_is_there_is_used_as_it_is(backend: NatsBackend, server: NatsServer) -> None:
    async def story() -> None:
        async with jetstream(server.url) as js:
            await js.add_stream(name="OTHERS", subjects=["others.*"], max_msgs=3, allow_direct=False)
            for number in range(5):
                await backend.bus.publish("others.a", b"%d" % number, stored=True)
            found = [message async for message in backend.bus.history("others.a")]
            assert [(message.data, message.sequence) for message in found] == [(b"2", 3), (b"3", 4), (b"4", 5)]
            assert (await js.stream_info("OTHERS")).config.max_msgs == 3

    run(asyncio.wait_for(story(), SECONDS))


def test_a_history_that_is_left_early_leaves_no_consumer(backend: NatsBackend, server: NatsServer) -> None:
    async def story() -> None:
        for number in range(10):
            await backend.bus.publish("kmnb.events.left", b"%d" % number, stored=True)
        walk = backend.bus.history("kmnb.events.left")
        assert (await anext(walk)).data == b"0"
        await walk.aclose()
        async with jetstream(server.url) as js:
            assert await js.consumers_info("KMNB_EVENTS") == []

    run(asyncio.wait_for(story(), SECONDS))


def test_a_follower_gets_what_is_sent_after_it_began(backend: NatsBackend) -> None:
    async def story() -> None:
        walk = backend.bus.subscribe("live.>")
        first = asyncio.ensure_future(anext(walk))
        await asyncio.sleep(0)
        for number in range(3):
            await backend.bus.publish(f"live.{number}", b"%d" % number, stored=False)
        found = [await first, await anext(walk), await anext(walk)]
        assert [(message.subject, message.data) for message in found] == [
            ("live.0", b"0"),
            ("live.1", b"1"),
            ("live.2", b"2"),
        ]
        await walk.aclose()

    run(asyncio.wait_for(story(), SECONDS))


def test_a_follower_goes_on_after_a_restart() -> None:
    own = NatsServer()

    async def story() -> None:
        from kmnb.storage import open_backend
        from tests.storage.nats_places import fresh

        backend, other = await open_backend(fresh(own.url)), None
        walk = backend.bus.subscribe("live.>")
        first = asyncio.ensure_future(anext(walk))
        await asyncio.sleep(0)
        await asyncio.to_thread(own.stop)
        await asyncio.to_thread(own.start)
        other = await open_backend(fresh(own.url))
        while not first.done():
            await other.bus.publish("live.x", b"again", stored=False)
            await asyncio.wait({first}, timeout=0.05)
        assert (await first).data == b"again"
        await walk.aclose()
        await backend.close()
        await other.close()

    try:
        run(asyncio.wait_for(story(), SECONDS))
    finally:
        own.close()


def test_a_follower_that_lags_too_far_behind_is_told(backend: NatsBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_nats_bus, "WAITING_MESSAGES", 10)

    async def story() -> None:
        walk = backend.bus.subscribe("flood")
        first = asyncio.ensure_future(anext(walk))
        await asyncio.sleep(0)
        for number in range(50):
            await backend.bus.publish("flood", b"%d" % number, stored=False)
        seen = [await first]

        async def drain() -> None:
            async for message in walk:
                seen.append(message)

        with pytest.raises(StoreError, match="messages were lost"):
            await drain()
        assert 10 <= len(seen) < 50

    run(asyncio.wait_for(story(), SECONDS))


def test_a_history_goes_on_when_the_server_drops_the_consumer(
    backend: NatsBackend, server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_nats_bus, "BATCH", 2)

    async def story() -> None:
        subject = "kubemoot.discuss.ns.crew.general.dropped"
        for number in range(7):
            await backend.bus.publish(subject, b"%d" % number, stored=True)
        found = []
        async with jetstream(server.url) as js:
            async for message in backend.bus.history(subject):
                found.append(message.data)
                if len(found) % 2 == 0:
                    for consumer in await js.consumers_info("KUBEMOOT_DISCUSS"):
                        await js.delete_consumer("KUBEMOOT_DISCUSS", consumer.name)
        assert found == [b"%d" % number for number in range(7)]

    run(asyncio.wait_for(story(), SECONDS))
