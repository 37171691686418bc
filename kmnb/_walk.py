"""A walk over an async iterator of kmnb's loop, taken one step at a time from elsewhere."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from kmnb.errors import forked

T = TypeVar("T")

_left: list[object] = []
"""What a parent process walks, as its forked child sees it. Dropped there, it would be closed on a dead loop."""


class Walk(Generic[T]):
    """A walk that belongs to the process that began it: what it waits for never comes in a forked child.

    Args:
        source: What is walked.
    """

    def __init__(self, source: AsyncIterator[T]) -> None:
        self._source, self._pid = source, os.getpid()

    @property
    def is_ours(self) -> bool:
        """Whether this process began it; in a forked child, what is walked is left alone from now on."""
        if self._pid == os.getpid():
            return True
        _left.append(self._source)
        return False

    def check(self) -> None:
        """Make sure that this process began it.

        Raises:
            StoreError: This is a forked child; the parent's walk goes on.
        """
        if self._pid != os.getpid():
            raise forked("stream or listing", self._pid)

    async def next(self) -> T:
        """Give the next item."""
        return await self._source.__anext__()

    async def close(self) -> None:
        """Close what is walked."""
        if (close := getattr(self._source, "aclose", None)) is not None:
            await close()
