"""The rules of range reads, shared by all backends."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable

from kmnb.core.metadata import ObjectInfo
from kmnb.errors import BadRequest, DigestMismatch


def check_range(start: int, end: int) -> None:
    """Accept a range of bytes; the end is exclusive and may lie past the object's end.

    Raises:
        BadRequest: Negative, reversed, or not whole numbers.
    """
    whole = isinstance(start, int) and isinstance(end, int)
    if not whole or start < 0 or end < start:
        step = "Give 0 ≤ start ≤ end; the end is exclusive"
        raise BadRequest(f"range from {start!r} to {end!r}", "it is negative, reversed or not a number", step)


def same_object(found: ObjectInfo, expected: ObjectInfo | None) -> None:
    """Make sure that an object is still the one that was seen before.

    Args:
        found: What is there now.
        expected: What an earlier ``head`` or an envelope said; None when nothing is expected. Its identity counts,
            or its digest where it has none.

    Raises:
        DigestMismatch: It was written again meanwhile.
    """
    if expected is None:
        return
    if expected.identity is not None and found.identity is not None:
        same = expected.identity == found.identity
    else:
        same = expected.digest is None or found.digest is None or expected.digest == found.digest
    if not same:
        reason = "it was written again since its facts were read"
        raise DigestMismatch(f"artifact {found.key!r}", reason, "Ask for its facts again")


async def read_ahead(
    read: Callable[[int, int], Awaitable[bytes]], size: int, *, chunk_bytes: int, chunks_ahead: int
) -> AsyncGenerator[bytes, None]:
    """Read something from its first to its last byte, several chunks at once, in order.

    Args:
        read: Reads a range; its end is exclusive.
        size: Bytes in all.
        chunk_bytes: Size of a range.
        chunks_ahead: Ranges under way at once; with the one that is handed out they bound the memory.

    Yields:
        Chunks in order.
    """
    starts = iter(range(0, size, chunk_bytes))
    ahead: deque[asyncio.Future[bytes]] = deque()
    try:
        while True:
            while len(ahead) < chunks_ahead and (start := next(starts, None)) is not None:
                ahead.append(asyncio.ensure_future(read(start, min(start + chunk_bytes, size))))
            if not ahead:
                return
            chunk = await ahead[0]
            ahead.popleft()
            yield chunk
            del chunk
    finally:
        for task in ahead:
            task.cancel()
        await asyncio.gather(*ahead, return_exceptions=True)
