"""Blocking calls on daemon threads.

The threads of ``concurrent.futures`` are joined when the interpreter ends, so that one request to a dead server
would hold up the exit; these are not. A thread that is idle waits for the next call; there are at most
:data:`MAX_THREADS`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

MAX_THREADS = 32
"""Most calls under way at once; further ones wait their turn."""
SOURCES_MAX = 1_000
"""Most sources of callers that are read at once. Each may wait for as long as it likes, and for calls of a store."""


class _Pool:
    def __init__(self, most: int) -> None:
        self.most = most
        self.ready = threading.Condition()
        self.calls: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self.threads = self.idle = 0

    def submit(self, call: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        with self.ready:
            self.calls.append((call, future))
            if self.idle >= len(self.calls) or self.threads >= self.most:
                self.ready.notify()
                return future
            self.threads += 1
        threading.Thread(target=self._work, name="kmnb-io", daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            with self.ready:
                self.idle += 1
                while not self.calls:
                    self.ready.wait()
                self.idle -= 1
                call, future = self.calls.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
            del call, future


_pool, _sources = _Pool(MAX_THREADS), _Pool(SOURCES_MAX)


def _after_fork() -> None:
    global _pool, _sources
    _pool, _sources = _Pool(MAX_THREADS), _Pool(SOURCES_MAX)


os.register_at_fork(after_in_child=_after_fork)


async def in_thread(call: Callable[[], T]) -> T:
    """Run a short blocking call and wait for it, also when cancelled.

    Args:
        call: Something that ends soon by itself. It may hold a file descriptor of the caller, who can close it
            as soon as this returns or raises.

    Returns:
        What the call returned.
    """
    return await settle(asyncio.wrap_future(_pool.submit(call)))


async def in_threads(*calls: Callable[[], Any]) -> None:
    """Run short blocking calls at the same time and wait for all of them, also when cancelled or when one fails.

    Args:
        calls: See :func:`in_thread`. The error of the first that failed, in this order, is raised.
    """
    futures = [asyncio.wrap_future(_pool.submit(call)) for call in calls]
    for answer in await settle(asyncio.gather(*futures, return_exceptions=True)):
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
    return await asyncio.wrap_future(_pool.submit(call))


async def in_source(call: Callable[[], T]) -> T:
    """Read from an iterator or a file of the caller; when cancelled, leave it to end by itself.

    Its threads are no others' threads: a source may wait for ever, or for the very store that it is put into.
    """
    return await asyncio.wrap_future(_sources.submit(call))
