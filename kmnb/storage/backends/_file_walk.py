"""Walk the files of an area in order of their keys."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TypeVar

from kmnb.core.bounds import KEY_MAX_BYTES
from kmnb.errors import KeySyntaxError
from kmnb.storage._keys import check_key
from kmnb.storage._threads import in_thread
from kmnb.storage.backends._file_disk import disk_errors
from kmnb.storage.backends._file_paths import LEAF, MORE, PIECE_BYTES, folder_path, object_path, read_name, sort_key

T = TypeVar("T")

BATCH_KEYS = 256
"""Entries that one call of a worker thread gives."""
_NO_FOLDER = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
# A folder that may not be read is none of these: what it holds is missing from the listing, which must be told.


def _keys(folder: str, added: bytes, *, further: bool) -> Iterator[tuple[str, str]]:
    """Walk a folder; what is no object's by its name, or cannot lead to one, is passed over.

    Args:
        folder: Where to look.
        added: What the folders above add to the key.
        further: Whether the last of them holds a full piece, which others may continue.
    """
    found = _entries(folder) if len(added) <= KEY_MAX_BYTES else []
    known = [(name, piece, is_link) for name, is_link in found if (piece := read_name(name)) is not None]
    for name, piece, is_link in sorted(known, key=lambda item: sort_key(item[0], item[1])):
        if name.startswith(MORE) and not further:
            continue
        path = os.path.join(folder, name)
        if not name.endswith(LEAF):
            if not (is_link and _leads_up(path)):
                yield from _keys(path, added + piece, further=len(piece.removeprefix(b"/")) == PIECE_BYTES)
        elif (key := _key(added + piece)) is not None:
            yield key, path


def _entries(folder: str) -> list[tuple[str, bool]]:
    """Give the names in a folder, and whether each is a link; none where there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_symlink()) for entry in entries]
    except OSError as error:
        if error.errno not in _NO_FOLDER:
            raise
        return []


def _leads_up(path: str) -> bool:
    """Tell whether a link leads to a folder that it lies in itself, so that a walk would never end."""
    above = path
    with suppress(OSError):
        while (above := os.path.dirname(above)) != "/":
            if os.path.samefile(path, above):
                return True
    return False


def _key(raw: bytes) -> str | None:
    try:
        return check_key(raw.removeprefix(b"/").decode())
    except (UnicodeDecodeError, KeySyntaxError):
        return None


def _below(top: str, prefix: str) -> Iterator[tuple[str, str]]:
    if prefix and os.path.lexists(own := os.path.join(top, object_path(prefix))):
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
