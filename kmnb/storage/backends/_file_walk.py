"""Walk the files of an area in order of their keys."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import TypeVar

from kmnb.storage._threads import in_thread
from kmnb.storage.backends._file_disk import disk_errors
from kmnb.storage.backends._file_paths import LEAF, MORE, folder_path, object_path, read_name, sort_key

T = TypeVar("T")

BATCH_KEYS = 256
"""Entries that one call of a worker thread gives."""


def _keys(folder: str, added: bytes, *, further: bool) -> Iterator[tuple[str, str]]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries]
    except (FileNotFoundError, NotADirectoryError):
        return
    known = [(name, piece) for name in names if (piece := read_name(name)) is not None]
    for name, piece in sorted(known, key=lambda pair: sort_key(*pair)):
        if name.startswith(MORE) and not further:
            continue
        path = os.path.join(folder, name)
        if name.endswith(LEAF):
            yield (added + piece).decode().removeprefix("/"), path
        else:
            yield from _keys(path, added + piece, further=True)


def _below(top: str, prefix: str) -> Iterator[tuple[str, str]]:
    if prefix and os.path.exists(own := os.path.join(top, object_path(prefix))):
        yield prefix, own
    yield from _keys(os.path.join(top, folder_path(prefix)), prefix.encode(), further=False)


async def walk(top: str, prefix: str, read: Callable[[str, str], T | None]) -> AsyncIterator[T]:
    """Walk an area below a checked prefix.

    Args:
        top: Folder of the area.
        prefix: Whole segments, without trailing slash; empty for all.
        read: Called in a worker thread with key and path; None for a file that went away meanwhile.

    Yields:
        What ``read`` gave, sorted by the UTF-8 bytes of the key.
    """
    found = (item for key, path in _below(top, prefix) if (item := read(key, path)) is not None)

    def batch() -> list[T]:
        with disk_errors(f"listing {prefix!r}"):
            return list(islice(found, BATCH_KEYS))

    while items := await in_thread(batch):
        for item in items:
            yield item
