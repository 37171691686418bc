"""Objects of other clients are read correctly, and they read ours: nats-py and the Rust client, both ways."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import io
import json
import random
from collections.abc import AsyncIterator

import natsrpy
import pytest
from nats.js import api as nats_api
from nats.js.errors import ObjectNotFoundError
from natsrpy.js import ObjectStore

from kmnb._bridge import run
from kmnb.errors import ArtifactNotFound, DigestMismatch, NotSupported, StoreError
from kmnb.storage import open_backend
from kmnb.storage.backends._nats_area import NatsArea
from kmnb.storage.backends._nats_layout import Place, meta_subject
from kmnb.storage.backends.nats import NatsBackend
from kmnb.testing._nats import NatsServer
from tests.storage.nats_places import (
    CHUNK,
    MIB,
    chunk_places,
    fresh,
    jetstream,
    keys,
    publish,
    read,
)

NAMES = ["a/b", "with space", "ümläut/日本.json", "a%20b", "x:y", "e\u0301.csv", "😀", "n" * 1000, "a..b", ".hidden"]
CHUNK_SIZES = [1, 7, 1000, CHUNK, MIB - 4096]


def some_bytes(size: int) -> bytes:
    return random.Random(size).randbytes(size)


class Sink:
    def __init__(self) -> None:
        self.data = bytearray()

    def write(self, data: bytes) -> int:
        self.data += data
        return len(data)


@contextlib.asynccontextmanager
async def rust(url: str, bucket: str) -> AsyncIterator[ObjectStore]:
    client = natsrpy.Nats([url])
    await client.startup()
    try:
        yield await (await client.jetstream()).object_store.get(bucket)
    finally:
        await client.shutdown()


@pytest.mark.parametrize("chunk", CHUNK_SIZES)
def test_objects_of_nats_py_with_any_chunk_size_are_read(server: NatsServer, area: NatsArea, chunk: int) -> None:
    data = some_bytes(min(2 * MIB + 5, chunk * 1500 + 3))

    async def story() -> None:
        async with jetstream(server.url) as js:
            store = await js.object_store(area.bucket.name)
            options = nats_api.ObjectMetaOptions(max_chunk_size=chunk)
            await store.put("x", io.BytesIO(data), meta=nats_api.ObjectMeta(options=options, description="theirs"))
        info = await area.head("x")
        assert (info.size, info.digest) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")
        assert await read(area, "x") == data
        for start, end in [(0, 1), (len(data) // 2, len(data) // 2 + 4096), (len(data) - 9, len(data)), (0, len(data))]:
            assert await area.get_range("x", start, end) == data[start:end]

    run(story())


@pytest.mark.parametrize("chunk", [1000, CHUNK])
def test_objects_of_the_rust_client_are_read(server: NatsServer, area: NatsArea, chunk: int) -> None:
    data = some_bytes(min(2 * MIB + 5, chunk * 1500 + 3))

    async def story() -> None:
        async with rust(server.url, area.bucket.name) as store:
            await store.put("r", data, chunk_size=chunk, metadata={"a": "b"}, headers={"X": "y"}, description="rust")
            await store.put("empty", b"")
        info = await area.head("r")
        assert (info.size, info.attributes["a"]) == (len(data), "b")
        assert await read(area, "r") == data
        assert await area.get_range("r", len(data) - 5000, len(data) - 1) == data[-5000:-1]
        assert await read(area, "empty") == b""
        assert await keys(area) == ["empty", "r"]

    run(story())


@pytest.mark.parametrize("size", [0, 1, CHUNK, CHUNK + 1, 3 * MIB + 7])
def test_our_objects_are_read_by_nats_py_and_the_rust_client(server: NatsServer, area: NatsArea, size: int) -> None:
    data = some_bytes(size)

    async def story() -> None:
        await area.put("ours", data, attributes={"content-type": "text/plain", "preview": "ü\n…"})
        async with jetstream(server.url) as js:
            store = await js.object_store(area.bucket.name)
            assert (await store.get("ours")).data == data
            info = await store.get_info("ours")
            assert (info.size, info.chunks, info.deleted) == (size, -(-size // CHUNK), False)
            assert info.digest == "SHA-256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()
        async with rust(server.url, area.bucket.name) as store:
            sink = Sink()
            await store.get("ours", sink)
            assert bytes(sink.data) == data
            theirs = await store.get_info("ours")
            assert theirs.metadata == {"content-type": "text/plain", "preview": "ü\n…"}
            assert (theirs.size, theirs.max_chunk_size) == (size, CHUNK)

    run(story())


def test_our_meta_documents_keep_the_rules_of_the_go_client(area: NatsArea) -> None:
    """Recorded facts of nats.go: names and types of the fields, RFC 3339 time, padded base64url digest, one roll-up."""
    run(area.put("go", b"x" * 200_000, attributes={"a": "b"}))
    run(area.put("go", b"y" * 200_000, attributes={"a": "b"}))
    stored = run(area.bucket.last(meta_subject(area.bucket.name, "go"), thing="test"))
    document = json.loads(stored.data)
    assert document["name"] == "go"
    assert document["bucket"] == area.bucket.name
    assert len(document["nuid"]) == 22
    assert document["nuid"].isalnum()
    assert (document["size"], document["chunks"]) == (200_000, 2)
    assert document["options"] == {"max_chunk_size": CHUNK}
    assert document["metadata"] == {"a": "b"}
    assert document["digest"].startswith("SHA-256=")
    assert len(document["digest"]) == 8 + 44
    assert document["mtime"].endswith("Z")
    subject, places = run(chunk_places(area, "go"))
    assert subject == f"$O.{area.bucket.name}.C.{document['nuid']}"
    assert len(places) == 2
    state = run(area.bucket.api("STREAM.INFO", {"subjects_filter": "$O.>"}, thing="test"))["state"]
    assert state["subjects"] == {stored.subject: 1, subject: 2}


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:12])
def test_names_go_both_ways(server: NatsServer, area: NatsArea, name: str) -> None:
    async def story() -> None:
        await area.put(name, b"ours")
        async with jetstream(server.url) as js:
            store = await js.object_store(area.bucket.name)
            assert (await store.get(name)).data == b"ours"
            await store.put(name, b"theirs")
        assert await read(area, name) == b"theirs"
        assert await keys(area) == [name]
        async with rust(server.url, area.bucket.name) as store:
            sink = Sink()
            await store.get(name, sink)
            assert bytes(sink.data) == b"theirs"
        await area.delete(name)
        assert await keys(area) == []

    run(story())


def test_a_deletion_is_understood_on_every_side(server: NatsServer, area: NatsArea) -> None:
    async def story() -> None:
        for key in ("ours", "theirs", "rust"):
            await area.put(key, some_bytes(300_000))
        await area.delete("ours")
        async with jetstream(server.url) as js:
            store = await js.object_store(area.bucket.name)
            with pytest.raises(ObjectNotFoundError):
                await store.get("ours")
            assert (await store.get_info("ours", show_deleted=True)).deleted
        async with rust(server.url, area.bucket.name) as store:
            assert (await store.get_info("ours")).deleted
            await store.delete("rust")
            assert [info.name async for info in await store.list()] == ["theirs"]
        # Last, since the Rust client cannot read the empty time in a marker of nats-py.
        async with jetstream(server.url) as js:
            await (await js.object_store(area.bucket.name)).delete("theirs")
        assert await keys(area) == []
        for key in ("ours", "theirs", "rust"):
            with pytest.raises(ArtifactNotFound, match="deleted"):
                await area.head(key)
            await area.put(key, b"again", create_only=True)
        assert await keys(area) == ["ours", "rust", "theirs"]

    run(story())


def test_overwriting_leaves_no_chunks_of_either_side(server: NatsServer, area: NatsArea) -> None:
    async def story() -> None:
        async with jetstream(server.url) as js:
            store = await js.object_store(area.bucket.name)
            await store.put("x", some_bytes(400_000))
            await area.put("x", some_bytes(300_000))
            await store.put("x", some_bytes(200_000))
            await area.put("x", b"1")
        state = await area.bucket.api("STREAM.INFO", {"subjects_filter": "$O.>"}, thing="test")
        assert sorted(state["state"]["subjects"].values()) == [1, 1]

    run(story())


def test_links_lead_to_their_target(server: NatsServer, backend: NatsBackend) -> None:
    area, other = backend.discussions, backend.named
    data = some_bytes(300_000)

    async def story() -> None:
        await other.put("far", data)
        await area.put("near", b"near")
        async with rust(server.url, area.bucket.name) as store:
            await store.link_object("near", "to-near")
        async with jetstream(server.url) as js:
            for name, link in {
                "to-far": {"bucket": other.bucket.name, "name": "far"},
                "to-link": {"bucket": area.bucket.name, "name": "to-far"},
                "to-bucket": {"bucket": other.bucket.name},
                "to-nothing": {"bucket": area.bucket.name, "name": "nothing"},
                "to-no-bucket": {"bucket": "nowhere", "name": "x"},
                "to-itself": {"bucket": area.bucket.name, "name": "to-itself"},
                "to-odd-bucket": {"bucket": "a.>", "name": "x"},
            }.items():
                document = {"name": name, "bucket": area.bucket.name, "nuid": "N", "options": {"link": link}}
                await js.publish(meta_subject(area.bucket.name, name), json.dumps(document).encode())
        assert await read(area, "to-near") == b"near"
        assert await read(area, "to-far") == await read(area, "to-link") == data
        assert await area.get_range("to-far", 200_000, 200_010) == data[200_000:200_010]
        info = await area.head("to-far")
        assert (info.key, info.size) == ("to-far", len(data))
        listed = {item.key: item.size async for item in area.list()}
        assert (listed["to-far"], listed["to-near"], listed["to-bucket"]) == (len(data), 4, None)
        for name, kind in {
            "to-bucket": NotSupported,
            "to-nothing": ArtifactNotFound,
            "to-no-bucket": ArtifactNotFound,
            "to-itself": StoreError,
            "to-odd-bucket": StoreError,
        }.items():
            with pytest.raises(kind):
                await area.head(name)
        await area.delete("to-far")
        assert await read(other, "far") == data

    run(story())


def test_uneven_chunks_of_another_writer_are_measured_once(server: NatsServer, area: NatsArea) -> None:
    data = some_bytes(3 * MIB)

    class Trickle:
        """A reader that gives as much as it likes, as pipes do."""

        place = 0

        def readinto(self, buffer: bytearray) -> int:
            size = min(random.Random(self.place).randrange(1, len(buffer)), len(data) - self.place)
            buffer[:size] = data[self.place : self.place + size]
            self.place += size
            return size

    async def story() -> None:
        async with jetstream(server.url) as js:
            await (await js.object_store(area.bucket.name)).put("uneven", Trickle())
        for start in range(0, len(data), 97_003):
            assert await area.get_range("uneven", start, start + 5000) == data[start : start + 5000]
        assert await read(area, "uneven") == data

    run(story())


def test_uneven_chunks_that_are_as_many_as_even_ones_are_noticed(area: NatsArea) -> None:
    async def story() -> None:
        for size in (90, 100, 60):
            await publish(area, f"$O.{area.bucket.name}.C.N", bytes([size]) * size)
        document = {"name": "x", "nuid": "N", "size": 250, "chunks": 3, "options": {"max_chunk_size": 100}}
        await publish(area, meta_subject(area.bucket.name, "x"), json.dumps(document).encode())
        expected = bytes([90]) * 90 + bytes([100]) * 100 + bytes([60]) * 60
        assert await area.get_range("x", 85, 105) == expected[85:105]
        assert await read(area, "x") == expected

    run(story())


def test_a_meta_document_that_was_renewed_does_not_hide_the_chunks(server: NatsServer, area: NatsArea) -> None:
    """An update of the metadata moves the meta message away from the chunks."""
    data = some_bytes(2 * MIB)

    async def story() -> None:
        await area.put("x", data)
        await area.put("y", data)
        async with jetstream(server.url) as js:
            store = await js.object_store(area.bucket.name)
            await store.update_meta("x", nats_api.ObjectMeta(name="x", description="new"))
        assert await area.get_range("x", MIB, MIB + 50) == data[MIB : MIB + 50]
        assert await read(area, "x") == data

    run(story())


def test_chunks_between_those_of_others_are_found_with_few_requests(server: NatsServer, area: NatsArea) -> None:
    size = 8 * MIB

    async def story() -> None:
        await asyncio.gather(*(area.put(f"x{number}", some_bytes(size + number)) for number in range(3)))
        rng = random.Random(1)
        for number in range(3):
            info = await area.head(f"x{number}")
            data = some_bytes(size + number)
            for turn in range(8):
                start = rng.randrange(size - 4096)
                before = (area.bucket.link.requests, area.bucket.link.received_bytes)
                assert await area.get_range(info.key, start, start + 4096, info=info) == data[start : start + 4096]
                requests = area.bucket.link.requests - before[0]
                moved = area.bucket.link.received_bytes - before[1]
                assert requests <= 12, turn
                assert moved <= 3 * (CHUNK + 4096), turn
            assert await read(area, info.key) == data

    run(story())


def test_a_range_of_an_object_of_another_client_needs_few_requests(server: NatsServer, area: NatsArea) -> None:
    data = some_bytes(4 * MIB)

    async def story() -> None:
        async with jetstream(server.url) as js:
            await (await js.object_store(area.bucket.name)).put("x", io.BytesIO(data))
        before = (area.bucket.link.requests, area.bucket.link.received_bytes)
        assert await area.get_range("x", MIB + 100_000, MIB + 104_096) == data[MIB + 100_000 : MIB + 104_096]
        assert area.bucket.link.requests - before[0] <= 4
        assert area.bucket.link.received_bytes - before[1] <= 3 * (CHUNK + 4096)

    run(story())


def test_a_bucket_of_another_client_is_used_as_it_is(server: NatsServer) -> None:
    async def story() -> None:
        url = fresh(server.url, bucket="theirs")
        async with jetstream(server.url) as js:
            config = nats_api.ObjectStoreConfig(bucket="theirs", ttl=3600, max_bytes=50 * MIB, storage="memory")
            await js.create_object_store("theirs", config=config)
            before = (await js.stream_info("OBJ_theirs")).config
            backend = await open_backend(url)
            facts = await backend.describe()
            assert (await js.stream_info("OBJ_theirs")).config == before
        await backend.close()
        assert facts["ttl_seconds"] == 3600
        assert any("TTL of 1 h, not 48 h" in text for text in facts["warnings"])

    run(story())


def test_a_bucket_without_ttl_is_recognised(server: NatsServer) -> None:
    async def story() -> None:
        async with jetstream(server.url) as js:
            await js.create_object_store("forever")
        backend = await open_backend(fresh(server.url, bucket="forever"))
        facts = await backend.describe()
        await backend.close()
        assert facts["ttl_seconds"] is None
        assert any("no TTL" in text for text in facts["warnings"])
        assert "ttl" not in backend.capabilities

    run(story())


@pytest.mark.parametrize("declared", [20, None])
def test_a_chunk_larger_than_the_object_says_is_refused(area: NatsArea, declared: int | None) -> None:
    async def story() -> None:
        await publish(area, f"$O.{area.bucket.name}.C.N", bytes(100))
        document = {"name": "x", "nuid": "N", "size": 20, "chunks": 1, "options": {"max_chunk_size": declared}}
        await publish(area, meta_subject(area.bucket.name, "x"), json.dumps(document).encode())
        with pytest.raises(DigestMismatch, match="'x'"):
            await read(area, "x")
        with pytest.raises(DigestMismatch, match="'x'"):
            await area.get_range("x", 0, 5)

    run(story())


def test_an_absurd_number_of_chunks_ends_in_an_error(area: NatsArea) -> None:
    async def story() -> None:
        await publish(area, f"$O.{area.bucket.name}.C.N", bytes(100))
        document = {
            "name": "x",
            "nuid": "N",
            "size": 1 << 60,
            "chunks": 1 << 50,
            "options": {"max_chunk_size": 1 << 10},
        }
        await publish(area, meta_subject(area.bucket.name, "x"), json.dumps(document).encode())
        info = await area.head("x")
        assert Place.of(info).may_be_even
        for reading in (read(area, "x"), area.get_range("x", 1 << 59, (1 << 59) + 5)):
            with pytest.raises(DigestMismatch, match="'x'"):
                await reading

    run(story())
