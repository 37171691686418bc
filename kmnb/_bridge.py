"""The only place where blocking code runs a coroutine.

A notebook's main thread already runs an event loop, so kmnb owns a daemon thread with a loop of its own. Blocking
calls hand their coroutine to it and wait; on any exception in the waiting thread, KeyboardInterrupt included, the
task is cancelled and given :data:`GRACE_SECONDS` to clean up. Coroutines awaited on a foreign loop are handed over
too, with a heartbeat, since an ipykernel delivers an interrupt only when its loop wakes (ipython/ipykernel#881).
After a fork the child makes a new thread on first use.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import contextvars
import functools
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from kmnb._cell_errors import begun, shorten
from kmnb._walk import Items, Walk, runs_on

T = TypeVar("T")
P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])

GRACE_SECONDS = 0.2
"""How long a cancelled task may clean up before the caller gets control back."""
HEARTBEAT_SECONDS = 0.1
"""How often a foreign loop is woken while it waits for a bridged call."""


class _Runner:
    """One daemon thread with one event loop."""

    def __init__(self) -> None:
        self.loop, self.pid, self.stopping = asyncio.new_event_loop(), os.getpid(), False
        self.thread = threading.Thread(target=self._main, name="kmnb-loop", daemon=True)
        self.thread.start()

    def _main(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self.stopping:
            # What a caller's own iterator raises, sys.exit() included, reaches its caller; here it would end the loop.
            with contextlib.suppress(KeyboardInterrupt, SystemExit):
                self.loop.run_forever()
        with contextlib.suppress(RuntimeError):
            self.loop.close()

    def stop(self) -> None:
        """Cancel what still runs and end the thread; bounded, for the interpreter's exit."""
        if self.pid != os.getpid() or not self.thread.is_alive():
            return
        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(_wind_down(), self.loop).result(timeout=2)
        self.stopping = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(timeout=1)


async def _wind_down() -> None:
    for close in reversed(list(_closers)):
        with contextlib.suppress(Exception):
            await asyncio.wait_for(close(), 1)
    _closers.clear()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=GRACE_SECONDS)


patience: Callable[[concurrent.futures.Future[Any]], None] | None = None
"""A front end may set it: it waits for a blocking call and may show how far that has come."""
_lock = threading.Lock()
_runner: _Runner | None = None
_closers: dict[Callable[[], Awaitable[None]], None] = {}


def _current() -> _Runner:
    global _runner  # noqa: PLW0603 - one loop a process is the point of this module
    if (runner := _runner) is not None and runner.pid == os.getpid() and runner.thread.is_alive():
        return runner
    with _lock:
        if _runner is None or _runner.pid != os.getpid() or not _runner.thread.is_alive():
            _runner = _Runner()
            atexit.register(_runner.stop)
        return _runner


def _after_fork() -> None:
    global _runner, _lock
    _runner, _lock = None, threading.Lock()
    _closers.clear()


os.register_at_fork(after_in_child=_after_fork)


def on_exit(close: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Have a coroutine function awaited on kmnb's loop when the interpreter ends, at most one second.

    Returns:
        A function that takes the registration back.
    """
    _closers[close] = None
    return lambda: _closers.pop(close, None)


class _Job:
    """A coroutine for kmnb's loop; making it is apart from its beginning, whose interrupt has something to cancel."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        runner = _current()
        if threading.current_thread() is runner.thread:
            coroutine.close()
            raise RuntimeError("a blocking kmnb call inside a kmnb coroutine; await its _async twin instead")
        self.loop, self.coroutine = runner.loop, coroutine
        self.task: asyncio.Task[Any] | None = None
        self.outcome: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def begin(self) -> concurrent.futures.Future[Any]:
        self.loop.call_soon_threadsafe(self._start, contextvars.copy_context())
        return self.outcome

    def _start(self, context: contextvars.Context) -> None:
        self.task = self.loop.create_task(self.coroutine, context=context)
        self.task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[Any]) -> None:
        if task.cancelled():
            self.outcome.set_exception(concurrent.futures.CancelledError())
        elif (error := task.exception()) is not None:
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())

    def cancel(self) -> None:
        self.loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()
        else:
            self.coroutine.close()
            self.outcome.cancel()


def run(coroutine: Coroutine[Any, Any, T], wait: Callable[[concurrent.futures.Future[Any]], None] | None = None) -> T:
    """Run a coroutine on kmnb's loop, wait for it, and give its result.

    Args:
        coroutine: What to run.
        wait: Called in place of :data:`patience`.

    Raises:
        RuntimeError: Called on kmnb's own loop thread, which would wait for itself.
    """
    job = _Job(coroutine)
    try:
        (wait or patience or id)(job.begin())
        return job.outcome.result()  # type: ignore[no-any-return]
    except BaseException as error:
        if not job.outcome.done():
            job.cancel()
            with contextlib.suppress(BaseException):
                job.outcome.exception(timeout=GRACE_SECONDS)
            error.__traceback__ = None  # where in our waiting it came says nothing, and takes long to show
            shorten(error)
        raise


