"""Wrappers add their one thing and leave the rest as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.core.addresses import NamedAddress
from kmnb.core.progress import tally
from kmnb.errors import ArtifactNotFound, StoreError, StoreUnavailable
from kmnb.storage import Store, open_backend
from kmnb.storage._protocols import Backend
from kmnb.storage._wrappers import CountingBackend, ReadOnlyBackend, RetryingBackend, WrappedArea, WrappedBackend
from kmnb.testing import StoreContract
from kmnb.testing._contract_keys import KeyContract
from kmnb.testing._contract_verbs import VerbContract


def opened() -> Backend:
    return run(open_backend("memory://"))


class TestCountingKeepsTheContract(VerbContract, KeyContract):
    scheme = "memory"
    many = 50

    @pytest.fixture
    def backend(self) -> Backend:
        return CountingBackend(opened())


class TestRetryingKeepsTheContract(VerbContract, KeyContract):
    scheme = "memory"
    many = 50

    @pytest.fixture
    def backend(self) -> Backend:
        return RetryingBackend(opened())


def test_calls_and_bytes_are_counted() -> None:
    backend = CountingBackend(opened())
    store = Store(backend)
    store.put("a", b"x" * 1000)
    run(backend.named.put("b", b"y" * 10))
    store.get_range("a", 10, 30)
    list(store.stream("a"))
    store.head("a")
    list(store.list())
    store.delete("a")
    with pytest.raises(ArtifactNotFound):
        store.head("a")
    counts = backend.counts
    assert dict(counts.calls) == {"put": 2, "get_range": 1, "stream": 1, "head": 2, "list": 1, "delete": 1}
    assert (counts.bytes_read, counts.bytes_written) == (1020, 1010)
    assert "1020 bytes read" in repr(counts)


class Flaky(WrappedArea):
    """Fails a number of times before each success."""

    def __init__(self, inner: Any, failures: int) -> None:
        super().__init__(inner)
        self.left = failures

    async def get_range(self, key: str, start: int, end: int, **options: Any) -> bytes:
        if self.left:
            self.left -= 1
            raise StoreUnavailable("store", "away")
        return await super().get_range(key, start, end, **options)


@pytest.mark.parametrize(("failures", "works"), [(0, True), (2, True), (3, False)])
def test_reads_are_tried_again(failures: int, works: bool) -> None:
    inner = opened()
    run(inner.discussions.put("x", b"123"))
    flaky = WrappedBackend(inner, discussions=Flaky(inner.discussions, failures), named=inner.named)
    store = Store(RetryingBackend(flaky, pauses=(0.001, 0.001)))
    if works:
        with tally("get") as work:
            assert store.get_range("x", 0, 2) == b"12"
        assert work.retries == failures
    else:
        with pytest.raises(StoreUnavailable):
            store.get_range("x", 0, 2)


def test_what_is_not_there_is_not_asked_for_again() -> None:
    counting = CountingBackend(opened())
    with pytest.raises(ArtifactNotFound):
        Store(RetryingBackend(counting, pauses=(0.001,))).head("x")
    assert counting.counts.calls["head"] == 1


def test_a_wrapper_is_a_backend() -> None:
    for wrap in (CountingBackend, ReadOnlyBackend, RetryingBackend):
        inner = opened()
        backend: Backend = wrap(inner)
        assert (backend.url, backend.server_url, backend.bus) == (inner.url, None, None)
        assert backend.capabilities == inner.capabilities
        assert run(backend.describe())["url"] == inner.url
        before = run(inner.now())
        assert before <= run(backend.now()) <= run(inner.now())
        assert inner.url in repr(backend)
        run(backend.close())


@pytest.mark.parametrize("layout", ["agent-mesh", "adk"])
@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_a_closed_store_of_a_peers_layout_refuses_every_verb(tmp_path: Path, layout: str, scheme: str) -> None:
    url = f"file://{tmp_path}/store" if scheme == "file" else "memory://"
    backend = run(open_backend(url, layout=layout))
    key = NamedAddress.of("r.csv", app="app", user="u", session="s").version_key(0)
    run(backend.named.put(key, b"1"))
    run(backend.close())
    run(backend.close())
    area = backend.named

    async def walk(windows: Any) -> None:
        async for _ in windows:
            pass

    for verb in (
        lambda: area.put(key, b"2"),
        lambda: area.head(key),
        lambda: area.get_range(key, 0, 1),
        lambda: walk(area.stream(key)),
        lambda: walk(area.list()),
        lambda: area.delete(key),
        lambda: backend.discussions.head("x"),
        lambda: backend.now(),
    ):
        with pytest.raises(StoreError, match="it was closed"):
            run(verb())


def test_a_read_only_store_closes_what_it_wraps() -> None:
    inner = opened()
    with Store(ReadOnlyBackend(inner)) as store:
        assert list(store.list()) == []
    with pytest.raises(StoreError, match="it was closed"):
        store.head("x")
    with pytest.raises(StoreError, match="it was closed"):
        run(inner.now())


def test_the_suite_holds_all_parts() -> None:
    names = {name for name in dir(StoreContract) if name.startswith("test_")}
    assert len(names) >= 40
