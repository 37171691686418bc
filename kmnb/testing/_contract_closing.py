"""Closing: a closed store does nothing any more, and says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from kmnb.errors import AlreadyExists, ArtifactNotFound, BadRequest, StoreError
from kmnb.storage import Store, open_backend, open_store
from kmnb.storage._protocols import Backend
from kmnb.testing._contract_base import MIB, ContractBase, content, within

Verb = Callable[[Backend], Awaitable[Any]]


class ClosingContract(ContractBase):
    """close, and the context managers that close."""

    def test_a_closed_store_refuses_every_verb(self, url: str) -> None:
        """Blocking or not, with a clear error, before a source is read; its address is still told."""
        store = open_store(url)
        store.put("x", b"1")
        store.close()
        asked: list[str] = []

        def source() -> Iterator[bytes]:
            asked.append("next")
            yield b"1"

        for call in (
            lambda: store.put("x", source()),
            lambda: store.put("y", b"1"),
            lambda: store.put("y", b"1", create_only=True),
            lambda: store.head("x"),
            lambda: store.get_range("x", 0, 1),
            lambda: list(store.stream("x")),
            lambda: list(store.list()),
            lambda: list(store.list("x")),
            lambda: store.delete("x"),
        ):
            assert_closed(call)
        assert asked == []
        assert store.url in repr(store)
        assert store.capabilities
        with open_store(url) as again:
            assert self._is_private(url) or [info.key for info in again.list()] == ["x"]

    def test_a_closed_store_refuses_every_async_verb(self, url: str) -> None:
        """The twins refuse as well, on any loop."""

        async def check() -> None:
            store = Store(await asyncio.wrap_future(_opened(url)))
            await store.put_async("x", b"1")
            await store.close_async()
            await store.close_async()
            for work in (
                store.put_async("x", b"1"),
                store.head_async("x"),
                store.get_range_async("x", 0, 1),
                store.delete_async("x"),
                _all(store.stream_async("x")),
                _all(store.list_async()),
            ):
                with pytest.raises(StoreError, match="it was closed"):
                    await work

        asyncio.run(check())

    def test_a_closed_backend_refuses_everything_else(self, url: str) -> None:
        """The second area, the records, the bus, the clock, the facts and the sweep of leftovers are closed with it."""
        backend = within(30, lambda: open_backend(url))
        revision = within(30, lambda: backend.records.put("r", b"1", expected=None))
        info = within(30, lambda: backend.named.put("n", content(9 * MIB)))
        within(30, backend.close)
        verbs: list[Verb] = [
            lambda it: it.named.put("n", b"1"),
            lambda it: it.named.head("n"),
            lambda it: it.named.get_range("n", 0, 1, info=info),
            lambda it: _all(it.named.stream("n", info=info)),
            lambda it: _all(it.named.list("n")),
            lambda it: it.named.delete("n"),
            lambda it: it.records.get("r"),
            lambda it: it.records.put("r", b"2", expected=revision),
            lambda it: it.records.delete("r"),
            lambda it: _all(it.records.list()),
            lambda it: it.now(),
            lambda it: it.describe(),
            lambda it: it.collect(),
            lambda it: it.collect(dry_run=True),
        ]
        if backend.bus is not None:
            verbs += [
                lambda it: it.bus.publish("kmnb.events.x", b"1", stored=True),  # type: ignore[union-attr]
                lambda it: it.bus.publish("kmnb.events.x", b"1", stored=False),  # type: ignore[union-attr]
                lambda it: _all(it.bus.history("kmnb.events.x")),  # type: ignore[union-attr]
                lambda it: _all(it.bus.subscribe("kmnb.events.x")),  # type: ignore[union-attr]
            ]
        for verb in verbs:
            assert_closed(lambda verb=verb: within(10, lambda: verb(backend)))  # type: ignore[misc]

    def test_closing_twice_is_harmless_and_leaving_closes(self, url: str) -> None:
        """So is leaving a store that was closed inside, also after an error; each leaves it closed."""
        with open_store(url) as store:
            store.put("x", b"1")
            store.close()
        store.close()
        assert_closed(lambda: store.head("x"))
        with pytest.raises(ZeroDivisionError), open_store(url) as other:
            raise ZeroDivisionError
        assert_closed(lambda: other.head("x"))

        async def leave() -> Store:
            async with Store(await asyncio.wrap_future(_opened(url))) as store:
                await store.put_async("x", b"1")
                await store.close_async()
            return store

        left = asyncio.run(leave())
        assert_closed(lambda: left.head("x"))

    def test_closing_one_store_leaves_others_of_the_same_place(self, url: str) -> None:
        """Each opened store has a life of its own."""
        with open_store(url) as one, open_store(url) as other:
            one.put("x", b"1")
            one.close()
            other.put("y", b"2")
            assert b"".join(other.stream("y")) == b"2"

    def test_what_is_under_way_when_a_store_is_closed_ends(self, url: str) -> None:
        """It goes on to its end or is told; it never waits for ever, and gives no wrong bytes."""
        data = content(20 * MIB)
        store = open_store(url)
        store.put("x", data)
        stream = store.stream("x")
        found = [next(stream)]

        async def close_beside() -> BaseException | None:
            reached, go = asyncio.Event(), asyncio.Event()

            async def source() -> AsyncIterator[bytes]:
                yield content(MIB)
                reached.set()
                await go.wait()
                yield content(MIB)

            put = asyncio.ensure_future(store._backend.discussions.put("y", source()))
            await reached.wait()
            await store._backend.close()
            go.set()
            await asyncio.wait({put}, timeout=20)
            assert put.done()
            return put.exception()

        assert isinstance(within(60, close_beside), StoreError | None)
        try:
            found += stream
        except StoreError:
            return
        assert b"".join(found) == data

    @staticmethod
    def _is_private(url: str) -> bool:
        return url == "memory://"


def assert_closed(call: Callable[[], Any]) -> None:
    """Make sure that a call says that the store was closed."""
    with pytest.raises(StoreError, match="it was closed") as caught:
        call()
    assert caught.value.facts["closed"]
    assert not isinstance(caught.value, ArtifactNotFound | AlreadyExists | BadRequest)


def _opened(url: str) -> Any:
    from kmnb._bridge import start

    return start(open_backend(url))


async def _all(walk: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in walk]
