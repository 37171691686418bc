"""Records of a file store: small files, replaced under a lock."""

from __future__ import annotations

import os
import secrets
import zlib
from collections.abc import AsyncIterator

from kmnb.errors import ArtifactNotFound, DigestMismatch, VersionConflict
from kmnb.storage._keys import check_key, check_prefix
from kmnb.storage._life import Life
from kmnb.storage._protocols import Record
from kmnb.storage._records import RECORD_MAX_BYTES, check_value
from kmnb.storage._threads import in_thread
from kmnb.storage.backends._file_disk import Staged, disk_errors, locked, opened, remove_empty
from kmnb.storage.backends._file_paths import object_path
from kmnb.storage.backends._file_walk import walk

DAMAGED = "damaged"
"""Revision of a record whose file is damaged, by which it can be replaced."""
_REVISION_BYTES = 8
_HEAD_BYTES = _REVISION_BYTES + 4


class FileRecords:
    """The record area of a file store; a lock file per 1/64 of the keys makes writes conditional."""

    def __init__(self, top: str, *, staging: str, locks: str, life: Life) -> None:
        self._top, self._staging, self._locks, self._life = top, staging, locks, life

    def _path(self, key: str) -> str:
        self._life.check()
        return os.path.join(self._top, object_path(check_key(key)))

    def _lock(self, key: str) -> str:
        return os.path.join(self._locks, f"{zlib.crc32(key.encode()) % 64:02d}")

    def _read(self, key: str) -> Record:
        with disk_errors(f"record {key!r}"), opened(self._path(key)) as file:
            raw = os.read(file, _HEAD_BYTES + RECORD_MAX_BYTES + 1)
        value = raw[_HEAD_BYTES:]
        is_odd = not _HEAD_BYTES <= len(raw) <= _HEAD_BYTES + RECORD_MAX_BYTES
        if is_odd or raw[_REVISION_BYTES:_HEAD_BYTES] != zlib.crc32(value).to_bytes(4, "little"):
            raise DigestMismatch(
                f"record {key!r}", "its file is damaged", "Set a thread's aside with kmnb doctor --fix"
            )
        return Record(key, value, raw[:_REVISION_BYTES].hex())

    def _write(self, key: str, value: bytes, expected: str | None) -> str:
        path, revision = self._path(key), secrets.token_bytes(_REVISION_BYTES)
        with disk_errors(f"record {key!r}"), locked(self._lock(key), thing=f"record {key!r}"):
            seen = self._seen(key, path)
            found = None if seen is None else seen.revision
            if found != expected:
                raise VersionConflict(f"record {key!r}", "it is not as expected", "Read it again and decide anew")
            staged = Staged(self._staging)
            try:
                staged.open()
                staged.write(revision + zlib.crc32(value).to_bytes(4, "little") + value)
                if found == DAMAGED:
                    # Kept beside the new one, under a name that is no key's.
                    os.link(path, f"{path}.damaged-{secrets.token_hex(4)}")
                staged.publish(path, create_only=False)
            finally:
                staged.discard()
        return revision.hex()

    def _remove(self, key: str) -> None:
        path = self._path(key)
        with disk_errors(f"record {key!r}"), locked(self._lock(key), thing=f"record {key!r}"):
            try:
                os.unlink(path)
            except FileNotFoundError:
                return
            remove_empty(os.path.dirname(path), self._top)

    async def get(self, key: str) -> Record:
        """Read a record; see ``RecordArea.get``."""
        return await in_thread(lambda: self._read(key))

    async def put(self, key: str, value: bytes, *, expected: str | None) -> str:
        """Write a record if it is still as expected; see ``RecordArea.put``."""
        check_value(check_key(key), value)
        return await in_thread(lambda: self._write(key, bytes(value), expected))

    async def delete(self, key: str) -> None:
        """Remove a record; see ``RecordArea.delete``."""
        await in_thread(lambda: self._remove(key))

    async def list(self, prefix: str = "") -> AsyncIterator[Record]:
        """Walk records; see ``RecordArea.list``."""
        self._life.check()
        async for found in walk(self._top, check_prefix(prefix), self._seen):
            yield found

    def _seen(self, key: str, path: str) -> Record | None:
        del path
        try:
            return self._read(key)
        except ArtifactNotFound:
            return None
        except DigestMismatch:
            # One damaged record does not make the others unreadable; nothing is concluded from no bytes.
            return Record(key, b"", DAMAGED)
