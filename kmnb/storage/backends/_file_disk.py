"""Files that appear whole and stay: staged under another name, flushed, then linked or renamed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from kmnb.errors import (
    AlreadyExists,
    ArtifactNotFound,
    DigestMismatch,
    KeySyntaxError,
    StoreDenied,
    StoreError,
    StoreUnavailable,
)
from kmnb.storage._protocols import Remnant

LEFTOVER_SECONDS = 60.0
"""Age below which a staged file is left alone even if nobody holds it."""
LOCK_SECONDS = 10.0
"""How long a writer of records waits for another one."""
_RACES_MAX = 100
_FIRST_SECONDS, _LAST_SECONDS = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (2, 9998))

_NO_FILE = "no file lies at its place but a folder, a pipe, a device or a link that leads nowhere"
_REMOVE = "See what it is for, and remove it there"
NO_FILE = frozenset({errno.EISDIR, errno.ENXIO, errno.ELOOP})
"""Errors that say that what lies somewhere is no file."""
_NO_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP})
"""What systems answer where a file system has no hard links, FAT for example."""
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_ERRORS: dict[int, tuple[type[StoreError] | type[KeySyntaxError], str, str]] = {
    errno.ENOSPC: (StoreError, "the disk is full", "Free some space and try again; nothing was kept of it"),
    errno.EDQUOT: (StoreError, "the disk quota is used up", "Free some space and try again; nothing was kept of it"),
    errno.EFBIG: (StoreError, "the file system does not take a file of that size", ""),
    errno.EACCES: (StoreDenied, "permission denied", "Check the owner and mode of the store's folder"),
    errno.EPERM: (StoreDenied, "operation not permitted", "Check the owner and mode of the store's folder"),
    errno.EROFS: (StoreDenied, "the file system is read-only", "Open a store on a writable one"),
    errno.ENAMETOOLONG: (KeySyntaxError, "its path is too long below this folder", "Use a shorter store folder"),
    **dict.fromkeys(NO_FILE, (DigestMismatch, _NO_FILE, _REMOVE)),
    errno.EOPNOTSUPP: (StoreError, "the file system there has no hard links", "Put the store's folder on another one"),
    errno.ENOTDIR: (StoreUnavailable, "part of its path is not a folder", "Check the store's folder"),
}


@contextmanager
def disk_errors(thing: str) -> Iterator[None]:
    """Turn errors of the operating system into those of kmnb; the rule for all of them is one table."""
    try:
        yield
    except (StoreError, ArtifactNotFound, AlreadyExists):
        raise
    except FileNotFoundError:
        reason = "there is none: never existed, deleted or expired"
        raise ArtifactNotFound(thing, reason, "List the keys near it to see what is there") from None
    except OSError as error:
        kind, reason, step = _ERRORS.get(error.errno or 0, (StoreError, os.strerror(error.errno or 0), ""))
        raise kind(thing, reason, step, errno=error.errno, full=error.errno in _NO_ROOM) from None


def open_file(path: str, *, flags: int = 0) -> int:
    """Open a regular file for reading; nothing else is waited for or read.

    Args:
        path: The file.
        flags: Further flags, for example against following links.

    Raises:
        OSError: One of :data:`NO_FILE` for what is no regular file.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | flags)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        # macOS says so of a socket, Linux says ENXIO.
        raise OSError(errno.ENXIO, os.strerror(errno.ENXIO), path) from None
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return handle
    os.close(handle)
    number = errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO
    raise OSError(number, os.strerror(number), path)


@contextmanager
def opened(path: str) -> Iterator[int]:
    """Hold a regular file open for reading; see :func:`open_file`."""
    handle = open_file(path)
    try:
        yield handle
    finally:
        os.close(handle)


def file_mode(folder: str) -> int:
    """Give the mode of new files in a folder: who may not enter it shall not read them elsewhere either."""
    return os.stat(folder).st_mode & 0o666


def ready_mode(folder: str) -> int:
    """Give the mode of new files in a folder of the store's own, which is made where somebody removed it."""
    try:
        return file_mode(folder)
    except FileNotFoundError:
        make_folders(folder)
        return file_mode(folder)


