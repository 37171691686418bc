"""Threads for blocking calls: no more than allowed, no call lost, none begun for nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait

import pytest

from kmnb._bridge import run
from kmnb.errors import StoreError
from kmnb.storage import _threads
from kmnb.storage._threads import MAX_THREADS, in_source, in_thread, in_thread_detached, in_threads

SECONDS = 20.0


def test_more_calls_than_threads_all_end_and_never_run_at_once() -> None:
    lock, go = threading.Lock(), threading.Event()
    running = most = 0

    def call(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            if running == MAX_THREADS:
                go.set()
        assert go.wait(SECONDS)
        with lock:
            running -= 1
        return number

    async def check() -> None:
        calls = [in_thread_detached(lambda number=number: call(number)) for number in range(5 * MAX_THREADS)]
        assert await asyncio.wait_for(asyncio.gather(*calls), SECONDS) == list(range(5 * MAX_THREADS))

    run(check())
    assert most == MAX_THREADS


def test_a_call_that_was_given_up_before_it_began_is_never_made() -> None:
    go, made = threading.Event(), threading.Event()

    async def check() -> None:
        busy = [asyncio.ensure_future(in_thread_detached(lambda: go.wait(SECONDS))) for _ in range(MAX_THREADS)]
        late = asyncio.ensure_future(in_thread_detached(made.set))
        await asyncio.sleep(0)
        late.cancel()
        await asyncio.wait({late})
        go.set()
        assert all(await asyncio.gather(*busy))
        await in_threads(*[lambda: None] * 2 * MAX_THREADS)

    run(asyncio.wait_for(check(), SECONDS))
    assert not made.is_set()


@pytest.mark.parametrize("error", [StopIteration, KeyError, SystemExit, KeyboardInterrupt])
def test_what_a_call_raises_reaches_who_waits(error: type[BaseException]) -> None:
    def call() -> None:
        raise error("told")

    async def check() -> None:
        with pytest.raises(RuntimeError if error is StopIteration else error):
            await in_thread(call)
        assert await in_thread(lambda: 1) == 1

    run(asyncio.wait_for(check(), SECONDS))


@pytest.mark.parametrize("call", [lambda: 1, lambda: 1 / 0], ids=["result", "error"])
def test_a_thread_is_free_before_anybody_hears_of_its_answer(call: Callable[[], object]) -> None:
    """Whoever waits for an answer and calls at once would have a further thread started, now and then."""
    pool = _threads._Pool(MAX_THREADS)
    free_then = list[int]()

    class Answer(Future[object]):
        def set_result(self, result: object) -> None:
            free_then.append(pool.free)
            super().set_result(result)

        def set_exception(self, exception: BaseException | None) -> None:
            free_then.append(pool.free)
            super().set_exception(exception)

    for _ in range(20):
        answer = Answer()
        pool.submit(call, answer)
        assert wait([answer], SECONDS).done
    assert (free_then, pool.threads) == ([1] * 20, 1)


class _NoMoreThreads(threading.Thread):
    def start(self) -> None:
        raise RuntimeError("can't start new thread")


def test_where_the_system_gives_no_more_threads_calls_take_turns_and_sources_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A source may wait for ever, so none waits for another; and no call that was refused is made later."""
    brief, sources = _threads._Pool(MAX_THREADS), _threads._Pool(MAX_THREADS, is_brief=False)
    monkeypatch.setattr(_threads, "_pool", brief)
    monkeypatch.setattr(_threads, "_sources", sources)
    go, made = threading.Event(), list[int]()

    async def check() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(threading, "Thread", _NoMoreThreads)
            for refused in (in_thread(lambda: made.append(1)), in_source(lambda: made.append(2))):
                with pytest.raises(StoreError, match="no more threads"):
                    await refused
        busy = [asyncio.ensure_future(in_thread(lambda: go.wait(SECONDS)))]
        waiting = asyncio.ensure_future(in_source(lambda: go.wait(SECONDS)))
        await asyncio.sleep(0)
        with monkeypatch.context() as patch:
            patch.setattr(threading, "Thread", _NoMoreThreads)
            busy += [asyncio.ensure_future(in_thread(lambda: made.append(3))) for _ in range(3)]
            with pytest.raises(StoreError, match="no more threads"):
                await in_source(lambda: made.append(4))
        go.set()
        await asyncio.gather(*busy)
        assert await waiting
        await in_threads(*[lambda: made.append(5)] * 40)
        assert await in_source(lambda: 6) == 6

    run(asyncio.wait_for(check(), SECONDS))
    assert made == [3] * 3 + [5] * 40
    assert (brief.free, sources.free) == (brief.threads, sources.threads)
