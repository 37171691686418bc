"""Whatever may be stored, as blocks of bounded size."""

from __future__ import annotations

import io
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Generator, Iterable, Iterator
from contextlib import aclosing, suppress
from functools import partial
from os import PathLike
from typing import BinaryIO, TypeAlias, TypeVar, cast

from kmnb.core.bounds import WINDOW_BYTES
from kmnb.errors import BadRequest
from kmnb.storage._callers import SOURCE, from_caller, tell
from kmnb.storage._digest import RunningDigest
from kmnb.storage._protocols import Progress, Source
from kmnb.storage._threads import in_source

T = TypeVar("T")

Block: TypeAlias = bytes | memoryview

JOIN_FIRST_BYTES, JOIN_BYTES = 4096, 64 * 1024
"""Small items of an iterable are joined up to about this size: few at first, since the reader may stop early."""
JOIN_SECONDS = 0.05
"""How long joining may keep what is there from being stored."""

_STEP = "Give bytes, a path, a binary file, or an iterator of bytes; encode text first"


def is_fixed(block: Block) -> bool:
    """Tell whether nobody can change the bytes of a block, so that it may be kept without a copy."""
    return isinstance(block, bytes) or isinstance(block.obj, bytes)


def known_size(source: Source) -> int | None:
    """Tell the size of a source in bytes where it is known without reading it."""
    return memoryview(source).nbytes if isinstance(source, bytes | bytearray | memoryview) else None


async def blocks(source: Source, size: int = WINDOW_BYTES) -> AsyncGenerator[Block, None]:
    """Walk a source in blocks; files and iterators are read in worker threads.

    Args:
        source: Bytes, a path, a binary file, an iterable or an async iterable of bytes.
        size: Largest block in bytes. Small items of an iterable come together.

    Yields:
        Blocks that are not empty. A view of a buffer of the caller is only valid until the next one is asked for.

    Raises:
        BadRequest: It is none of these, or an item is not bytes.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        for block in _cut(source, size):
            yield block
    elif isinstance(source, AsyncIterable):
        async for item in items_of(source):
            for block in _cut(item, size):
                yield block
    else:
        async with aclosing(_walk(source, size)) as walk:
            async for block in walk:
                yield block


def _cut(item: object, size: int) -> Iterator[Block]:
    if not isinstance(item, bytes | bytearray | memoryview):
        raise BadRequest(f"data of type {type(item).__name__}", "only bytes can be stored", _STEP)
    view = memoryview(item)
    if not view.contiguous:
        view = memoryview(view.tobytes())
    view = view.cast("B") if view.format != "B" or view.ndim != 1 else view
    for start in range(0, view.nbytes, size):
        yield view[start : start + size]


async def items_of(source: AsyncIterable[T]) -> AsyncIterator[T]:
    """Walk an async source of the caller.

    Raises:
        BadRequest: See :func:`~kmnb.storage._callers.from_caller`.
    """
    with from_caller(SOURCE):
        items = aiter(source)
    while True:
        with from_caller(SOURCE):
            try:
                item = await anext(items)
            except StopAsyncIteration:
                return
        yield item


async def _walk(source: object, size: int) -> AsyncGenerator[Block, None]:
    if isinstance(source, PathLike):
        file = _of_path(source, size)
        try:
            async for block in _joined(file, size):
                yield block
        finally:
            # One that is still being read, since a pipe has nothing yet, is closed where that ends.
            with suppress(ValueError):
                file.close()
    elif callable(getattr(source, "read", None)):
        async for block in _read(cast("BinaryIO", source), size):
            yield block
    elif isinstance(source, Iterable) and not isinstance(source, str):
        with from_caller(SOURCE):
            items = iter(source)
        async for block in _joined(items, size):
            yield block
    else:
        raise BadRequest(f"data of type {type(source).__name__}", "it cannot be stored as it is", _STEP)


def _of_path(path: PathLike[str], size: int) -> Generator[bytes, None, None]:
    with open(path, "rb", buffering=0) as file:
        while block := file.read(size):
            yield block


async def _asked(call: Callable[[], T]) -> T:
    """Ask a source, which may wait for ever: a cancelled put does not wait with it."""

    def guarded() -> T:
        with from_caller(SOURCE):
            return call()

    return await in_source(guarded)


async def _joined(items: Iterator[object], size: int) -> AsyncIterator[Block]:
    join_bytes = JOIN_FIRST_BYTES
    while some := await _asked(partial(_some, items, join_bytes)):
        join_bytes = min(2 * join_bytes, JOIN_BYTES)
        for item in some:
            for block in _cut(item, size):
                yield block


def _some(items: Iterator[object], join_bytes: int) -> list[object]:
    """Take the next items, small ones joined, so that a thread is not entered for every line; empty at the end."""
    taken: list[object] = []
    until = time.monotonic() + JOIN_SECONDS
    for item in items:
        small = isinstance(item, bytes) and len(item) < join_bytes
        if small and taken:
            cast("bytearray", taken[0]).extend(cast("bytes", item))
        else:
            taken.append(bytearray(item) if small else item)  # type: ignore[call-overload]
        if not small or len(cast("bytearray", taken[0])) >= join_bytes or time.monotonic() > until:
            break
    return taken


async def _read(file: BinaryIO, size: int) -> AsyncIterator[Block]:
    if isinstance(file, io.TextIOBase):
        raise BadRequest("a text file", "only bytes can be stored", "Open the file with mode 'rb'")
    while True:
        block = await _asked(lambda: file.read(size))
        if block is None:
            raise BadRequest("a file that does not wait", "it has no bytes yet, and more may come", "Open it blocking")
        for part in _cut(block, size):
            yield part
        if not len(block):
            return


class Intake:
    """A source that is read once, counted and digested on the way.

    Args:
        source: What is to be stored.
        progress: Called with bytes done and, where known, bytes in all.
    """

    def __init__(self, source: Source, progress: Progress | None) -> None:
        self.size = 0
        self._digest = RunningDigest()
        self._progress, self._total = progress, known_size(source)
        self._blocks = blocks(source)
        self._early: list[Block] = []

    async def _next(self) -> AsyncGenerator[Block, None]:
        async for block in self._blocks:
            await self._digest.feed([block])
            self.size += len(block)
            tell(self._progress, self.size, self._total)
            yield block
            if not is_fixed(block):
                await self._digest.settle()

    async def whole(self, limit_bytes: int) -> bytes | None:
        """Read all of a small source; None when it is larger, and :meth:`rest` gives it from its beginning."""
        if self._total is not None and self._total > limit_bytes:
            return None
        async for block in self._next():
            self._early.append(bytes(block))
            if self.size > limit_bytes:
                return None
        return b"".join(self._early)

    async def rest(self) -> AsyncGenerator[Block, None]:
        """Give what :meth:`whole` read but did not give, then everything else."""
        for block in self._early:
            yield block
        self._early.clear()
        async for block in self._next():
            yield block

    async def digest(self) -> str:
        """Give the sha256 of what was read, in hexadecimal digits."""
        return (await self._digest.finish()).hex()

    async def aclose(self) -> None:
        """Close the source's iterator."""
        await self._digest.close()
        await self._blocks.aclose()
