"""A walk over an async iterator of kmnb's loop, taken one step at a time from elsewhere."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import suppress
from typing import Any, Generic, TypeVar

from kmnb.errors import forked

T = TypeVar("T")

STEP_SECONDS = 0.02
"""How long a step goes on taking items."""
_left: list[object] = []
"""What a parent process walks, as its forked child sees it. Dropped there, it would be closed on a dead loop."""
_closing: set[asyncio.Task[None]] = set()
"""What is closed once its last step has ended; a loop itself does not hold its tasks."""


class Walk(Generic[T]):
    """A walk that belongs to the process that began it: what it waits for never comes in a forked child.

    Args:
        source: What is walked.
        at_once: Most items that are taken in one step, since entering another thread costs more than a small item: one
            at first, twice as many each time. What comes live or is large is taken one by one.
    """

    def __init__(self, source: AsyncIterator[T], at_once: int = 1) -> None:
        self._source, self._pid = source, os.getpid()
        self._now, self._most = 1, at_once
        self._late: Exception | None = None
        self._step: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_ours(self) -> bool:
        """Whether this process began it; in a forked child, what is walked is left alone from now on."""
        if self._pid == os.getpid():
            return True
        _left.append(self._source)
        return False

    @property
    def is_on_loop(self) -> bool:
        """Whether this runs on the loop that walks it: it lay in a cycle, and was collected there.

        Nobody can wait for the end there. The loop itself closes async generators that are collected.
        """
        return runs_on(self._loop)

    def check(self) -> None:
        """Make sure that this process began it.

        Raises:
            StoreError: This is a forked child; the parent's walk goes on.
        """
        if self._pid != os.getpid():
            raise forked("stream or listing", self._pid)

    async def some(self) -> list[T]:
        """Give the next items; what is raised behind them comes after them."""
        self._step, self._loop = asyncio.current_task(), asyncio.get_running_loop()
        items, until = list[T](), self._loop.time() + STEP_SECONDS
        try:
            if self._late is not None:
                raise self._late
            while len(items) < self._now and (not items or self._loop.time() < until):
                items.append(await self._source.__anext__())
        except Exception as error:
            if not items:
                raise
            self._late = error
        finally:
            self._step = None
        self._now = min(2 * self._now, self._most)
        return items

    async def close(self) -> None:
        """Close what is walked; a step that was cancelled and still cleans up is not waited for."""
        if (close := getattr(self._source, "aclose", None)) is None:
            return
        if self._step is None:
            if not getattr(self._source, "ag_running", False):  # else the loop closes it, since both were collected
                await close()
            return
        _hold(asyncio.ensure_future(_close_after(self._step, close)))

    def let_go(self) -> None:
        """Close what is walked, on its loop, with nobody waiting."""
        _hold(asyncio.ensure_future(self.close()))


class Items(Iterator[T]):
    """What a walk gives, one by one. Showing it reads nothing, and is the same in every run.

    Args:
        items: The walk.
        name: What was called.
    """

    def __init__(self, items: Generator[T, None, None], name: str) -> None:
        self._items, self._name = items, name

    def __next__(self) -> T:
        return next(self._items)

    def close(self) -> None:
        """End the walk early."""
        self._items.close()

    def __repr__(self) -> str:
        return f"<{self._name}(): one item after the other as they are asked for; list() reads all>"


def runs_on(loop: asyncio.AbstractEventLoop | None) -> bool:
    """Tell whether this runs on a loop."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def _hold(task: asyncio.Task[None]) -> None:
    _closing.add(task)
    task.add_done_callback(_closing.discard)


async def _close_after(step: asyncio.Task[Any], close: Callable[[], Awaitable[None]]) -> None:
    await asyncio.wait({step})
    with suppress(Exception):  # nobody waits for it any more
        await close()
