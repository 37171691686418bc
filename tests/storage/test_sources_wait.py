"""Sources that wait take nothing from the store's own calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import kmnb
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
