"""Objects, records and bus on a real NATS server."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmnb._bridge import run
from kmnb.errors import (
    AlreadyExists,
    ArtifactNotFound,
    BadRequest,
    DigestMismatch,
    StoreError,
    StoreUnavailable,
    VersionConflict,
)
from kmnb.storage import open_backend
from kmnb.storage.backends._nats_lister import GROUP_FIRST
from kmnb.storage.backends.nats import NatsBackend
from kmnb.testing._nats import NatsServer
from tests.storage.nats_places import fresh, jetstream

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsBackend]:
    opened = run(open_backend(f"nats+embedded://{tmp_path_factory.mktemp('nats')}"))
    yield opened
    run(opened.close())


async def read(area: object, key: str) -> bytes:
    return b"".join([window async for window in area.stream(key)])


async def keys(area: object, prefix: str = "") -> list[str]:
    return [info.key async for info in area.list(prefix)]


def test_an_object_comes_back_as_it_was_put(backend: NatsBackend) -> None:
    data = random.Random(1).randbytes(5 * MIB + 17)
    area = backend.discussions
    info = run(area.put("ns/c/t/a/tool-0", data, attributes=lambda: {"content-type": "text/plain"}))
    assert info.digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert run(read(area, info.key)) == data
    assert run(area.head(info.key)) == info
    assert info.attributes == {"content-type": "text/plain"}


@pytest.mark.parametrize(("start", "end"), [(0, 1), (131_071, 131_073), (3 * MIB, 4 * MIB), (0, 9 * MIB), (9 * MIB, 9)])
def test_a_range_is_that_part_of_the_object(backend: NatsBackend, start: int, end: int) -> None:
    data = random.Random(2).randbytes(4 * MIB + 5)
    run(backend.discussions.put("range", data))
    if end < start:
        with pytest.raises(BadRequest):
            run(backend.discussions.get_range("range", start, end))
    else:
        assert run(backend.discussions.get_range("range", start, end)) == data[start:end]


def test_an_empty_object_is_an_object(backend: NatsBackend) -> None:
    info = run(backend.discussions.put("empty", b""))
    assert info.size == 0
    assert run(read(backend.discussions, "empty")) == b""


def test_a_prefix_matches_whole_segments(backend: NatsBackend) -> None:
    area = backend.named
    for key in ("p/t1/b", "p/t1/a", "p/t10/a", "p/t1"):
        run(area.put(key, b"x"))
    assert run(keys(area, "p/t1/")) == run(keys(area, "p/t1")) == ["p/t1", "p/t1/a", "p/t1/b"]


def test_what_was_deleted_is_neither_listed_nor_found(backend: NatsBackend) -> None:
    area = backend.named
    run(area.put("d/one", b"1"))
    run(area.delete("d/one"))
    run(area.delete("d/one"))
    assert run(keys(area, "d")) == []
    with pytest.raises(ArtifactNotFound, match="deleted"):
        run(area.head("d/one"))


def test_a_create_only_put_loses_against_an_object_and_wins_over_a_deletion(backend: NatsBackend) -> None:
    area = backend.named
    run(area.put("c/one", b"1", create_only=True))
    with pytest.raises(AlreadyExists):
        run(area.put("c/one", b"2", create_only=True))
    run(area.delete("c/one"))
    run(area.put("c/one", b"3", create_only=True))
    assert run(read(area, "c/one")) == b"3"


def test_a_put_that_fails_leaves_nothing(backend: NatsBackend) -> None:
    def broken() -> Iterator[bytes]:
        yield bytes(3 * MIB)
        raise RuntimeError("the producer died")

    area = backend.named
    before = run(area.bucket.api("STREAM.INFO", thing="test"))["state"]["messages"]
    with pytest.raises(RuntimeError, match="the producer died"):
        run(area.put("broken", broken()))
    assert run(area.bucket.api("STREAM.INFO", thing="test"))["state"]["messages"] == before
    with pytest.raises(ArtifactNotFound):
        run(area.head("broken"))


def test_subjects_of_others_are_no_records(backend: NatsBackend) -> None:
    """A listing gives nothing that its key does not lead to."""
    records = backend.records

    async def listed() -> list[str]:
        await records.put("a/=41", b"1", expected=None)
        for token in ("=41", "=FF", "a.=2E", "a.=2Fx", "a.=5C", "a.=00", "é"):
            await records._stream.store(f"{records._root}.{token}", b"x", thing="test")
        return [record.key async for record in records.list("")]

    assert run(listed()) == ["a/=41"]


def test_a_record_is_written_only_over_the_revision_that_was_read(backend: NatsBackend) -> None:
    records = backend.records
    first = run(records.put("a/b.c/ü", b"1", expected=None))
    second = run(records.put("a/b.c/ü", b"", expected=first))
    for stale in (None, first, "nonsense"):
        with pytest.raises(VersionConflict):
            run(records.put("a/b.c/ü", b"3", expected=stale))
    assert run(records.get("a/b.c/ü")).revision == second
    assert run(records.get("a/b.c/ü")).value == b""
    run(records.delete("a/b.c/ü"))
    with pytest.raises(ArtifactNotFound):
        run(records.get("a/b.c/ü"))
    run(records.put("a/b.c/ü", b"4", expected=None))


def test_the_history_of_a_subject_is_what_was_stored_there(backend: NatsBackend) -> None:
    async def story() -> list[bytes]:
        for number in range(600):
            await backend.bus.publish(f"kubemoot.discuss.ns.c.general.t{number % 2}", b"%d" % number, stored=True)
        return [message.data async for message in backend.bus.history("kubemoot.discuss.ns.c.*.t1")]

    assert run(story()) == [b"%d" % number for number in range(1, 600, 2)]


def test_a_listing_that_is_under_way_when_the_store_is_closed_says_so_at_once(server: NatsServer) -> None:
    backend = run(open_backend(fresh(server.url)))

    async def check() -> None:
        for number in range(GROUP_FIRST + 5):
            await backend.discussions.put(f"a/{number}", b"")
        listing = backend.discussions.list("a")
        await anext(listing)
        await backend.close()
        with pytest.raises(StoreError, match="it was closed") as caught:
            [info async for info in listing]
        assert caught.value.facts["closed"]

    run(check())


def test_an_unreachable_server_is_named_within_the_time_out_and_no_secret_is() -> None:
    begin = time.monotonic()
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1\b") as caught:
        run(open_backend("nats://someone:hunter2@127.0.0.1:1"))
    assert time.monotonic() - begin < 15
    assert "hunter2" not in str(caught.value)
    assert "someone" not in str(caught.value)


def test_a_folder_of_the_embedded_server_is_told_and_its_address_too(backend: NatsBackend, tmp_path: Path) -> None:
    facts = run(backend.describe())
    assert facts["ttl_seconds"] == 48 * 3600
    assert facts["buckets"]["kmnb_named_artifacts"]["ttl_seconds"] is None
    assert facts["warnings"] == []
    assert backend.server_url.startswith("nats://kmnb:")


def test_a_chunk_that_is_kept_costs_one_small_question(backend: NatsBackend) -> None:
    area, data = backend.discussions, random.Random(4).randbytes(3 * MIB)
    info, link = run(area.put("kept", data, attributes={"index": "x" * 40_000})), area.bucket.link
    assert run(area.get_range("kept", MIB, MIB + 4096, info=info)) == data[MIB : MIB + 4096]
    requests, received = link.requests, link.received_bytes
    assert run(area.get_range("kept", MIB + 9, MIB + 4105, info=info)) == data[MIB + 9 : MIB + 4105]
    assert link.requests - requests == 1
    assert link.received_bytes - received < 4096


def test_a_chunk_that_is_kept_is_not_handed_out_after_another_client_deleted_the_object(backend: NatsBackend) -> None:
    area, data = backend.discussions, random.Random(4).randbytes(3 * MIB)

    async def story() -> None:
        kept = await area.put("kept", data)
        again = await area.put("again", data)
        for info in (kept, again):
            assert await area.get_range(info.key, 5, 9, info=info) == data[5:9]
        async with jetstream(str(backend.server_url)) as js:
            bucket = await js.object_store(area.bucket.name)
            await bucket.delete("kept")
            await bucket.put("again", b"other")
        with pytest.raises(ArtifactNotFound, match="deleted"):
            await area.get_range("kept", 5, 9, info=kept)
        with pytest.raises(DigestMismatch, match="replaced"):
            await area.get_range("again", 5, 9, info=again)

    run(story())


def test_what_was_read_before_it_was_deleted_is_gone_for_every_reader(backend: NatsBackend) -> None:
    other = run(open_backend(str(backend.server_url)))
    try:
        info = run(backend.discussions.put("ns/c/gone/a/x-0", b"bytes" * 1000))
        for area in (backend.discussions, other.discussions):
            assert run(area.get_range(info.key, 0, 5, info=info)) == b"bytes"
        run(other.discussions.delete(info.key))
        for area in (backend.discussions, other.discussions):
            with pytest.raises(ArtifactNotFound):
                run(area.get_range(info.key, 0, 5, info=info))
    finally:
        run(other.close())
