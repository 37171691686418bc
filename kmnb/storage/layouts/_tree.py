"""What both layouts of folders share: files that appear whole, facts of a file, no way out through links."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from functools import partial
from typing import Any

from kmnb.core.addresses import NamedAddress, Place
from kmnb.errors import KeySyntaxError
from kmnb.storage._threads import in_thread
from kmnb.storage.backends import _file_disk as disk
from kmnb.storage.backends._file_disk import Staged
from kmnb.storage.layouts._shelf import Slot, Unplaced

DOCUMENT_MAX_BYTES = 1024 * 1024
"""Largest document of a peer that is read."""


def identity_of(found: os.stat_result) -> str:
    """What changes when a file is written again."""
    return f"{found.st_ino}-{found.st_mtime_ns}-{found.st_size}"


def moment_of(found: os.stat_result) -> datetime:
    """When a file was written, UTC."""
    return disk.moment(found.st_mtime)


def is_number(name: str) -> bool:
    """Whether a name is that of a version; ``007`` is none, since the peers look for 7 under its own name."""
    return name.isascii() and name.isdigit() and len(name) <= 18 and str(int(name)) == name


def entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """Give what a folder holds, links and names that are no text left out; nothing where there is no such folder."""
    try:
        with os.scandir(folder) as found:
            yield from (entry for entry in found if not entry.is_symlink() and _is_text(entry.name))
    except (FileNotFoundError, NotADirectoryError):
        return


def _is_text(name: str) -> bool:
    # Bytes that are no UTF-8 stand in names of Python as lone surrogates.
    return not any("\ud800" <= char <= "\udfff" for char in name)


def open_file(path: str) -> int:
    """Open a plain file for reading, never through a link at its end; nothing else is waited for."""
    return disk.open_file(path, flags=os.O_NOFOLLOW)


def stat_file(path: str) -> os.stat_result:
    """Facts of a plain file."""
    handle = open_file(path)
    try:
        return os.fstat(handle)
    finally:
        os.close(handle)


def read_span(path: str, span: tuple[int, int]) -> tuple[bytes, str]:
    """Read a range of a file, with its identity."""
    handle = open_file(path)
    try:
        return os.pread(handle, span[1] - span[0], span[0]), identity_of(os.fstat(handle))
    finally:
        os.close(handle)


def read_document(path: str) -> dict[str, Any] | None:
    """Read a small JSON object; None where there is none, or a damaged one."""
    try:
        handle = open_file(path)
    except OSError:
        return None
    try:
        value = json.loads(os.read(handle, DOCUMENT_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        os.close(handle)
    return value if isinstance(value, dict) else None


def append(file: Staged, block: bytes | memoryview, key: str) -> None:
    """Write to a staged file of an artifact; it is made first."""
    with disk.disk_errors(f"artifact {key!a:.1000}"):
        if not file.is_open:
            file.open()
        file.write(block)


def staged(staging: str, data: bytes) -> Staged:
    """Stage bytes."""
    file = Staged(staging)
    try:
        file.open().write(data)
    except BaseException:
        file.discard()
        raise
    return file


def write_file(staging: str, path: str, data: bytes, *, create_only: bool = True) -> None:
    """Store a small file whole and durably.

    Args:
        staging: Folder where it waits until it is whole.
        path: Its name.
        data: What it holds.
        create_only: Whether the name must be free.

    Raises:
        FileExistsError: ``create_only`` and the name is taken.
    """
    file = staged(staging, data)
    try:
        file.publish(path, create_only=create_only)
    finally:
        file.discard()


def inside(folder: str, path: str, *, root: str) -> str:
    """Give a path back that lies below a scope's folder, which lies below the root; the wall behind all checks.

    Raises:
        KeySyntaxError: It does not.
    """
    for top, below in ((root, folder), (folder, path)):
        if os.path.normpath(below) != below or not below.startswith(top.rstrip("/") + "/"):
            raise KeySyntaxError(f"path {path!a:.200}", "would leave the folder of its scope", "Use another name.")
    return path


def remove_file(path: str) -> None:
    """Remove a file; silent when there is none."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def prune(folder: str, top: str) -> None:
    """Remove folders as far as they are empty."""
    disk.remove_empty(folder, top)


class FolderShelf:
    """What both shelves of folders do alike.

    Args:
        root: Where the peer's tree begins.
        staging: Where files wait until they are whole, on the same file system.
    """

    def __init__(self, root: str, staging: str) -> None:
        self._root, self._staging, self.unplaced = root, staging, Unplaced()
        self.staging: str | None = staging

    def _path(self, address: NamedAddress, version: int) -> str:
        raise NotImplementedError

    def _everything(self) -> Iterator[Slot]:
        raise NotImplementedError

    def _scope(self, place: Place) -> Iterator[Slot]:
        raise NotImplementedError

    async def walk(self, place: Place | None, *, app: str | None = None) -> AsyncIterator[Slot]:
        """Walk versions; folders leave no doubts. See ``Shelf.walk``."""
        with disk.disk_errors("store"):
            found = await in_thread(lambda: list(self._everything() if place is None else self._scope(place)))
        for slot in found:
            yield slot

    async def read(self, address: NamedAddress, version: int, span: tuple[int, int]) -> tuple[bytes, str]:
        """Read a range; see ``Shelf.read``."""
        with disk.disk_errors(f"artifact {address.name!a:.200} version {version}"):
            return await in_thread(partial(read_span, self._path(address, version), span))
