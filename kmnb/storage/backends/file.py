"""Stores in a folder: ``file:///path``. Durable, shared by processes, whole or not at all.

Below the folder: ``discussions`` and ``named`` (one file an object, see ``_file_format`` and ``_file_paths``),
``records``, ``locks``, and ``staging`` for files under way. A writer that is killed leaves at most a staged file,
which nobody lists or reads and the next one who opens the store collects.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

from kmnb.core.metadata import Capability, ObjectInfo
from kmnb.errors import ArtifactNotFound, DigestMismatch, StoreDenied, StoreUnavailable
from kmnb.storage._attributes import final_attributes
from kmnb.storage._callers import tell
from kmnb.storage._keys import check_key, check_prefix
from kmnb.storage._life import Life
from kmnb.storage._protocols import Attributes, Progress, Remnant, Source
from kmnb.storage._ranges import check_range, same_object
from kmnb.storage._source import blocks, is_fixed, known_size
from kmnb.storage._threads import in_thread
from kmnb.storage._urls import flag_option, split_url, take_options
from kmnb.storage.backends import _file_disk as disk
from kmnb.storage.backends._file_format import ObjectFile
from kmnb.storage.backends._file_paths import object_path
from kmnb.storage.backends._file_records import FileRecords
from kmnb.storage.backends._file_transfer import Reader, Writer
from kmnb.storage.backends._file_walk import walk


class FileArea:
    """One area of objects in a folder."""

    def __init__(self, top: str, *, staging: str, life: Life) -> None:
        self._top, self._staging, self._life = top, staging, life

    def _path(self, key: str) -> str:
        self._life.check()
        return os.path.join(self._top, object_path(check_key(key)))

    async def put(
        self,
        key: str,
        source: Source,
        *,
        create_only: bool = False,
        attributes: Attributes | None = None,
        progress: Progress | None = None,
    ) -> ObjectInfo:
        """Store an object durably; see ``ObjectArea.put``."""
        writer = Writer(self._staging, self._path(key), key=key, create_only=create_only)
        total, size, last = known_size(source), 0, memoryview(b"")
        try:
            if create_only and total is None:
                await writer.begin()
            async with aclosing(blocks(source)) as walk_source:
                async for block in walk_source:
                    await writer.write(last)
                    # The last block goes to the disk with what follows it: a small object enters a thread once.
                    last = memoryview(block if is_fixed(block) else bytes(block))
                    size += len(last)
                    tell(progress, size, total)
            return await writer.publish(last, final_attributes(attributes))
        finally:
            await writer.close()

    async def get_range(self, key: str, start: int, end: int, *, info: ObjectInfo | None = None) -> bytes:
        """Read some bytes and check the blocks that hold them; see ``ObjectArea.get_range``."""
        path = self._path(key)
        check_range(start, end)

        def read() -> bytes:
            with disk.disk_errors(f"artifact {key!r}"), disk.opened(path) as file:
                found = ObjectFile(file, key)
                same_object(found.info(), info)
                return found.read(start, end)

        return await in_thread(read)

    async def stream(self, key: str, *, info: ObjectInfo | None = None) -> AsyncIterator[bytes]:
        """Read all of it, checked; see ``ObjectArea.stream``."""
        reader = Reader(self._path(key), key)
        try:
            async with aclosing(reader.windows(info)) as windows:
                async for window in windows:
                    yield window
        finally:
            await reader.close()

    async def head(self, key: str) -> ObjectInfo:
        """Tell size, digest, time and attributes; see ``ObjectArea.head``."""
        path = self._path(key)

        def read() -> ObjectInfo:
            with disk.disk_errors(f"artifact {key!r}"), disk.opened(path) as file:
                found = ObjectFile(file, key)
                return found.footer.info(key, found.attributes())

        return await in_thread(read)

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        """Walk objects; a damaged one is listed without its size. See ``ObjectArea.list``."""
        self._life.check()
        async for info in walk(self._top, check_prefix(prefix), _listed):
            yield info

    async def delete(self, key: str) -> None:
        """Remove an object; see ``ObjectArea.delete``."""
        path = self._path(key)

        def remove() -> None:
            with disk.disk_errors(f"artifact {key!r}"):
                try:
                    os.unlink(path)
                except FileNotFoundError:
                    return
                disk.remove_empty(os.path.dirname(path), self._top)

        await in_thread(remove)


def _listed(key: str, path: str) -> ObjectInfo | None:
    """Give what a listing tells: of what cannot be read, or is no file of this key, only that it is there."""
    try:
        with disk.opened(path) as file:
            return ObjectFile(file, key).info()
    except FileNotFoundError:
        return None
    except DigestMismatch:
        pass
    except OSError as error:
        if error.errno not in disk.NO_FILE | {errno.EACCES, errno.EPERM}:
            raise
    with suppress(FileNotFoundError):
        return ObjectInfo(key, created_at=disk.moment(os.lstat(path).st_mtime))
    return None


class FileBackend:
    """An opened folder."""

    server_url: str | None = None
    bus = None
    capabilities = frozenset({Capability.RANGE, Capability.DURABLE, Capability.CROSS_PROCESS})

    def __init__(self, root: str, *, private: bool = False) -> None:
        self._root = root
        # Below the folder all is as private as it is.
        disk.make_folders(root, 0o700 if private else 0o777)
        self.url = f"file://{root}"
        folders = {name: os.path.join(root, name) for name in ("discussions", "named", "records", "staging", "locks")}
        for folder in folders.values():
            disk.make_folders(folder)
        staging, life = folders["staging"], Life(self.url)
        self._staging, self._life = staging, life
        self.discussions = FileArea(folders["discussions"], staging=staging, life=life)
        self.named = FileArea(folders["named"], staging=staging, life=life)
        self.records = FileRecords(folders["records"], staging=staging, locks=folders["locks"], life=life)
        disk.collect_leftovers(self._staging)

    def __repr__(self) -> str:
        return f"<file store {self.url}>"

    async def now(self) -> datetime:
        """Give this machine's clock."""
        self._life.check()
        return datetime.now(UTC)

    async def describe(self) -> dict[str, Any]:
        """Tell free space and what killed writers left.

        Raises:
            StoreUnavailable: Somebody removed the folder.
        """
        self._life.check()

        def look() -> tuple[int, int]:
            with disk.disk_errors(f"store {self.url}"):
                return shutil.disk_usage(self._root).free, len(os.listdir(self._staging))

        try:
            free, under_way = await in_thread(look)
        except ArtifactNotFound:
            step = "See what became of it; what is stored now makes it anew"
            raise StoreUnavailable(f"store {self.url}", "its folder is gone", step) from None
        return {"kind": "file", "url": self.url, "free_bytes": free, "under_way": under_way, "warnings": []}

    async def collect(self, *, dry_run: bool = False) -> list[Remnant]:
        """Remove staged files of killed writers."""
        self._life.check()
        return await in_thread(partial(disk.collect_leftovers, self._staging, dry_run=dry_run))

    async def close(self) -> None:
        """Have every further call refused; nothing is held open."""
        self._life.end()


