"""What callers may do wrong: sources that end in odd ways, waits that are given up."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from kmnb._bridge import start
from kmnb.errors import AlreadyExists, BadRequest
from kmnb.storage import Store
from kmnb.testing._contract_base import ContractBase

SIGNALS = (
    GeneratorExit,
    StopIteration,
    StopAsyncIteration,
    asyncio.CancelledError,
    concurrent.futures.CancelledError,
)
"""Exceptions by which Python ends iterators, generators and tasks."""
ENDS = (KeyboardInterrupt, SystemExit)
"""Exceptions that end a program, and so reach whoever called."""


class CallerContract(ContractBase):
    """Odd ends, cancelled waits, sources that are not asked."""

    @pytest.fixture
    def loop_noise(self) -> Iterator[list[Any]]:
        """What kmnb's loop reports beside the answers of calls."""
        said: list[Any] = []

        async def listen(handler: Any) -> None:
            asyncio.get_running_loop().set_exception_handler(handler)

        start(listen(lambda _, context: said.append(context))).result(10)
        yield said
        start(listen(None)).result(10)

    @pytest.mark.parametrize("error", SIGNALS, ids=lambda error: f"{error.__module__}.{error.__name__}")
    @pytest.mark.parametrize("kind", ["iterator", "file", "async iterator", "attributes", "progress"])
    def test_a_signal_of_python_that_a_source_raises_itself_is_a_clear_error(
        self, store: Store, loop_noise: list[Any], *, kind: str, error: type[BaseException]
    ) -> None:
        """None of them ends a task, a listing or a thread of ours; the error names it, and nothing is stored."""
        if (kind, error) in (("iterator", StopIteration), ("async iterator", StopAsyncIteration)):
            return  # that is how these end
        expected: Any = (BadRequest, RuntimeError) if (kind, error) == ("async iterator", StopIteration) else BadRequest
        for put in (store.put, lambda *data, **more: asyncio.run(_bounded(store.put_async(*data, **more)))):
            data, options = _failing(kind, error)
            with pytest.raises(expected, match=error.__name__):
                put("x", data, **options)
        assert list(store.list()) == []
        store.put("x", iter([b"after"]))
        assert b"".join(store.stream("x")) == b"after"
        gc.collect()
        assert loop_noise == []

    @pytest.mark.parametrize("error", [*ENDS, ZeroDivisionError])
    @pytest.mark.parametrize("kind", ["iterator", "file", "async iterator", "attributes", "progress"])
    def test_other_errors_of_a_source_reach_the_caller_as_they_are(
        self, store: Store, loop_noise: list[Any], *, kind: str, error: type[BaseException]
    ) -> None:
        """So do the two that end a program; nothing is stored, and nothing is said beside it."""
        data, options = _failing(kind, error)
        with pytest.raises(error):
            store.put("x", data, **options)
        data, options = _failing(kind, error)
        with pytest.raises(error):
            asyncio.run(_bounded(store.put_async("x", data, **options)))
        assert list(store.list()) == []
        gc.collect()
        assert loop_noise == []

    def test_a_cancelled_put_says_nothing_more(self, store: Store, loop_noise: list[Any]) -> None:
        """Neither the cancelled wait nor what its source raises later is reported as lost."""
        reached, go, ended = threading.Event(), threading.Event(), threading.Event()

        def source() -> Iterator[bytes]:
            try:
                yield b"1"
                reached.set()
                go.wait(20)
                raise ZeroDivisionError
            finally:
                ended.set()

        async def check() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, context: loop_noise.append(context))
            task = asyncio.ensure_future(store.put_async("x", source()))
            assert await asyncio.to_thread(reached.wait, 20)
            task.cancel()
            await asyncio.wait({task})
            assert task.cancelled()
            go.set()
            assert await asyncio.to_thread(ended.wait, 20)
            gc.collect()

        asyncio.run(check())
        assert list(store.list()) == []
        gc.collect()
        assert loop_noise == []

    @pytest.mark.parametrize("kind", ["iterator", "file", "async iterator"])
    def test_a_taken_key_is_told_before_the_source_is_read(self, store: Store, kind: str) -> None:
        """A create-only put of a taken key asks its source, which may be large or end never, for nothing."""
        asked: list[str] = []
        store.put("x", b"there")
        with pytest.raises(AlreadyExists):
            store.put("x", _noting(kind, asked), create_only=True)
        assert asked == []
        assert b"".join(store.stream("x")) == b"there"
        store.put("y", _noting(kind, asked), create_only=True)
        assert b"".join(store.stream("y")) == b"12"


async def _bounded(work: Any) -> Any:
    return await asyncio.wait_for(work, 20)


class _Failing:
    """Gives one piece, then raises."""

    def __init__(self, error: type[BaseException]) -> None:
        self._pieces, self._error = [b"1"], error

    def _piece(self) -> bytes:
        if self._pieces:
            return self._pieces.pop()
        raise self._error


class _FailingFile(_Failing):
    def read(self, size: int) -> bytes:
        return self._piece()


class _FailingIterator(_Failing):
    def __iter__(self) -> _FailingIterator:
        return self

    def __next__(self) -> bytes:
        return self._piece()


class _FailingAsync(_Failing):
    def __aiter__(self) -> _FailingAsync:
        return self

    async def __anext__(self) -> bytes:
        return self._piece()


def _failing(kind: str, error: type[BaseException]) -> tuple[Any, dict[str, Any]]:
    """Give the source and the options of a put that raises somewhere."""

    def fail(*told: Any) -> Any:
        raise error

    kinds = {"iterator": _FailingIterator, "file": _FailingFile, "async iterator": _FailingAsync}
    return (b"1", {kind: fail}) if kind not in kinds else (kinds[kind](error), {})


def _noting(kind: str, asked: list[str]) -> Any:
    """Give a source of two bytes that notes when it is asked."""
    pieces = iter([b"1", b"2"])

    class File:
        def read(self, size: int) -> bytes:
            asked.append("read")
            return next(pieces, b"")

    def walk() -> Iterator[bytes]:
        asked.append("next")
        yield from pieces

    async def walk_async() -> AsyncIterator[bytes]:
        asked.append("next")
        for piece in pieces:
            yield piece

    return {"file": File, "iterator": walk, "async iterator": walk_async}[kind]()
