"""What a workspace does by itself while it is open, and how it ends: by close, with the interpreter, or unheld."""

from __future__ import annotations

import asyncio
import logging
import os
import weakref
from collections.abc import Awaitable, Callable

from kmnb._bridge import call_soon, on_exit
from kmnb.core.config import HEARTBEAT_SECONDS
from kmnb.errors import KmnbError
from kmnb.ops.context import Context
from kmnb.ops.doctor import coordinator_advice, ttl_finding
from kmnb.ops.holders import keep_awake, let_sleep
from kmnb.ops.threads import renew_leases

FIRST_SECONDS = 0.25
"""Pause before the first round: what somebody asks as soon as the store is open goes first."""
RETRY_SECONDS = 60.0
"""Pause after the store could not be reached."""
ENDING_SECONDS = 0.5
"""How long the end waits for background work that was told to stop."""

_NO_MORE_THREADS = "cannot schedule new futures"
"""What asyncio's pool of threads says once the interpreter has begun to end, a moment before workspaces are ended."""

_endings: set[asyncio.Task[None]] = set()
_log = logging.getLogger("kmnb")


def start_background(context: Context) -> None:
    """Begin to keep threads alive and the crew swept; call it on kmnb's loop."""
    keep_awake(context)
    _tell_ttl(context)
    task = asyncio.get_running_loop().create_task(_watch_over(weakref.ref(context)))
    context.live.tasks.add(task)
    task.add_done_callback(context.live.tasks.discard)


def _tell_ttl(context: Context) -> None:
    ttl = ttl_finding(context)
    if ttl.status != "ok":
        _log.warning("store %s: TTL is %s. %s", context.backend.url, ttl.detail, ttl.advice)


async def _tell_coordinator(context: Context) -> None:
    """Say what would surprise people later."""
    from kmnb.ops.foreign import foreign_coordinator

    try:
        foreign = await foreign_coordinator(context)
    except (KmnbError, OSError, TimeoutError) as error:
        _log.debug("the discussions of %s cannot be read: %s", context.backend.url, error)
        return
    if foreign:
        _log.warning("%s. %s", *coordinator_advice(context))


async def _watch_over(reference: weakref.ref[Context]) -> None:
    pause, warned, failed = FIRST_SECONDS, False, False
    while True:
        await asyncio.sleep(pause)
        context = reference()
        if context is None:
            return
        pause = min(context.settings.lease_seconds / 4, HEARTBEAT_SECONDS)
        try:
            if not warned:
                await _tell_coordinator(context)
                warned = True
            await renew_leases(context)
            if context.settings.sweep_on_connect:
                from kmnb.ops.sweeping import sweep_if_due

                await sweep_if_due(context)
            failed = False
        except (KmnbError, OSError, TimeoutError) as error:
            # A store that is just shutting down fails once, and nobody needs to be told; one that stays away fails on.
            level = logging.WARNING if failed else logging.INFO
            _log.log(level, "background work of %s: %s", context.backend.url, error)
            failed = True
            pause = min(pause, RETRY_SECONDS)
        except RuntimeError as error:
            if _NO_MORE_THREADS not in str(error):
                raise
            return
        # Sleeping must not keep a workspace that nobody holds.
        del context


def end_with(context: Context) -> Callable[[], Awaitable[None]]:
    """Have a workspace end with the interpreter, or when neither it nor any of its handles is held any more.

    Returns:
        A coroutine function that ends it now; calling it twice is harmless.
    """
    ending = _Ending(context)
    # The context is what handles hold: while one of them lives, the store stays open.
    weakref.finalize(context, ending.abandon).atexit = False
    return ending.finish


class _Ending:
    def __init__(self, context: Context) -> None:
        self._backend, self._tasks, self._owner = context.backend, context.live.tasks, os.getpid()
        self._closers = context.live.closers
        self._context = weakref.ref(context)
        self._forget, self._finished = on_exit(self.finish), False

    async def finish(self) -> None:
        self._finished = True
        self._forget()
        if (context := self._context()) is not None:
            let_sleep(context)
        if self._owner == os.getpid():
            tasks = set(self._tasks) - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            if tasks:
                # What is still at work would meet a store that is closed under it.
                await asyncio.wait(tasks, timeout=ENDING_SECONDS)
            closers = [close() for close in self._closers]
            self._closers.clear()
            await asyncio.gather(*closers, return_exceptions=True)
        await self._backend.close()

    def abandon(self) -> None:
        # The connection of a forked child's parent is not the child's to close.
        if self._owner == os.getpid() and not self._finished:
            call_soon(self._begin)

    def _begin(self) -> None:
        task = asyncio.get_running_loop().create_task(self.finish())
        _endings.add(task)
        task.add_done_callback(_endings.discard)
