"""The bytes behind a handle: ranges, a seekable file, a copy on disk, a frame."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kmnb._bridge import blocking, blocking_iter, bridged, bridged_iter, run
from kmnb.core.arguments import as_integer, as_texts
from kmnb.core.bounds import ANSWER_CEILING_BYTES, WINDOW_BYTES
from kmnb.core.display import size_text
from kmnb.errors import BadRequest, BoundExceeded
from kmnb.ops._copying import Copy, file_errors
from kmnb.ops._feeding import Feeding
from kmnb.ops._handle_frames import is_typed, read_typed
from kmnb.ops._windows import WindowReader
from kmnb.ops.frames import ColumnCollector, check_size, frame_of, table_of, typed_frame
from kmnb.ops.materialise import Manifest, materialise

if TYPE_CHECKING:
    import pandas

    from kmnb.core.metadata import ObjectInfo
    from kmnb.storage._protocols import ObjectArea, Progress

T = TypeVar("T")


class ReadMethods:
    """Ways to the bytes. What is not bounded by its arguments states its size first."""

    if TYPE_CHECKING:

        @property
        def media_type(self) -> str | None:
            """See ``HandleFacts``."""

    async def _known(self) -> ObjectInfo:
        raise NotImplementedError

    async def _reading(self, read: Callable[[ObjectArea, ObjectInfo], Awaitable[T]]) -> T:
        raise NotImplementedError

    async def locate(self) -> tuple[ObjectArea, ObjectInfo]:
        """See ``Artifact``."""
        raise NotImplementedError

    def _as_claimed(self, info: ObjectInfo) -> ObjectInfo:
        """See ``HandleFacts``."""
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
        start, size = as_integer("read: start", start), as_integer("read: size", size)
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

        async def put(area: ObjectArea, info: ObjectInfo) -> Manifest:
            with file_errors(folder):
                return await materialise([(area, self._as_claimed(info))], Path(folder), remove_stale=False)

        return await self._reading(put)

    materialise, materialise_async = blocking(_materialise), bridged(_materialise)

    async def _download(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Path:
        """Copy the artifact to a file, checked by digest; the file appears whole or not at all.

        Args:
            path: Where; a folder gets the last part of the key as name. An existing file is replaced, a device or a
                pipe is written to.
            progress: Called with bytes done and bytes in all.

        Returns:
            The file.

        Raises:
            BadRequest: No file can be written there.
        """
        area, info = await self.locate()
        copy = await asyncio.to_thread(Copy, path, info.key.rpartition("/")[2])
        try:
            done = 0
            async for block in area.stream(info.key, info=info):
                await asyncio.to_thread(copy.write, block)
                done += len(block)
                if progress is not None:
                    progress(done, info.size)
            await asyncio.to_thread(copy.publish)
        except BaseException:
            copy.drop()
            raise
        return copy.path

    download, download_async = blocking(_download), bridged(_download)

    async def _to_pandas(
        self,
        columns: Sequence[str] | None = None,
        *,
        max_bytes: int | None = None,
        infer: bool = False,
        progress: Progress | None = None,
    ) -> pandas.DataFrame:
        """Load the whole artifact into a frame. Its size is stated first, on standard error.

        Values are exact: codes such as ``00010``, ``NA`` and times stay text, whole numbers are nullable ``Int64``;
        Parquet and Arrow keep their own types.

        Args:
            columns: Names of the columns; None for all.
            max_bytes: Size up to which it is loaded; needed for more than 100 MiB.
            infer: Whether text that looks like numbers or times is converted.
            progress: Called with bytes done and bytes in all, instead of the line on standard error.

        Returns:
            A frame with a plain range index.

        Raises:
            BoundExceeded: The artifact is larger than that; nothing was read.
        """
        if is_typed(self.media_type):
            table = await self._to_arrow(columns, max_bytes=max_bytes, progress=progress)
            return await asyncio.to_thread(typed_frame, table, infer=infer)
        return frame_of(await self._columns(columns, max_bytes, progress), infer=infer)

    async def _to_arrow(
        self,
        columns: Sequence[str] | None = None,
        *,
        max_bytes: int | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Load the whole artifact into an Arrow table; needs ``kmnb[arrow]``.

        Args:
            columns: Names of the columns; None for all.
            max_bytes: Size up to which it is loaded; needed for more than 100 MiB.
            progress: Called with bytes done and bytes in all, instead of the line on standard error.

        Raises:
            BoundExceeded: The artifact is larger than that; nothing was read.
            NotSupported: pyarrow is not installed.
        """
        if is_typed(self.media_type):
            # It has types of its own, which a way through JSON values would lose.
            columns = None if columns is None else as_texts("columns", columns)
            _, info = await self.locate()
            check_size(info.size, max_bytes, what="loading it whole")
            _announce(info, progress)
            return await asyncio.to_thread(self._typed_table, columns)
        return table_of(await self._columns(columns, max_bytes, progress))

    def _typed_table(self, columns: Sequence[str] | None) -> Any:
        with self.open() as file:
            return read_typed(file, self.media_type, columns)

    to_pandas, to_pandas_async = blocking(_to_pandas), bridged(_to_pandas)
    to_arrow, to_arrow_async = blocking(_to_arrow), bridged(_to_arrow)

    async def _columns(
        self, columns: Sequence[str] | None, max_bytes: int | None, progress: Progress | None
    ) -> dict[str, list[Any]]:
        columns = None if columns is None else as_texts("columns", columns)
        area, info = await self.locate()
        check_size(info.size, max_bytes, what="loading it whole")
        reader = WindowReader(area, info)
        _announce(info, progress)
        told = None if progress is None else (lambda rows: progress(reader.fetched, info.size))
        collector = ColumnCollector(columns, told)
        await Feeding(collector, {}, reader=reader, info=info).answer(0)
        if collector.skipped and progress is None:
            print(f"kmnb: {collector.skipped:,} bad records were left out", file=sys.stderr)
        return collector.chosen()

    def _size_of(self) -> int:
        return run(self._known()).size or 0


def _announce(info: ObjectInfo, progress: Progress | None) -> None:
    """Name the size before something is loaded whole."""
    if progress is None:
        print(f"kmnb: loading {size_text(info.size)} of {info.key}", file=sys.stderr)


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
