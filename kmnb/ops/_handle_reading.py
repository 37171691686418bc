"""The bytes behind a handle: ranges, a seekable file, a copy on disk, a frame."""

from __future__ import annotations

import io
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kmnb._bridge import blocking, blocking_iter, bridged, bridged_iter, run
from kmnb.core.bounds import ANSWER_CEILING_BYTES, WINDOW_BYTES
from kmnb.errors import BadRequest, BoundExceeded
from kmnb.ops.materialise import Manifest, materialise

if TYPE_CHECKING:
    from kmnb.core.metadata import ObjectInfo
    from kmnb.storage._protocols import ObjectArea

T = TypeVar("T")


class ReadMethods:
    """Ways to the bytes. What is not bounded by its arguments states its size first."""

    async def _known(self) -> ObjectInfo:
        raise NotImplementedError

    async def _reading(self, read: Callable[[ObjectArea, ObjectInfo], Awaitable[T]]) -> T:
        raise NotImplementedError

    async def locate(self) -> tuple[ObjectArea, ObjectInfo]:
        """Tell the area and the facts of the bytes; a coroutine of kmnb's loop. Raises ArtifactNotFound."""
        raise NotImplementedError

    async def _read(self, start: int, size: int) -> bytes:
        """Read some bytes as they are stored.

        Args:
            start: First byte, from 0.
            size: How many, at most 64 MiB; fewer at the end of the artifact.

        Returns:
            The bytes.

        Raises:
            BadRequest: Negative.
            BoundExceeded: More than 64 MiB at once.
        """
        if start < 0 or size < 0:
            raise BadRequest(f"read({start}, {size})", "start and size count bytes from 0")
        if size > ANSWER_CEILING_BYTES:
            raise BoundExceeded(
                "read",
                f"at most {ANSWER_CEILING_BYTES} bytes at once",
                "Use open() or download().",
                limit="ANSWER_CEILING_BYTES",
                value=ANSWER_CEILING_BYTES,
                unit="bytes",
            )
        return await self._reading(lambda area, info: area.get_range(info.key, start, start + size, info=info))

    read, read_async = blocking(_read), bridged(_read)

    async def _stream(self) -> AsyncIterator[bytes]:
        """Walk all bytes as they are stored, in windows of at most 1 MiB.

        Raises:
            DigestMismatch: They are not the bytes that were stored; raised in the place of the end.
        """
        area, info = await self.locate()
        async for block in area.stream(info.key, info=info):
            yield block

    stream, stream_async = blocking_iter(_stream), bridged_iter(_stream)

    def open(self) -> io.BufferedReader:
        """Open the artifact as a seekable binary file that reads by range, 1 MiB at a time."""
        return io.BufferedReader(_RangeFile(self), WINDOW_BYTES)

    async def _materialise(self, folder: str | os.PathLike[str]) -> Manifest:
        """Put the artifact under its key below a folder, checked by digest.

        Args:
            folder: Where; it is made when it is not there. Other artifacts in it stay.

        Returns:
            What the folder holds now.
        """
        return await self._reading(lambda area, info: materialise([(area, info)], Path(folder), remove_stale=False))

    materialise, materialise_async = blocking(_materialise), bridged(_materialise)

    def _size_of(self) -> int:
        return run(self._known()).size or 0


class _RangeFile(io.RawIOBase):
    """A raw file over range reads."""

    def __init__(self, source: Any) -> None:
        self._source, self._place = source, 0
        self._size = source._size_of()

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Where the next read begins."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError(f"negative seek position {base + offset}")
        self._place = base + offset
        return self._place

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as far as there are bytes."""
        wanted = min(len(buffer), max(0, self._size - self._place))
        data = self._source.read(self._place, wanted) if wanted else b""
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)
