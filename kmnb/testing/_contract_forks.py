"""Forks in the middle: what the parent began is an error in the child, never a wait without end."""

from __future__ import annotations

import asyncio
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kmnb.errors import StoreError
from kmnb.storage import Store, open_store
from kmnb.testing._contract_base import MIB, ContractBase, content

CHILD_SECONDS = 20
"""How long a forked child may take; then the kernel ends it."""
WRONG = 7
"""Exit status of a child whose call raised the right error."""


class ForkContract(ContractBase):
    """Walks, puts and new calls after a fork."""

    works_in_forked_child = True
    """Whether a forked child may go on with the store; where its library cannot, the child is told at once."""

    def test_a_walk_that_was_begun_before_a_fork_is_an_error_in_the_child(self, store: Store) -> None:
        """The child is told at once, for streams and listings; there it may begin anew; the parent goes on."""
        data = content(9 * MIB)
        for number in range(300):
            store.put(f"l/{number}", b"1")
        store.put("x", data)
        stream, listing = store.stream("x"), store.list("l")
        first = next(stream)
        next(listing)
        for walk in (stream, listing):
            assert in_child(lambda walk=walk: next(walk)) == WRONG  # type: ignore[misc]
        assert in_child(stream.close) == 0  # type: ignore[attr-defined]
        assert b"".join([first, *stream]) == data
        assert len(list(listing)) == 299

    def test_a_forked_child_uses_the_store_or_is_told(self, store: Store, url: str) -> None:
        """What is begun in the child does not wait for threads of the parent, whose own calls go on."""
        data = content(20 * MIB)
        store.put("x", content(MIB))

        def use() -> None:
            assert b"".join(store.stream("x")) == content(MIB)
            store.put("small", b"1", create_only=True)
            store.put("large", data)
            assert store.get_range("large", 5, 10) == data[5:10]
            assert b"".join(store.stream("large")) == data
            assert [info.key for info in store.list()] == ["large", "small", "x"]
            store.delete("large")

        def open_again() -> None:
            with open_store(url) as again:
                again.put("y", b"1")

        expected = 0 if self.works_in_forked_child else WRONG
        assert in_child(use) == expected
        assert in_child(open_again) == expected
        assert b"".join(store.stream("x")) == content(MIB)
        store.put("large", data)
        assert b"".join(store.stream("large")) == data

    def test_an_async_walk_that_was_begun_before_a_fork_is_an_error_in_the_child(self, store: Store) -> None:
        """It does not wait for a loop that is not there."""
        data = content(9 * MIB)
        store.put("x", data)

        async def check() -> bytes:
            walk = store.stream_async("x")
            found = [await anext(walk)]
            if not (child := forked_child()):
                try:
                    await anext(walk)
                except BaseException as error:
                    _end_child(error)
                os._exit(0)
            assert exit_status(child) == WRONG
            return b"".join(found + [window async for window in walk])

        assert asyncio.run(asyncio.wait_for(check(), 30)) == data

    def test_a_child_that_is_forked_by_a_source_does_not_go_on_with_the_put(
        self, store: Store, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """There is nobody who waits for it there: it says so and ends. The parent's put is whole."""
        told: list[int] = []

        def source() -> Iterator[bytes]:
            yield b"1"
            if child := forked_child():
                told.append(exit_status(child))
            yield b"2"

        store.put("x", source())
        assert told == [1]
        assert "StoreError: put: process" in capfd.readouterr().err
        assert b"".join(store.stream("x")) == b"12"


def in_child(call: Callable[[], Any]) -> int:
    """Run a call in a forked child; 0 when it returned, :data:`WRONG` when it raised the error of forks."""
    child = forked_child()
    if not child:
        try:
            call()
        except BaseException as error:
            _end_child(error)
        os._exit(0)
    return exit_status(child)


def forked_child() -> int:
    """Fork; the child, which is told 0, is ended by the kernel when it takes too long."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        signal.alarm(CHILD_SECONDS)
    return child


def exit_status(child: int) -> int:
    """Wait for a child."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _end_child(error: BaseException) -> None:
    os._exit(WRONG if isinstance(error, StoreError) and error.facts.get("forked") else 1)