def start(coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
    """Begin a coroutine on kmnb's loop without waiting for it; the future cannot be cancelled."""
    return _Job(coroutine).begin()


def call_soon(callback: Callable[[], object]) -> None:
    """Have a function called on kmnb's loop; callable anywhere, in a finalizer and on the loop itself too."""
    _current().loop.call_soon_threadsafe(callback)


async def bridge(coroutine: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine on kmnb's loop from any loop; when the awaiting task is cancelled, so is the coroutine."""
    runner = _current()
    if asyncio.get_running_loop() is runner.loop:
        return await coroutine
    job = _Job(coroutine)
    waiter = asyncio.wrap_future(job.outcome)
    try:
        job.begin()
        while not waiter.done():
            await asyncio.wait({waiter}, timeout=HEARTBEAT_SECONDS)
        return waiter.result()  # type: ignore[no-any-return]
    except BaseException as error:
        if not job.outcome.done():
            job.cancel()
            await asyncio.wait({waiter}, timeout=GRACE_SECONDS)
            shorten(error)
        waiter.add_done_callback(lambda late: late.cancelled() or late.exception())  # nobody waits for it any more
        raise


def iterate(source: AsyncIterator[T], at_once: int = 1) -> Generator[T, None, None]:
    """Walk an async iterator from blocking code; it is closed when the walk ends. In a forked child: StoreError."""
    walk = Walk(source, at_once)
    try:
        while True:
            walk.check()
            try:
                items = run(walk.some())
            except StopAsyncIteration:
                return
            yield from items
    finally:
        if walk.is_ours and not sys.is_finalizing() and not walk.is_on_loop:  # one in a global outlives the loop
            run(walk.close())


async def bridge_iterate(source: AsyncIterator[T], at_once: int = 1) -> AsyncIterator[T]:
    """Walk an async iterator of kmnb's loop from any loop; see :func:`iterate`."""
    walk, home = Walk(source, at_once), asyncio.get_running_loop()
    try:
        while True:
            walk.check()
            try:
                items = await bridge(walk.some())
            except StopAsyncIteration:
                return
            for item in items:
                yield item
    finally:
        if walk.is_ours and runs_on(home):
            await bridge(walk.close())
        elif walk.is_ours and not sys.is_finalizing():  # it is collected, and its loop was closed before
            call_soon(walk.let_go)


def blocking(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make the blocking twin of a coroutine method or function; it keeps signature and docstring."""

    def twin(*args: P.args, **kwargs: P.kwargs) -> T:
        return run(begun(method, args, kwargs))

    return _named(twin, method)


def bridged(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Make the ``_async`` twin of a coroutine method or function, safe to await on any loop."""

    def twin(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return bridge(begun(method, args, kwargs))

    return _named(twin, method, "Coroutine twin of :meth:`{}`, safe to await on any loop.")


def blocking_iter(method: Callable[P, AsyncIterator[T]], at_once: int = 1) -> Callable[P, Iterator[T]]:
    """Make the blocking twin of an async iterator method."""

    def twin(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return Items(iterate(begun(method, args, kwargs), at_once), method.__name__.lstrip("_"))

    return _named(twin, method)


def bridged_iter(method: Callable[P, AsyncIterator[T]], at_once: int = 1) -> Callable[P, AsyncIterator[T]]:
    """Make the ``_async`` twin of an async iterator method, safe to walk on any loop."""

    def twin(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return bridge_iterate(begun(method, args, kwargs), at_once)

    return _named(twin, method, "Async iterator twin of :meth:`{}`, safe to walk on any loop.")


def _named(twin: F, method: Any, doc: str = "") -> F:
    """Name a twin and what it calls as people know them: Python's own errors of arguments tell that name."""
    (owner, dot, _), name = method.__qualname__.rpartition("."), method.__name__.lstrip("_")
    functools.update_wrapper(twin, method)
    method.__qualname__ = owner + dot + name
    if doc:
        twin.__doc__, name = doc.format(name), f"{name}_async"
    twin.__name__, twin.__qualname__ = name, owner + dot + name
    return twin


def as_whole(kind: type[T]) -> type[T]:
    """Name the methods of a class after it, those of the parts that it is made of too; see :func:`_named`."""
    for part in kind.__mro__[:-1]:
        for function in vars(part).values():
            if isinstance(function, FunctionType) and not function.__name__.startswith("__"):
                function.__qualname__ = f"{kind.__name__}.{function.__qualname__.rpartition('.')[2]}"
    return kind
