"""Take the files that a run left in its output folder, as hostile as they may be."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from kmnb.sandbox._limits import Limits

DEPTH_MAX = 16
"""Deepest folder below the output folder that is looked into."""
COLLECTED_MAX = 1000
"""Most files that are taken."""
_BLOCK = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def collect(source: int, target: Path, limits: Limits) -> tuple[str, ...]:
    """Copy regular files from an open folder; nobody writes to it any more.

    Links, pipes, devices and names that are no text are left where they are.

    Args:
        source: Descriptor of the folder; it stays open.
        target: Folder that receives them.
        limits: Bounds of the run: bytes in all and of one file.

    Returns:
        Remarks about what was not taken.
    """
    notes: list[str] = []
    room, count = limits.disk_bytes, 0
    waiting = [(os.dup(source), target, 0)]
    while waiting:
        folder, path, depth = waiting.pop()
        try:
            for name in sorted(os.listdir(folder)):
                why = _unusable(name)
                kind = stat.S_IFMT(os.lstat(name, dir_fd=folder).st_mode)
                if kind == stat.S_IFDIR and not why and depth < DEPTH_MAX:
                    waiting.append((_opened(name, folder, _FOLDER), path / name, depth + 1))
                elif kind != stat.S_IFREG or why or count >= COLLECTED_MAX:
                    notes.append(f"{ascii(name)[:100]} was not taken: {why or _why(kind)}")
                else:
                    room -= _copy(name, folder, path / name, room=room)
                    count += 1
        except OSError as error:
            notes.append(f"{path.name[:100]!r} was not read to its end: {error.strerror}")
        finally:
            os.close(folder)
    return tuple(notes[:20])


def _why(kind: int) -> str:
    reasons = {stat.S_IFREG: "too many files", stat.S_IFDIR: "too deep", stat.S_IFLNK: "a link"}
    return reasons.get(kind, "no regular file")


def _unusable(name: str) -> str:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return "its name is no text"
    return ""


def _opened(name: str, folder: int, flags: int) -> int:
    with contextlib.suppress(OSError):
        os.chmod(name, 0o700, dir_fd=folder)
    return os.open(name, flags, dir_fd=folder)


def _copy(name: str, folder: int, target: Path, *, room: int) -> int:
    reading = _opened(name, folder, _FILE)
    try:
        size = os.fstat(reading).st_size
        if size > room:
            raise OSError(0, "more bytes than the run's limit")
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "xb") as writing:
            while block := os.read(reading, _BLOCK):
                writing.write(block)
    finally:
        os.close(reading)
    return size
