"""Many at once: threads, readers beside writers, cancelled calls."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kmnb._bridge import run
from kmnb.errors import AlreadyExists, ArtifactNotFound, DigestMismatch
from kmnb.storage import Store
from kmnb.storage._protocols import Backend
from kmnb.testing._contract_base import MIB, ContractBase, content, within

WRITERS = 50
"""Writers that race for one name."""
CANCEL_SECONDS = 0.5
"""How long a cancelled call may take to let go, with room for a busy machine; the budget is 0.2 s."""


class RaceContract(ContractBase):
    """Races within a process, and cancelling."""

    writers = WRITERS

    @pytest.mark.parametrize("size", [1000, 9 * MIB])
    def test_one_of_many_threads_creates_a_name(self, store: Store, size: int) -> None:
        """Exactly one thread wins, and what is there is what it wrote."""
        writers = self.writers if size < MIB else 4
        start = threading.Barrier(writers)

        def race(number: int) -> bool:
            start.wait(60)
            return create(store, number, size=size)

        with ThreadPoolExecutor(writers) as pool:
            won = list(pool.map(race, range(writers)))
        assert won.count(True) == 1
        assert b"".join(store.stream("race")) == content(size, won.index(True))
        assert store.head("race").attributes == {"writer": str(won.index(True))}

    @pytest.mark.parametrize("before", [0, 100_000, 20 * MIB])
    def test_a_cancelled_put_leaves_nothing(self, store: Store, backend: Backend, before: int) -> None:
        """Cancelling lets go soon, nothing is listed or read, and the key is free."""

        async def check() -> float:
            reached = asyncio.Event()

            async def source() -> AsyncIterator[bytes]:
                for start in range(0, before, MIB):
                    yield content(min(MIB, before - start), start)
                reached.set()
                await asyncio.Event().wait()

            task = asyncio.ensure_future(backend.discussions.put("x", source()))
            await reached.wait()
            task.cancel()
            since = time.monotonic()
            await asyncio.wait({task}, timeout=20)
            assert task.cancelled()
            return time.monotonic() - since

        assert within(60, check) < CANCEL_SECONDS + before / (100 * MIB)
        assert list(store.list()) == []
        with pytest.raises(ArtifactNotFound):
            store.head("x")
        store.put("x", b"after")
        assert b"".join(store.stream("x")) == b"after"

    def test_a_put_whose_source_hangs_can_be_cancelled(self, store: Store, backend: Backend) -> None:
        """A blocking source that never ends does not hold up whoever gives up on it."""
        reached, never = threading.Event(), threading.Event()

        def source() -> Iterator[bytes]:
            yield content(MIB)
            reached.set()
            never.wait(60)

        async def check() -> float:
            task = asyncio.ensure_future(backend.discussions.put("x", source()))
            assert await asyncio.to_thread(reached.wait, 20)
            task.cancel()
            since = time.monotonic()
            await asyncio.wait({task}, timeout=20)
            assert task.cancelled()
            return time.monotonic() - since

        try:
            assert within(60, check) < CANCEL_SECONDS
        finally:
            never.set()
        assert list(store.list()) == []

    def test_a_stream_can_be_left_early(self, store: Store) -> None:
        """The store goes on working after a half read object."""
        store.put("x", content(20 * MIB))
        walk = iter(store.stream("x"))
        first = next(walk)
        walk.close()  # type: ignore[attr-defined]
        assert content(20 * MIB).startswith(first)
        assert store.get_range("x", 5, 10) == content(10)[5:]

    @pytest.mark.parametrize("size", [100_000, 9 * MIB])
    def test_a_reader_beside_writers_sees_one_version_whole(self, backend: Backend, size: int) -> None:
        """Each read gives one version, or tells that it was written again; never a mixture."""
        versions = [content(size, number) for number in range(3)]
        area = backend.discussions

        async def write() -> None:
            for turn in range(6):
                await area.put("x", versions[turn % 3], attributes={"version": str(turn % 3)})

        async def read(writer: asyncio.Future[None]) -> int:
            whole = 0
            while not writer.done():
                try:
                    info = await area.head("x")
                    data = b"".join([window async for window in area.stream("x", info=info)])
                except DigestMismatch:
                    continue  # written again between the two calls: told, not mixed up
                assert data == versions[int(info.attributes["version"])]
                whole += 1
            return whole

        async def check() -> None:
            await area.put("x", versions[0], attributes={"version": "0"})
            writer = asyncio.ensure_future(write())
            await asyncio.gather(read(writer), read(writer), writer)

        within(60, check)
        assert run(area.head("x")).attributes == {"version": "2"}

    @pytest.mark.parametrize("create_only", [False, True])
    def test_writing_never_fails_because_somebody_deletes(self, store: Store, *, create_only: bool) -> None:
        """A put beside deletions of the same key stores its object or tells that the key was taken, nothing else."""
        stop = threading.Event()

        def delete() -> None:
            while not stop.is_set():
                store.delete("a/b/x")

        def write(number: int) -> int:
            return sum(self._written(store, "a/b/x", number, create_only=create_only) for _ in range(10))

        with ThreadPoolExecutor(5) as pool:
            deleting = pool.submit(delete)
            try:
                written = sum(pool.map(write, range(4)))
            finally:
                stop.set()
            deleting.result(30)
        assert written >= 1
        store.put("a/b/x", b"after")
        assert b"".join(store.stream("a/b/x")) == b"after"

    @staticmethod
    def _written(store: Store, key: str, number: int, *, create_only: bool) -> bool:
        try:
            store.put(key, content(100, number), create_only=create_only)
        except AlreadyExists:
            return False
        return True

    def test_many_readers_at_once_get_their_ranges(self, store: Store) -> None:
        """Ranges of parallel readers do not get mixed up."""
        data = content(9 * MIB)
        store.put("x", data)

        def read(number: int) -> bool:
            start = number * 97_003
            return store.get_range("x", start, start + 50_000) == data[start : start + 50_000]

        with ThreadPoolExecutor(16) as pool:
            assert all(pool.map(read, range(64)))


def create(store: Store, number: int, *, size: int) -> bool:
    """Try to create ``race``; tells whether it worked."""
    try:
        store.put("race", content(size, number), create_only=True, attributes={"writer": str(number)})
    except AlreadyExists:
        return False
    return True
