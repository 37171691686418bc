"""Sources that wait take nothing from the store's own calls."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import kmnb
from kmnb.errors import BoundExceeded
from kmnb.storage import Store, _threads
from kmnb.storage._threads import MAX_THREADS

DATA = bytes(range(256)) * 512


@pytest.mark.parametrize("scheme", ["memory", "file"])
def test_a_store_answers_while_more_sources_wait_than_it_has_threads(scheme: str, tmp_path) -> None:
    go = threading.Event()

    def slow(number: int) -> Iterator[bytes]:
        yield b"a"
        assert go.wait(30)
        yield str(number).encode()

    url = "memory://" if scheme == "memory" else f"file://{tmp_path}/store"
    with kmnb.open_store(url) as store, ThreadPoolExecutor(MAX_THREADS + 8) as callers:
        puts = [callers.submit(store.put, f"b/{number}", slow(number)) for number in range(MAX_THREADS + 8)]
        try:
            store.put("x", b"1")
            assert store.get_range("x", 0, 1) == b"1"
        finally:
            go.set()
        for put in puts:
            put.result(30)
        assert len(list(store.list("b"))) == MAX_THREADS + 8


def test_streams_of_a_store_are_sources_of_many_puts_at_once(tmp_path) -> None:
    with kmnb.open_store("memory://") as store, ThreadPoolExecutor(60) as callers:
        store.put("a", DATA)
        puts = [callers.submit(store.put, f"b/{number}", store.stream("a")) for number in range(60)]
        for put in puts:
            put.result(30)
        assert {item.size for item in map(store.head, (f"b/{number}" for number in range(60)))} == {len(DATA)}


def kmnb_threads() -> int:
    return sum(thread.name == "kmnb-io" for thread in threading.enumerate())


async def cancelled(store: Store, count: int, source) -> None:
    """Begin so many puts, and give all of them up once each has been read from."""
    puts = [asyncio.ensure_future(store.put_async(f"c/{number}", source())) for number in range(count)]
    await asyncio.to_thread(source.all_read.wait, 30)
    for put in puts:
        put.cancel()
    await asyncio.wait(puts, timeout=30)
    assert all(put.cancelled() for put in puts)


class Waiting:
    """Makes sources that give one piece and then wait for ever, or for the end of the test."""

    def __init__(self, count: int) -> None:
        self.left, self.all_read, self.go = count, threading.Event(), threading.Event()
        self.lock = threading.Lock()

    def __call__(self) -> Iterator[bytes]:
        yield bytes(100_000)
        with self.lock:
            self.left -= 1
            if not self.left:
                self.all_read.set()
        self.go.wait()


def test_two_hundred_cancelled_puts_of_sources_that_wait_keep_a_thread_each_and_no_more_than_that() -> None:
    waiting = Waiting(200)
    before = kmnb_threads()
    with kmnb.open_store("memory://") as store:
        try:
            asyncio.run(cancelled(store, 200, waiting))
            assert kmnb_threads() - before <= 200 + MAX_THREADS
            store.put("x", iter([b"1", b"2"]))
            assert b"".join(store.stream("x")) == b"12"
            assert [info.key for info in store.list()] == ["x"]
        finally:
            waiting.go.set()
        until_idle()
        assert kmnb_threads() <= before + 2 * MAX_THREADS


def until_idle() -> None:
    """Wait until every source that was given up has ended."""
    pool, until = _threads._sources, time.monotonic() + 20
    while (pool.abandoned or pool.threads > MAX_THREADS) and time.monotonic() < until:
        os.sched_yield()
    assert not pool.abandoned


def test_two_hundred_cancelled_puts_of_sources_that_never_end_leave_no_thread() -> None:
    class Endless:
        all_read = threading.Event()

        def __call__(self) -> Iterator[bytes]:
            while True:
                yield bytes(1000)
                self.all_read.set()

    with kmnb.open_store("memory://") as store:
        for _ in range(4):
            asyncio.run(cancelled(store, 50, Endless()))
        assert _threads._sources.abandoned <= 50
        store.put("x", iter([b"1"]))
        assert [info.key for info in store.list()] == ["x"]
        until_idle()
        assert kmnb_threads() <= 2 * MAX_THREADS + 50


def test_one_source_too_many_is_refused_while_so_many_wait_and_taken_when_these_have_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_threads, "ABANDONED_MAX", 5)
    waiting = Waiting(5)

    async def bits():
        yield b"3"

    with kmnb.open_store("memory://") as store:
        try:
            asyncio.run(cancelled(store, 5, waiting))
            with pytest.raises(BoundExceeded, match="async iterator"):
                store.put("x", iter([b"1"]))
            store.put("bytes", b"1")
            store.put("async", bits())
        finally:
            waiting.go.set()
        until_idle()
        store.put("x", iter([b"1"]))
        assert [info.key for info in store.list()] == ["async", "bytes", "x"]


def test_a_put_of_a_pipe_that_nobody_writes_to_can_be_given_up(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")

    async def give_up(store: Store) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(store.put_async("x", tmp_path / "pipe"), 0.2)

    with kmnb.open_store("memory://") as store:
        asyncio.run(give_up(store))
        # The source that was given up ends with the pipe.
        os.close(os.open(tmp_path / "pipe", os.O_WRONLY))
        assert list(store.list()) == []

        def write() -> None:
            (tmp_path / "pipe").write_bytes(DATA)

        writer = threading.Thread(target=write)
        writer.start()
        assert store.put("x", tmp_path / "pipe").size == len(DATA)
        writer.join(10)
