"""Calls of obstore in threads: its errors become kmnb's, and what may be sent again is, within bounds."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import TypeVar

from kmnb.errors import KmnbError
from kmnb.storage._threads import in_thread_detached
from kmnb.storage.backends._bucket_errors import TryAgain, translate

T = TypeVar("T")

RESEND_PAUSES = (0.1, 0.5)
"""Seconds before a request is sent again that may have been lost; whoever wrote knows its own bytes again."""
RESEND_SECONDS = 10.0
"""Time after which nothing is sent again."""


_started: set[int] = set()
"""The process that first called the library, which then started its threads; a forked child has none of them."""


def is_forked() -> bool:
    """Tell whether the library's threads are another process's; a call that needs one would wait for ever."""
    if not _started:
        _started.add(os.getpid())
    return os.getpid() not in _started


async def call(
    thing: str, work: Callable[[], T], *, path: str = "", conditional: bool = False, again: bool = False
) -> T:
    """Run one call of obstore.

    Args:
        thing: What errors name.
        work: The call.
        path: Path that it is about, which is taken out of the error before that is read.
        conditional: Whether it is a conditional write.
        again: Whether it may be sent twice.

    Returns:
        What it returned.
    """
    pauses, until = iter(RESEND_PAUSES if again else ()), time.monotonic() + RESEND_SECONDS
    while True:
        ours: KmnbError | None
        try:
            return await in_thread_detached(work)
        except BaseException as error:
            # A panic of the library is no Exception; it is the store's fault all the same.
            ours = translate(thing, error, path=path, conditional=conditional)
            if ours is None:
                raise
        pause = next(pauses, None)
        if pause is None or not isinstance(ours, TryAgain) or time.monotonic() > until:
            # Raised out here it has no context, whose text would hold URLs and headers.
            raise ours
        await asyncio.sleep(pause)
