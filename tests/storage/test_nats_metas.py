"""Meta messages that describe no object of their subject: damaged, or copied under another name by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.errors import AlreadyExists, DigestMismatch, StoreError
from kmnb.storage.backends._nats_area import NatsArea
from kmnb.storage.backends._nats_layout import meta_subject
from tests.storage.nats_places import SECONDS, api, keys, publish, read

DATA = bytes(range(256)) * 2000
BROKEN = {
    "no JSON": b"{broken",
    "no text": b"\xff\xfe",
    "a list": b"[]",
    "a number": b"7",
    "nothing": b"",
    "no name": b'{"nuid": "x"}',
    "a name of another type": b'{"name": 7, "nuid": "x", "size": 1, "chunks": 1}',
    "a negative size": b'{"name": "b", "nuid": "x", "size": -1, "chunks": 1}',
    "a size as text": b'{"name": "b", "nuid": "x", "size": "1", "chunks": 1}',
    "a wildcard": b'{"name": "b", "nuid": ">", "size": 1, "chunks": 1}',
    "no chunks": b'{"name": "b", "size": 1, "chunks": 1}',
    "options of another type": b'{"name": "b", "nuid": "x", "options": 7}',
    "a broken link": b'{"name": "b", "nuid": "x", "options": {"link": {"bucket": 7}}}',
    "deep": b"[" * 100_000,
    "chunks of nothing": b'{"name": "b", "nuid": "x", "chunks": 1}',
    "bytes in no chunk": b'{"name": "b", "nuid": "x", "size": 1}',
    "more chunks than bytes": b'{"name": "b", "nuid": "x", "size": 2, "chunks": 3}',
    "bytes in too few chunks": b'{"name": "b", "nuid": "x", "size": 5, "chunks": 2, "options": {"max_chunk_size": 2}}',
    "even chunks, one too many": b'{"name": "b", "nuid": "x", "size": 5, "chunks": 3, "kmnb_even_chunks": true, '
    b'"options": {"max_chunk_size": 4}}',
}


def story(work: Callable[[], Awaitable[None]]) -> None:
    run(asyncio.wait_for(work(), SECONDS))


async def document_of(area: NatsArea, key: str) -> dict[str, Any]:
    stored = await area.bucket.last(meta_subject(area.bucket.name, key), thing="test")
    assert stored is not None
    return json.loads(stored.data)


async def copy(area: NatsArea, key: str, to: str, **changes: Any) -> None:
    """Publish an object's meta document under the subject of another name, as a hand would."""
    document = {**await document_of(area, key), **changes}
    await publish(area, meta_subject(area.bucket.name, to), json.dumps(document).encode())


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_document_is_told_with_the_way_out_and_replaced_by_a_put(area: NatsArea, kind: str) -> None:
    async def check() -> None:
        await area.put("a", b"1")
        await publish(area, meta_subject(area.bucket.name, "b"), BROKEN[kind])
        for ask in (area.head("b"), area.get_range("b", 0, 1), read(area, "b")):
            with pytest.raises(StoreError, match=r"artifact 'b': .*Put it again, or delete it"):
                await ask
        assert [(info.key, info.size) async for info in area.list()] == [("a", 1), ("b", None)]
        with pytest.raises(AlreadyExists):
            await area.put("b", DATA, create_only=True)
        await area.put("b", DATA)
        assert await read(area, "b") == DATA
        assert await read(area, "a") == b"1"
        await publish(area, meta_subject(area.bucket.name, "b"), BROKEN[kind])
        await area.delete("b")
        await area.put("b", b"2", create_only=True)
        assert await read(area, "b") == b"2"

    story(check)


def test_a_document_under_another_name_is_no_object_of_that_name(area: NatsArea) -> None:
    async def check() -> None:
        await area.put("z/one", DATA)
        await copy(area, "z/one", "a/copy")
        await copy(area, "z/one", "m")
        for key in ("a/copy", "m"):
            for ask in (area.head(key), area.get_range(key, 0, 5), read(area, key)):
                with pytest.raises(DigestMismatch, match="that of 'z/one'"):
                    await ask
        listed = [(info.key, info.size) async for info in area.list()]
        assert listed == [("a/copy", None), ("m", None), ("z/one", len(DATA))]
        assert await keys(area, "a") == ["a/copy"]
        assert await keys(area, "z") == ["z/one"]

    story(check)


@pytest.mark.parametrize("end", ["delete", "put"])
def test_what_ends_a_copied_document_spares_the_chunks_that_it_names(area: NatsArea, end: str) -> None:
    async def check() -> None:
        await area.put("one", DATA)
        await copy(area, "one", "copy")
        await (area.delete("copy") if end == "delete" else area.put("copy", b"new"))
        assert await read(area, "one") == DATA
        assert await keys(area) == (["one"] if end == "delete" else ["copy", "one"])

    story(check)


def test_a_mark_of_a_deletion_that_names_chunks_takes_none_away(area: NatsArea) -> None:
    async def check() -> None:
        await area.put("one", DATA)
        await copy(area, "one", "gone", deleted=True)
        await area.put("gone", b"again", create_only=True)
        await area.delete("gone")
        assert await read(area, "one") == DATA

    story(check)


def test_two_names_that_were_exchanged_by_hand_are_both_told(area: NatsArea) -> None:
    async def check() -> None:
        await area.put("one", b"1")
        await area.put("two", b"2")
        one, two = await document_of(area, "one"), await document_of(area, "two")
        await publish(area, meta_subject(area.bucket.name, "one"), json.dumps(two).encode())
        await publish(area, meta_subject(area.bucket.name, "two"), json.dumps(one).encode())
        for key in ("one", "two"):
            with pytest.raises(DigestMismatch):
                await area.head(key)
        state = (await api(area, "STREAM.INFO", {"subjects_filter": f"$O.{area.bucket.name}.C.>"}))["state"]
        assert len(state["subjects"]) == 2

    story(check)
