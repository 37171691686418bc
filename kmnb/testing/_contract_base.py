"""What the parts of the store contract share: a place, a store, and data that is easy to check."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest

from kmnb._bridge import run
from kmnb.storage import Store, open_backend
from kmnb.storage._protocols import Backend
from kmnb.testing._scratch import Scratch, ScratchUnavailable, scratch

T = TypeVar("T")

MIB = 1024 * 1024


def content(size: int, seed: int = 0) -> bytes:
    """Give bytes without a period, the same for the same arguments.

    Args:
        size: Number of bytes.
        seed: Other bytes for another number.
    """
    return hashlib.shake_256(seed.to_bytes(8, "little")).digest(size)


def within(seconds: float, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine on kmnb's loop, and fail when it takes longer."""

    async def bounded() -> T:
        return await asyncio.wait_for(work(), seconds)

    return run(bounded())


class ContractBase:
    """A subclass names the scheme; ``place`` may be overridden to bring another service."""

    scheme = ""

    @pytest.fixture(scope="class")
    @classmethod
    def place(cls) -> Iterator[Scratch]:
        """A running service; the suite is skipped with the reason where none can be had."""
        try:
            found = scratch(cls.scheme)
        except ScratchUnavailable as reason:
            pytest.skip(str(reason))
        with found:
            yield found

    @pytest.fixture
    def url(self, place: Scratch) -> str:
        """URL of an empty store."""
        return place.fresh()

    @pytest.fixture
    def backend(self, url: str) -> Iterator[Backend]:
        """An opened, empty store."""
        opened = within(30, lambda: open_backend(url))
        yield opened
        within(30, opened.close)

    @pytest.fixture
    def store(self, backend: Backend) -> Store:
        """Its public face."""
        return Store(backend)
