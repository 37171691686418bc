"""One object on its way into a file, or out of one."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from functools import partial

from kmnb.core.bounds import WINDOW_BYTES
from kmnb.core.metadata import ObjectInfo
from kmnb.errors import AlreadyExists
from kmnb.storage._digest import RunningDigest
from kmnb.storage._ranges import same_object
from kmnb.storage._threads import in_thread, in_threads
from kmnb.storage.backends._file_disk import Staged, disk_errors, open_file
from kmnb.storage.backends._file_format import ObjectFile, Tally

AHEAD_WINDOWS = 2
"""Windows that are read while one is looked at."""
PARALLEL_BYTES = 256 * 1024
"""Blocks of at least this size are written and digested at the same time."""


class Writer:
    """An object that is being written.

    Args:
        staging: Folder for files under way.
        path: Path that it gets.
        key: The object, for errors.
        create_only: Whether that path must be free.
    """

    def __init__(self, staging: str, path: str, *, key: str, create_only: bool) -> None:
        self._staged, self._tally = Staged(staging), Tally()
        self._path, self._key, self._create_only = path, key, create_only
        self._thing = f"artifact {key!r}"
        self._begun = False

    def _taken(self) -> AlreadyExists:
        return AlreadyExists(self._thing, "the key is taken", "Choose another key")

    def _begin(self) -> None:
        if self._begun:
            return
        if self._create_only and os.path.exists(self._path):
            raise self._taken()
        self._staged.open()
        self._begun = True

    async def begin(self) -> None:
        """Make sure that the path is free now, before a source is read.

        Raises:
            AlreadyExists: The path is taken already.
        """
        await in_thread(partial(self._append, b""))

    def _append(self, block: bytes | memoryview) -> None:
        with disk_errors(self._thing):
            self._begin()
            self._staged.write(block)

    def _both(self, block: bytes | memoryview) -> None:
        self._append(block)
        self._tally.feed(block)

    async def write(self, block: bytes | memoryview) -> None:
        """Append bytes.

        Raises:
            AlreadyExists: The path is taken already.
            StoreError: The disk is full, or another trouble of it.
        """
        if len(block) >= PARALLEL_BYTES:
            await in_threads(partial(self._append, block), partial(self._tally.feed, block))
        elif block:
            await in_thread(partial(self._both, block))

    async def publish(self, last: bytes | memoryview, attributes: Mapping[str, str]) -> ObjectInfo:
        """Give the object its name, durably.

        Args:
            last: Its last bytes.
            attributes: What is kept with it.

        Returns:
            Its facts.

        Raises:
            AlreadyExists: Somebody else was faster.
        """
        if len(last) >= PARALLEL_BYTES:
            await self.write(last)
            last = b""
        return await in_thread(partial(self._publish, last, attributes))

    def _publish(self, last: bytes | memoryview, attributes: Mapping[str, str]) -> ObjectInfo:
        self._both(last)
        tail, footer = self._tally.tail(attributes, time.time_ns(), key=self._key)
        self._append(tail)
        with disk_errors(self._thing):
            try:
                self._staged.publish(self._path, create_only=self._create_only)
            except FileExistsError:
                raise self._taken() from None
            self._staged.discard()
        return footer.info(self._key, attributes)

    async def close(self) -> None:
        """Remove what was not published."""
        if self._staged.is_open:
            await in_thread(self._staged.discard)


class Reader:
    """An object that is read from its first to its last byte: the next windows while one is looked at."""

    def __init__(self, path: str, key: str) -> None:
        self._path, self._key, self._file = path, key, -1
        self._ahead: deque[asyncio.Future[bytes]] = deque()
        self._digest = RunningDigest()

    def _open(self, info: ObjectInfo | None) -> bytes:
        with disk_errors(f"artifact {self._key!r}"):
            self._file = open_file(self._path)
            self._object = ObjectFile(self._file, self._key)
        same_object(self._object.info(), info)
        return self._window(0)

    def _window(self, start: int) -> bytes:
        with disk_errors(f"artifact {self._key!r}"):
            return self._object.read(start, start + WINDOW_BYTES)

    async def windows(self, info: ObjectInfo | None) -> AsyncGenerator[bytes, None]:
        """Give all of it; :meth:`close` it afterwards.

        Raises:
            ArtifactNotFound: No such object.
            DigestMismatch: Damaged, or not the one of ``info``.
        """
        window = await in_thread(partial(self._open, info))
        size, asked = self._object.footer.size, WINDOW_BYTES
        while window:
            while asked < size and len(self._ahead) < AHEAD_WINDOWS:
                self._ahead.append(asyncio.ensure_future(in_thread(partial(self._window, asked))))
                asked += WINDOW_BYTES
            await self._digest.feed([window])
            yield window
            window = await self._ahead.popleft() if self._ahead else b""
        self._object.check(await self._digest.finish())

    async def close(self) -> None:
        """Let go of the file, once nothing is being read from it any more."""
        if self._ahead:
            await asyncio.wait(self._ahead)
            for window in self._ahead:
                window.exception()
        await self._digest.close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
