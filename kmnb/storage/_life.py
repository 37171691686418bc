"""Whether a store is still open: one answer for everything that belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kmnb.errors import StoreError


class Life:
    """From opening to closing.

    Args:
        store: The store's address without secrets, for the error.
    """

    def __init__(self, store: str) -> None:
        self._store, self._is_over = store, False
        self._watchers: list[Callable[[], None]] = []

    @property
    def is_open(self) -> bool:
        """Whether it was not closed."""
        return not self._is_over

    def check(self) -> None:
        """Make sure that the store is open.

        Raises:
            StoreError: It was closed.
        """
        if self._is_over:
            raise StoreError(f"store {self._store}", "it was closed", "Open it again", closed=True)

    def end(self) -> None:
        """Close; twice is harmless."""
        self._is_over = True
        for tell in self._watchers:
            tell()

    @contextmanager
    def watched(self, tell: Callable[[], None]) -> Iterator[None]:
        """Have something called when it ends, for whoever would else wait for ever."""
        self._watchers.append(tell)
        try:
            yield
        finally:
            self._watchers.remove(tell)
