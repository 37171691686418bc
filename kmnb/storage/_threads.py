"""Blocking calls on daemon threads.

The threads of ``concurrent.futures`` are joined when the interpreter ends, so that one request to a dead server
would hold up the exit; these are not. A thread that is idle waits for the next call; there are at most
:data:`MAX_THREADS`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from kmnb.errors import BoundExceeded, StoreError, forked

T = TypeVar("T")

MAX_THREADS = 32
"""Most calls under way at once; further ones wait their turn. So many idle threads are kept."""
SOURCES_MAX = 1_000
"""Most sources of callers that are read at once. Each may wait for as long as it likes, and for calls of a store."""
ABANDONED_MAX = 500
"""Most sources that still wait after their put was cancelled. Python cannot end a thread that waits in somebody's code,
so each keeps one until it goes on; with so many of them a further source is refused instead of waiting for ever."""


class _Answer:
    """What a call gives, handed to the loop that waits for it.

    A future of asyncio that is chained to one of ``concurrent.futures`` does the same and costs twice as much.
    """

    __slots__ = ("_loop", "waiter")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.waiter: asyncio.Future[Any] = self._loop.create_future()

    def set_running_or_notify_cancel(self) -> bool:
        """Tell whether anybody still waits."""
        return not self.waiter.cancelled()

    def set_result(self, result: Any) -> None:
        """End the waiting; called in the thread."""
        self._tell(result, None)

    def set_exception(self, error: BaseException) -> None:
        """End the waiting with an error; called in the thread."""
        self._tell(None, error)

    def _tell(self, result: Any, error: BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop may be gone when the interpreter ends
            self._loop.call_soon_threadsafe(self._end, result, error)

    def _end(self, result: Any, error: BaseException | None) -> None:
        if self.waiter.done():
            return
        if error is None:
            self.waiter.set_result(result)
        elif isinstance(error, StopIteration):  # which no future takes
            self.waiter.set_exception(RuntimeError("a call raised StopIteration"))
        else:
            self.waiter.set_exception(error)


class _Pool:
    """Threads for calls.

    Args:
        most: How many there may be.
        is_brief: Whether calls end soon, so that one may wait for another where the system gives no more threads.
    """

    def __init__(self, most: int, *, is_brief: bool = True) -> None:
        self.most, self.is_brief, self.pid = most, is_brief, os.getpid()
        self.calls: queue.SimpleQueue[tuple[Callable[[], Any], _Answer | Future[Any]]] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.threads = self.abandoned = 0
        self.free = 0
        # Threads that wait for a call, less the calls that wait for a thread.

    def submit(self, call: Callable[[], Any], answer: _Answer | Future[Any]) -> None:
        with self.lock:
            is_more = self.free <= 0 and self.threads < self.most
            self.threads += is_more
            self.free += is_more - 1
        if is_more:
            self._start()
        self.calls.put((call, answer))

    def _start(self) -> None:
        try:
            threading.Thread(target=self._work, name="kmnb-io", daemon=True).start()
        except RuntimeError:
            with self.lock:
                self.threads -= 1
                may_wait = self.is_brief and self.threads > 0
                self.free -= may_wait  # the call waits for a thread of others
            if not may_wait:
                step = "End some of its threads, or allow it more (ulimit -u, pids.max of its container)"
                raise StoreError("this process", "the system gives it no more threads", step) from None

    def abandon(self, future: Future[Any]) -> None:
        """Count a call that nobody waits for any more, until it ends by itself."""
        if not future.cancel() and not future.done():
            with self.lock:
                self.abandoned += 1
            future.add_done_callback(self._came_back)

    def _came_back(self, future: Future[Any]) -> None:
        del future
        with self.lock:
            self.abandoned -= 1

    def _work(self) -> None:
        while self._one(*self.calls.get()):
            pass

    def _one(self, call: Callable[[], Any], answer: _Answer | Future[Any]) -> bool:
        """Make a call; tell whether this thread stays. What was called and answered is not held by an idle thread."""
        if not answer.set_running_or_notify_cancel():
            return self._is_kept()
        # The thread counts as free before the answer is told: who gets it and calls at once needs no further thread.
        try:
            result = call()
        except BaseException as error:
            self._end_in_child(error)
            is_kept = self._is_kept()
            answer.set_exception(error)
        else:
            self._end_in_child(None)
            is_kept = self._is_kept()
            answer.set_result(result)
        return is_kept

    def _is_kept(self) -> bool:
        """Count the calling thread among the free ones; tell whether it stays, for so many are kept."""
        with self.lock:
            is_kept = self.free < MAX_THREADS
            self.free += is_kept
            self.threads -= not is_kept
        return is_kept

    def _end_in_child(self, error: BaseException | None) -> None:
        """End a process that was forked inside the call: whoever waited for the call waits in the parent.

        This thread is the only one there; it would wait for ever, for nobody can give it another call.
        """
        if self.pid == os.getpid():
            return
        if error is None:
            error = forked("put", self.pid)
        sys.excepthook(type(error), error, error.__traceback__)
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(1)


_pool, _sources = _Pool(MAX_THREADS), _Pool(SOURCES_MAX, is_brief=False)


def _after_fork() -> None:
    global _pool, _sources
    _pool, _sources = _Pool(MAX_THREADS), _Pool(SOURCES_MAX, is_brief=False)


os.register_at_fork(after_in_child=_after_fork)


def _begin(call: Callable[[], T]) -> asyncio.Future[T]:
    answer = _Answer()
    _pool.submit(call, answer)
    return answer.waiter


async def in_thread(call: Callable[[], T]) -> T:
    """Run a short blocking call and wait for it, also when cancelled.

    Args:
        call: Something that ends soon by itself. It may hold a file descriptor of the caller, who can close it
            as soon as this returns or raises.

    Returns:
        What the call returned.
    """
    return await settle(_begin(call))


async def in_threads(*calls: Callable[[], Any]) -> None:
    """Run short blocking calls at the same time and wait for all of them, also when cancelled or when one fails.

    Args:
        calls: See :func:`in_thread`. The error of the first that failed, in this order, is raised.
    """
    for answer in await settle(asyncio.gather(*map(_begin, calls), return_exceptions=True)):
        if isinstance(answer, BaseException):
            raise answer


async def settle(inner: asyncio.Future[T]) -> T:
    """Wait for something that must not be left half done: when cancelled, only raise after it has ended."""
    try:
        return await asyncio.shield(inner)
    except asyncio.CancelledError:
        while not inner.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({inner})
        if not inner.cancelled():
            inner.exception()
        raise


async def in_thread_detached(call: Callable[[], T]) -> T:
    """Run a blocking call that may take long; when cancelled, leave it to end by itself.

    Args:
        call: Something that is bounded by its own time-out and holds nothing of the caller.

    Returns:
        What the call returned.
    """
    return await _begin(call)


async def in_source(call: Callable[[], T]) -> T:
    """Read from an iterator or a file of the caller; when cancelled, leave it to end by itself.

    Its threads are no others' threads: a source may wait for ever, or for the very store that it is put into.

    Raises:
        BoundExceeded: :data:`ABANDONED_MAX` sources of cancelled puts still wait.
    """
    pool = _sources
    if pool.abandoned >= ABANDONED_MAX:
        facts = {"limit": "ABANDONED_MAX", "value": ABANDONED_MAX, "unit": "sources", "kept": 0}
        reason = f"{pool.abandoned} sources of puts that were cancelled still wait, each with a thread"
        step = "Let these end, or give bytes or an async iterator, which need no thread"
        raise BoundExceeded("the source of the data", reason, step, **facts)
    future: Future[T] = Future()
    pool.submit(call, future)
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        pool.abandon(future)
        raise
