"""Bad input and bad places: each a clear, typed error, at once, and the store goes on working."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

import kmnb
from kmnb._bridge import run
from kmnb.errors import BadRequest, KmnbError, NotSupported, StoreError, StoreUnavailable, UnknownPlugin
from kmnb.storage import open_backend
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends._nats_address import read_address
from kmnb.storage.backends._nats_area import NatsArea
from kmnb.storage.backends.nats import NatsBackend
from kmnb.testing._nats import NatsServer
from tests.storage.nats_places import CHUNK, MIB, fresh, jetstream, keys, messages, publish, read


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("nats://", "names no host"),
        ("nats:///bucket", "names no host"),
        ("nats://host:port", "no host and port"),
        ("nats://host:99999", "no host and port"),
        ("nats://host,,other", "no host and port"),
        ("nats://host/a.b", "letters, digits"),
        ("nats://host/a/b", "letters, digits"),
        ("nats://host/a%20b", "letters, digits"),
        ("nats://host/>", "letters, digits"),
        ("nats://host?bucket=*", "letters, digits"),
        ("nats://host?buckets=a", "does not have it"),
        ("nats://host?replicas=0", "number from 1 to 5"),
        ("nats://host?replicas=nan", "number from 1 to 5"),
        ("nats://host?request_seconds=x", "number from"),
        ("nats://host?named_bucket=a.b", "letters, digits"),
    ],
)
def test_a_url_with_a_mistake_says_what_it_is(url: str, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        read_address(url, {})


@pytest.mark.parametrize(
    ("url", "servers", "bucket"),
    [
        ("nats://host", ("nats://host:4222",), "kubemoot_discussion_artifacts"),
        ("nats://host:5/B-1_x", ("nats://host:5",), "B-1_x"),
        ("nats://a,b:7/x", ("nats://a:4222", "nats://b:7"), "x"),
        ("nats://[::1]:8/x", ("nats://[::1]:8",), "x"),
        ("nats://me:pw@host/x", ("nats://host:4222",), "x"),
        ("nats://host?bucket=y", ("nats://host:4222",), "y"),
        ("tls://host", ("nats://host:4222",), "kubemoot_discussion_artifacts"),
    ],
)
def test_a_url_names_servers_and_bucket(url: str, servers: tuple[str, ...], bucket: str) -> None:
    address = read_address(url, {})
    assert (address.servers, address.bucket, address.named_bucket) == (servers, bucket, "kmnb_named_artifacts")


def test_a_scheme_with_a_typo_lists_what_there_is(server: NatsServer) -> None:
    for scheme in ("natz", "nats+x"):
        with pytest.raises(UnknownPlugin, match="nats"):
            run(open_backend(f"{scheme}://host"))


@pytest.fixture
def silent() -> Iterator[str]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"nats://127.0.0.1:{listener.getsockname()[1]}"


def test_a_place_that_takes_connections_and_says_nothing_is_left_in_time(silent: str) -> None:
    begin = time.monotonic()
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:\d+ did not answer in time"):
        run(open_backend(f"{silent}?connect_seconds=0.5"))
    assert time.monotonic() - begin < 10


def test_one_of_several_servers_is_enough(server: NatsServer) -> None:
    url = fresh(server.url).replace("nats://", "nats://127.0.0.1:1,")
    backend = run(open_backend(url))
    run(backend.discussions.put("x", b"1"))
    assert run(keys(backend.discussions)) == ["x"]
    run(backend.close())


def test_a_server_without_jetstream_is_said_to_have_none() -> None:
    server = NatsServer(jetstream=False)
    try:
        begin = time.monotonic()
        with pytest.raises(StoreUnavailable, match="JetStream"):
            run(open_backend(fresh(server.url)))
        assert time.monotonic() - begin < 10
    finally:
        server.close()


def test_a_stream_that_is_no_object_store_is_not_touched(server: NatsServer) -> None:
    async def story() -> None:
        async with jetstream(server.url) as js:
            await js.add_stream(name="OBJ_orders", subjects=["orders.>"])
            with pytest.raises(NotSupported, match="no object store"):
                await open_backend(fresh(server.url, bucket="orders"))
            assert (await js.stream_info("OBJ_orders")).config.subjects == ["orders.>"]

    run(story())


def test_replicas_that_one_server_cannot_keep_are_an_error(server: NatsServer) -> None:
    with pytest.raises(KmnbError, match="replicas"):
        run(open_backend(fresh(server.url, replicas=3)))


def test_a_domain_is_reached_through_its_own_subjects() -> None:
    server = NatsServer()
    try:
        server.stop()
        server._jetstream, store = False, server.folder / "data"
        server._config = f'jetstream {{ store_dir: "{store}", domain: hub }}'
        server.start()

        async def story() -> None:
            backend = await open_backend(fresh(server.url, domain="hub"))
            await backend.discussions.put("x", bytes(9 * MIB))
            assert await read(backend.discussions, "x") == bytes(9 * MIB)
            assert await backend.discussions.get_range("x", 5, 6) == b"\0"
            assert await keys(backend.discussions) == ["x"]
            await backend.bus.publish("kmnb.events.x", b"1", stored=True)
            assert [message.data async for message in backend.bus.history("kmnb.events.x")] == [b"1"]
            await backend.close()
            with pytest.raises(StoreUnavailable):
                await open_backend(fresh(server.url, domain="other"))

        run(asyncio.wait_for(story(), 20))
    finally:
        server.close()


def test_a_full_bucket_says_so_and_keeps_what_it_has(server: NatsServer) -> None:
    url = fresh(server.url)
    bucket = url.rpartition("/")[2].partition("?")[0]

    async def story() -> None:
        async with jetstream(server.url) as js:
            await js.add_stream(
                name=f"OBJ_{bucket}",
                subjects=[f"$O.{bucket}.C.>", f"$O.{bucket}.M.>"],
                allow_rollup_hdrs=True,
                allow_direct=True,
                discard="new",
                max_bytes=2 * MIB,
            )
        backend = await open_backend(url)
        area = backend.discussions
        await area.put("kept", bytes(MIB))
        before = await messages(area)
        for data in (bytes(5 * MIB), bytes(MIB)):
            with pytest.raises(StoreError, match="the store is full") as caught:
                await area.put("big", data)
            assert caught.value.full
        assert await messages(area) == before
        assert await read(area, "kept") == bytes(MIB)
        await area.put("small", b"1")
        assert await keys(area) == ["kept", "small"]
        # Not even the mark of a deletion fits any more.
        for size in (100_000, 1000, 1):
            while await publish(area, f"$O.{bucket}.C.filler", bytes(size)):
                pass
        filled = await messages(area)
        await area.delete("kept")
        assert await keys(area) == ["small"]
        assert await messages(area) == filled - MIB // CHUNK - 1
        await area.put("kept", b"2", create_only=True)
        assert await read(area, "kept") == b"2"
        await backend.close()

    run(story())


def test_a_server_without_room_says_so_and_keeps_what_it_has() -> None:
    server = NatsServer()
    server.stop()
    server._jetstream = False
    server._config = f'jetstream {{ store_dir: "{server.folder / "data"}", max_file_store: 8MB }}'
    server.start()

    async def story() -> None:
        backend = await open_backend(fresh(server.url))
        area = backend.discussions
        await area.put("kept", bytes(MIB))
        with pytest.raises(StoreError, match="the store is full"):
            await area.put("big", bytes(12 * MIB))
        await area.put("small", bytes(MIB))
        assert await keys(area) == ["kept", "small"]
        assert await read(area, "kept") == bytes(MIB)
        await backend.close()

    try:
        run(asyncio.wait_for(story(), 20))
    finally:
        server.close()


def test_a_small_max_payload_of_the_server_is_respected_or_named() -> None:
    server = NatsServer("max_payload: 64KB")

    async def story() -> None:
        backend = await open_backend(fresh(server.url))
        area = backend.discussions
        data = bytes(range(256)) * 2000
        await area.put("x", data)
        assert await read(area, "x") == data
        assert await area.get_range("x", 100_000, 100_010) == data[100_000:100_010]
        with pytest.raises(StoreError):
            await area.put("y", b"1", attributes={"preview": "x" * 100_000})
        assert await keys(area) == ["x"]
        await backend.close()

    try:
        run(asyncio.wait_for(story(), 20))
    finally:
        server.close()


@pytest.mark.parametrize("bucket", ["discussions", "records"])
def test_a_bucket_that_somebody_removed_is_named(server: NatsServer, bucket: str) -> None:
    async def story() -> None:
        backend = await open_backend(fresh(server.url, request_seconds=3))
        stream = {
            "discussions": f"OBJ_{backend.discussions.bucket.name}",
            "records": f"KV_{backend._address.records_bucket}",
        }
        await backend.discussions.put("x", bytes(3 * CHUNK))
        async with jetstream(server.url) as js:
            await js.delete_stream(stream[bucket])
        calls: dict[str, list[Any]] = {
            "discussions": [
                lambda: backend.discussions.head("x"),
                lambda: backend.discussions.put("y", b"1"),
                lambda: backend.discussions.delete("x"),
                lambda: keys(backend.discussions),
                lambda: read(backend.discussions, "x"),
            ],
            "records": [
                lambda: backend.records.get("x"),
                lambda: backend.records.put("x", b"", expected=None),
                lambda: backend.records.delete("x"),
            ],
        }
        for call in calls[bucket]:
            begin = time.monotonic()
            with pytest.raises(StoreUnavailable):
                await call()
            assert time.monotonic() - begin < 10
        await backend.named.put("z", b"1")
        await backend.close()

    run(asyncio.wait_for(story(), 60))


def test_a_store_tells_its_address_to_other_clients(backend: NatsBackend, server: NatsServer) -> None:
    store = kmnb.open_store(fresh(server.url))
    assert store.server_url == server.url
    assert store.url.startswith(f"{server.url}/discussions")
    store.put("a", b"1")
    assert b"".join(store.stream("a")) == b"1"
    store.close()
    store.close()


def test_two_stores_on_one_server_see_each_other(server: NatsServer) -> None:
    url = fresh(server.url)
    one, two = run(open_backend(url)), run(open_backend(url))
    run(one.discussions.put("a", b"1"))
    assert run(read(two.discussions, "a")) == b"1"
    run(two.close())
    assert run(keys(one.discussions)) == ["a"]
    run(one.close())


@pytest.mark.parametrize(
    "text",
    [
        "nats://me:secret@host failed",
        "auth_token: secret is wrong",
        '{"pass":"secret"}',
        "password=secret",
        "jwt = secret",
        "SEED: secret",
        "sig secret",
    ],
)
def test_foreign_messages_lose_their_secrets(text: str) -> None:
    assert "secret" not in failures.no_secrets(text)


def test_long_foreign_messages_are_cut() -> None:
    assert len(failures.no_secrets("x" * 100_000)) <= 600


def test_a_closed_store_can_be_closed_again(area: NatsArea, backend: NatsBackend) -> None:
    run(area.put("x", b"1"))
    run(backend.close())
    run(backend.close())
    assert backend._link._client is None
    assert backend._lanes._idle == []