class _Plugin:
    schemes = ("file",)
    summary = "a folder on this machine; durable, shared by processes, needs no server"

    async def open(self, url: str, options: Mapping[str, Any]) -> FileBackend:
        """Open a folder and make what is missing in it.

        Args:
            url: ``file:///absolute/path``.
            options: ``private`` for folders and files, where they are new, that only their owner can read; otherwise
                the umask decides.

        Raises:
            BadRequest: The URL names no absolute path.
            StoreUnavailable: The path is something else than a folder.
            StoreDenied: It may not be written.
        """
        parts = split_url(url)
        given = take_options(parts, options, {"private": False})
        if parts.host not in ("", "localhost") or not parts.path.strip("/") or "\0" in parts.path:
            raise parts.refused("it names no absolute path", "Write file:///absolute/path")
        return await in_thread(partial(_open, parts.path, private=flag_option(given, "private")))


def _open(path: str, *, private: bool) -> FileBackend:
    root = os.path.abspath(path)
    if os.path.exists(root) and not os.path.isdir(root):
        raise StoreUnavailable(f"store file://{root}", "it is not a folder", "Name a folder, or one to be made")
    try:
        with disk.disk_errors(f"store file://{root}"):
            return FileBackend(root, private=private)
    except ArtifactNotFound:  # file systems of the kernel say so
        raise StoreDenied(f"store file://{root}", "no folder can be made there", "Name another folder") from None


BACKEND = _Plugin()
