"""What callers hand in, called with care: their sources, and their functions for attributes and progress.

An error of theirs reaches them as it is, ``KeyboardInterrupt`` and ``SystemExit`` included. Some exceptions are no
errors but the words by which Python ends iterators, generators and tasks: raised by a source of its own accord, one of
these would end something of ours instead. The caller gets a :class:`~kmnb.errors.BadRequest` that names it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Iterator
from contextlib import contextmanager

from kmnb.errors import BadRequest
from kmnb.storage._protocols import Progress

SOURCE = "the source of the data"
"""What errors call the source."""
_SIGNALS = (
    GeneratorExit,
    StopIteration,
    StopAsyncIteration,
    asyncio.CancelledError,
    concurrent.futures.CancelledError,
)


@contextmanager
def from_caller(what: str) -> Iterator[None]:
    """Run something of the caller.

    Args:
        what: What it is, for the error.

    Raises:
        BadRequest: It raised an exception by which Python ends iterators and tasks, and nobody had asked for that.
    """
    try:
        yield
    except _SIGNALS as error:
        if isinstance(error, asyncio.CancelledError) and _is_being_cancelled():
            raise
        reason = f"it raised {type(error).__name__}, by which Python ends iterators and tasks"
        raise BadRequest(what, reason, "Raise an error of another kind there") from error


def _is_being_cancelled() -> bool:
    """Tell whether somebody cancelled the running task; a thread has none."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and task.cancelling() > 0


def tell(progress: Progress | None, done: int, total: int | None) -> None:
    """Call a caller's progress function, where there is one."""
    if progress is not None:
        with from_caller("the function for progress"):
            progress(done, total)
