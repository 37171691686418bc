"""Walks that are left: what they walk is closed, and whoever leaves is neither held up nor told something else."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from typing import Any

import pytest

from kmnb import _bridge, _walk
from kmnb._bridge import bridge_iterate, iterate, run

SECONDS = 20.0


class Slow:
    """A source whose second step, once it is cancelled, cleans up until it is allowed to end."""

    def __init__(self) -> None:
        self.reached, self.go, self.closed = threading.Event(), threading.Event(), threading.Event()

    async def items(self) -> AsyncIterator[int]:
        """Walk it."""
        try:
            yield 1
            try:
                self.reached.set()
                await asyncio.sleep(10 * SECONDS)
            finally:
                while not self.go.is_set():
                    await asyncio.sleep(0.01)
        finally:
            self.closed.set()


def test_an_interrupt_of_a_step_that_cleans_up_for_long_reaches_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()

    def interrupted(outcome: Future[Any]) -> None:
        monkeypatch.setattr(_bridge, "patience", None)
        assert slow.reached.wait(SECONDS)
        assert not outcome.done()
        raise KeyboardInterrupt

    walk = iterate(slow.items())
    assert next(walk) == 1
    monkeypatch.setattr(_bridge, "patience", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(walk)
    assert not slow.closed.is_set()
    slow.go.set()
    assert slow.closed.wait(SECONDS)


def test_a_task_that_is_cancelled_in_such_a_step_ends_at_once() -> None:
    slow = Slow()

    async def walk() -> None:
        async for _ in bridge_iterate(slow.items()):
            pass

    async def check() -> None:
        walking = asyncio.ensure_future(walk())
        while not slow.reached.is_set():
            await asyncio.sleep(0.01)
        walking.cancel()
        await asyncio.wait({walking}, timeout=SECONDS)
        assert walking.cancelled()

    asyncio.run(check())
    assert not slow.closed.is_set()
    slow.go.set()
    assert slow.closed.wait(SECONDS)


@pytest.mark.parametrize("thread", ["the loop's", "the caller's"])
def test_a_walk_that_is_collected_is_closed_without_a_complaint(thread: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the frames of an error keep one in a cycle; the collector runs on any thread."""
    complaints = list[Any]()
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    go, closed = threading.Event(), threading.Event()

    async def items() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            async with asyncio.timeout(SECONDS):
                while not go.is_set():
                    await asyncio.sleep(0.01)
            closed.set()

    async def collect() -> None:
        gc.collect()

    gc.disable()
    try:
        walk = iterate(items())
        assert next(walk) == 1
        cycle: list[Any] = [walk]
        cycle.append(cycle)
        del walk, cycle
        if thread == "the caller's":
            gc.collect()
        else:
            run(collect())
    finally:
        gc.enable()
        go.set()
    assert closed.wait(SECONDS)
    assert complaints == []


def test_a_listing_enters_the_other_thread_seldom_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entering it for each of 100,000 items took ten seconds; what is raised behind items still comes after them."""
    monkeypatch.setattr(_walk, "STEP_SECONDS", SECONDS)
    given, taken, steps = list[int](), list[int](), list[Future[Any]]()
    monkeypatch.setattr(_bridge, "patience", steps.append)

    async def items() -> AsyncIterator[int]:
        for number in range(1000):
            given.append(number)
            yield number
        raise OSError("lost")

    async def take() -> None:
        async for number in bridge_iterate(items(), 256):
            taken.append(number)

    walk = iterate(items(), 256)
    assert next(walk) == 0
    assert given == [0]
    with pytest.raises(OSError, match="lost"):
        taken.extend(walk)
    assert len(steps) < 20
    with pytest.raises(OSError, match="lost"):
        asyncio.run(take())
    assert taken == [*range(1, 1000), *range(1000)]


def test_a_walk_whose_loop_was_closed_is_closed_without_a_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    complaints = list[Any]()
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    closed = threading.Event()

    async def items() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            closed.set()

    walk = bridge_iterate(items())
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(anext(walk)) == 1
    loop.close()
    del walk
    gc.collect()
    assert closed.wait(SECONDS)
    assert complaints == []
