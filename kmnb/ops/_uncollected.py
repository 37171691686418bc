"""Make many short-lived rows without the cycle collector looking at them again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Have no collection of cycles for a short piece of work, which makes none.

    Rows are lists of texts by the ten thousand; to look for cycles among them takes longer than to make them. Who finds
    collection on turns it off and on again, so that it is never off longer than one piece of work of one thread.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
