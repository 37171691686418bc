"""Writers that are slow, that sleep and that fail: nobody goes past a living one, and nobody waits for a dead one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.errors import VersionConflict
from kmnb.ops import reservations
from kmnb.ops.named import address_of, counter_of
from kmnb.ops.numbers import read_counter
from kmnb.ops.workspace import Workspace

BOUND = 30
LIMIT = 1.0


def content(ws: Workspace, name: str, version: int) -> bytes:
    art = ws.load(name, version=version)
    return art.read(0, art.size or 0)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as executor:
        yield executor


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reservations, "PREDECESSOR_SECONDS", LIMIT)


class Slow:
    """A source whose second block waits until a test says so."""

    def __init__(self, tag: bytes) -> None:
        self.tag, self.began, self.go = tag, threading.Event(), threading.Event()

    def __call__(self) -> Iterator[bytes]:
        yield self.tag * 1_200_000
        self.began.set()
        assert self.go.wait(BOUND)
        yield b"end;"


def still_waits(future: Future[Any]) -> bool:
    """Whether a call has not ended after several times the limit."""
    try:
        future.exception(timeout=2.5 * LIMIT)
    except TimeoutError:
        return True
    return False


def test_an_edit_does_not_go_past_a_slow_one_that_lives(
    connect: Callable[..., Workspace], pool: ThreadPoolExecutor, limit: None
) -> None:
    one, other, slow = connect(), connect(), Slow(b"1")
    one.save("r.txt", b"base")
    first = pool.submit(lambda: one.save("r.txt", slow(), expected_version=0))
    assert slow.began.wait(BOUND)
    second = pool.submit(lambda: other.save("r.txt", b"2", expected_version=0))
    waited = still_waits(second)
    slow.go.set()
    assert waited
    assert first.result(BOUND).version == 1
    with pytest.raises(VersionConflict, match="latest version is 1"):
        second.result(BOUND)
    assert one.versions("r.txt") == [0, 1]


def test_an_append_after_a_slow_one_holds_the_chunks_of_both(
    connect: Callable[..., Workspace], pool: ThreadPoolExecutor, limit: None
) -> None:
    one, other, slow = connect(), connect(), Slow(b"1")
    one.append("l.txt", b"base;")
    first = pool.submit(lambda: one.append("l.txt", slow()))
    assert slow.began.wait(BOUND)
    second, third = (pool.submit(lambda chunk=chunk: other.append("l.txt", chunk)) for chunk in (b"A", b"B"))
    waited = still_waits(second) and still_waits(third)
    slow.go.set()
    assert waited
    assert {first.result(BOUND).version, second.result(BOUND).version, third.result(BOUND).version} == {1, 2, 3}
    head = b"base;" + b"1" * 1_200_000 + b"end;"
    assert content(one, "l.txt", 3) in (head + b"AB", head + b"BA")


def test_a_writer_that_slept_finds_out_that_others_went_past_it(
    connect: Callable[..., Workspace], pool: ThreadPoolExecutor, limit: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def sleeps(self: reservations.Reservation) -> None:
        """Renews nothing."""

    monkeypatch.setattr(reservations.Reservation, "keep", sleeps)
    one, other, slow = connect(), connect(), Slow(b"1")
    one.save("r.txt", b"base")
    first = pool.submit(lambda: one.save("r.txt", slow(), expected_version=0))
    assert slow.began.wait(BOUND)
    try:
        assert other.save("r.txt", b"2", expected_version=0).version == 2
    finally:
        slow.go.set()
    with pytest.raises(VersionConflict, match="went past it"):
        first.result(BOUND)
    assert one.versions("r.txt") == [0, 2]
    assert content(one, "r.txt", 2) == b"2"


def test_a_version_that_became_visible_behind_the_back_of_others_is_taken_back(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = reservations.Reservation.settle

    async def late(self: reservations.Reservation) -> None:
        await reservations._give_up(ws.context, address, number=self.number, beat=(await beats())[self.number])
        monkeypatch.setattr(reservations, "PREDECESSOR_SECONDS", 0.0)
        await real(self)

    async def beats() -> Any:
        return (await read_counter(ws.context, counter_of(address)))[0].writing

    address = address_of(ws.context, "r.txt")
    ws.save("r.txt", b"base")
    monkeypatch.setattr(reservations.Reservation, "settle", late)
    with pytest.raises(VersionConflict, match="went past it"):
        ws.save("r.txt", b"late", expected_version=0)
    assert ws.versions("r.txt") == [0]


def test_a_writer_that_fails_gives_its_number_up_at_once(ws: Workspace, pool: ThreadPoolExecutor) -> None:
    def fails() -> Iterator[bytes]:
        yield b"x" * 1_200_000
        raise RuntimeError("no more")

    ws.save("f.txt", b"v0")
    for broken in (
        lambda: ws.save("f.txt", fails()),
        lambda: ws.append("f.txt", fails()),
        lambda: ws.save("f.txt", fails(), expected_version=ws.versions("f.txt")[-1]),
    ):
        with pytest.raises(RuntimeError, match="no more"):
            broken()
        latest = ws.versions("f.txt")[-1]
        # Well below the time that a silent writer is waited for.
        edited = pool.submit(lambda latest=latest: ws.save("f.txt", b"v", expected_version=latest)).result(10)
        assert content(ws, "f.txt", pool.submit(lambda: ws.append("f.txt", b"+")).result(10).version) == b"v+"
        assert edited.version is not None


def test_a_writer_that_is_cancelled_gives_its_number_up_at_once(ws: Workspace, pool: ThreadPoolExecutor) -> None:
    began = threading.Event()

    def long() -> Iterator[bytes]:
        for _ in range(1_000_000):
            yield b"1" * 1024
            began.set()

    async def cancelled() -> None:
        task = asyncio.create_task(ws.save_async("f.txt", long()))
        assert await asyncio.to_thread(began.wait, BOUND)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    ws.save("f.txt", b"v0")
    asyncio.run(cancelled())
    assert content(ws, "f.txt", pool.submit(lambda: ws.append("f.txt", b"+")).result(10).version) == b"v0+"


def test_reservations_of_many_quick_writers_stay_few(ws: Workspace) -> None:
    for number in range(reservations._CROWD + 10):
        ws.save("many.txt", f"{number}")
    counter, _ = run(read_counter(ws.context, counter_of(address_of(ws.context, "many.txt"))))
    assert len(counter.writing) <= reservations._CROWD
