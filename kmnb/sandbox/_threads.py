"""Work in helper threads that is at its end when its caller goes on, cancelled or not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


async def in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call something in a helper thread, and never leave it running.

    A thread cannot be cancelled: whoever removed a folder after a cancellation would find it made again by one that
    went on. When the interpreter ends there are no helper threads any more; then it is called here.

    Args:
        function: Works on files, for a short time.
        args: Its arguments.
        kwargs: Its arguments by name.
    """
    try:
        work = asyncio.get_running_loop().run_in_executor(None, partial(copy_context().run, function, *args, **kwargs))
    except RuntimeError:
        return function(*args, **kwargs)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait({work})
        if not work.cancelled():
            # Nobody asks for it any more.
            work.exception()
        raise