def moment(seconds: float) -> datetime:
    """Give a file's time. File systems keep times of any year; one that no date can tell becomes the nearest."""
    return datetime.fromtimestamp(min(max(seconds, _FIRST_SECONDS), _LAST_SECONDS), UTC)


def sync_folder(path: str) -> None:
    """Flush a folder, so that names made in it survive a crash."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folders(path: str, mode: int | None = None) -> None:
    """Make a folder and those above it durably; silent when it is there.

    Args:
        path: The folder.
        mode: Who may enter them; None for those who may enter the folder that the first is made in.
    """
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    if missing and mode is None:
        mode = stat.S_IMODE(os.stat(path).st_mode) & 0o777
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o777 if mode is None else mode)
        sync_folder(os.path.dirname(folder))


def remove_empty(folder: str, top: str) -> None:
    """Remove a folder and those above it as far as they are empty; ``top`` stays."""
    with contextlib.suppress(OSError):
        while folder != top:
            os.rmdir(folder)
            folder = os.path.dirname(folder)


class Staged:
    """A file under way. Its lock tells everybody that its writer lives; the kernel lets it go with the process."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, secrets.token_hex(16))
        self.file = -1

    @property
    def is_open(self) -> bool:
        """Whether there is a file that was not yet discarded."""
        return self.file >= 0

    def open(self) -> Staged:
        """Make the file, and its folder where somebody removed it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self.file = os.open(self.path, flags, ready_mode(os.path.dirname(self.path)))
        fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self

    def write(self, block: bytes | memoryview) -> None:
        """Append bytes."""
        view = memoryview(block)
        while view:
            view = view[os.write(self.file, view) :]

    def publish(self, target: str, *, create_only: bool) -> None:
        """Flush the file and give it its name.

        Raises:
            FileExistsError: ``create_only`` and the name is taken.
        """
        os.fsync(self.file)
        folder = os.path.dirname(target)
        for attempt in range(_RACES_MAX):
            try:
                make_folders(folder)
                (_link if create_only else os.rename)(self.path, target)
                break
            except FileNotFoundError:
                # A deletion took the emptied folder away between the two calls; the staged file is still there.
                if attempt == _RACES_MAX - 1 or not os.path.exists(self.path):
                    raise
        with contextlib.suppress(FileNotFoundError):  # it was there, and somebody deleted it with its folder
            sync_folder(folder)

    def discard(self) -> None:
        """Close, and remove the staged name where it is still there; twice is harmless."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)


def _link(path: str, target: str) -> None:
    """Give an own file a name that must be free."""
    try:
        os.link(path, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), target) from None


def collect_leftovers(folder: str, *, older_than: float = LEFTOVER_SECONDS, dry_run: bool = False) -> list[Remnant]:
    """Remove what killed writers left.

    Args:
        folder: Where files are staged.
        older_than: Age in seconds; a younger file may belong to a writer that has not locked it yet.
        dry_run: Whether only to find it.

    Returns:
        The files.
    """
    found = []
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                state = entry.stat(follow_symlinks=False)
                if time.time() - state.st_mtime >= older_than and _is_abandoned(entry.path):
                    if not dry_run:
                        os.unlink(entry.path)
                    name = f"{os.path.basename(folder)}/{entry.name}"
                    found.append(Remnant(name, "its writer was killed before it was complete", state.st_size))
    return found


def _is_abandoned(path: str) -> bool:
    with opened(path) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def locked(path: str, *, thing: str) -> Iterator[None]:
    """Hold a lock file; other threads and processes wait, at most :data:`LOCK_SECONDS`.

    Args:
        path: The file; it is made, and stays.
        thing: What is locked, for the error.

    Raises:
        StoreUnavailable: Another writer kept it for too long.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, ready_mode(os.path.dirname(path)))
    try:
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    step = "Look for a stopped process that uses this store"
                    raise StoreUnavailable(thing, "another writer holds the lock", step) from None
                time.sleep(0.002)
        yield
    finally:
        os.close(handle)
