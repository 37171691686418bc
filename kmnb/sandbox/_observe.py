"""See which artifacts a run opened: the kernel tells it (inotify), so that no program can hide an opening.

Each file is watched by itself and once, so that the queue of events cannot overflow and links to it count too. Where
that cannot be had, or where two runs have the same file at the same time, a receipt says "mounted" and names all.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kmnb.sandbox._receipts import Inputs

IN_OPEN, IN_ONESHOT = 0x20, 0x80000000
WATCHED_MAX = 4096
"""Most artifacts of a run that are watched; every one of them can leave two events in a queue of 16,384."""
_EVENT = struct.Struct("iIII")
_BLOCK = 65_536


class Observer:
    """Watches the files of a run from its start to its end; used as a context manager on kmnb's own loop.

    Args:
        folder: Where the run's artifacts lie; None where there are none.
        artifacts: Facts of them; each one's key is its path below the folder.
    """

    _everyone: dict[tuple[int, int], set[Observer]] = {}
    """Who watches a file now, by device and number of the file."""

    def __init__(self, folder: Path | None, artifacts: Sequence[Mapping[str, Any]]) -> None:
        self._folder, self.artifacts = folder, tuple(artifacts)
        # Of a folder whose content nobody told there is nothing to be sure of.
        self.sure = sys.platform == "linux" and folder is not None and 0 < len(self.artifacts) <= WATCHED_MAX
        self._queue = -1
        self._watches: dict[int, int] = {}
        self._files: list[tuple[int, int]] = []
        self._opened: set[int] = set()

    def __enter__(self) -> Self:
        if self.sure:
            try:
                self._watch()
            except OSError:
                # Not there, or more watches than this user may have.
                self.sure = False
        return self

    def _watch(self) -> None:
        assert self._folder is not None
        libc = ctypes.CDLL(None, use_errno=True)
        self._queue = _check(libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))
        for place, one in enumerate(self.artifacts):
            path = self._folder / str(one["key"])
            state = path.stat()
            number = _check(libc.inotify_add_watch(self._queue, os.fsencode(path), IN_OPEN | IN_ONESHOT))
            # Two names of one file have one watch: nobody can tell which of them was opened.
            self.sure = self.sure and number not in self._watches
            self._watches[number] = place
            self._share((state.st_dev, state.st_ino))

    def _share(self, file: tuple[int, int]) -> None:
        others = self._everyone.setdefault(file, set())
        for other in (*others, *([self] if others else [])):
            other.sure = False
        others.add(self)
        self._files.append(file)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._queue >= 0:
            with contextlib.suppress(BlockingIOError):
                while block := os.read(self._queue, _BLOCK):
                    self._take(block)
            os.close(self._queue)
        for file in self._files:
            watching = self._everyone.get(file, set())
            watching.discard(self)
            if not watching:
                self._everyone.pop(file, None)

    def _take(self, block: bytes) -> None:
        at = 0
        while at < len(block):
            watch, mask, _, length = _EVENT.unpack_from(block, at)
            at += _EVENT.size + length
            if mask & IN_OPEN and watch in self._watches:
                self._opened.add(self._watches[watch])

    def inputs(self) -> Inputs:
        """Tell what the receipt is to name, what else could be read, and how sure that is."""
        if not self.sure:
            return Inputs(self.artifacts)
        opened = tuple(one for place, one in enumerate(self.artifacts) if place in self._opened)
        rest = tuple(one for place, one in enumerate(self.artifacts) if place not in self._opened)
        return Inputs(opened, rest, "opened")


def _check(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
