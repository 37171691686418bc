"""Take the files that a run left in its output folder, as hostile as they may be."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from kmnb.sandbox._limits import Limits

DEPTH_MAX = 16
"""Deepest folder below the output folder that is looked into."""
COLLECTED_MAX = 1000
"""Most files that are taken."""
LOOKED_MAX = 20_000
"""Most entries of all folders that are looked at."""
NOTES_MAX = 20
"""Most remarks."""
_BLOCK = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


Taken = dict[str, tuple[int, int, int]]
"""Files that were taken before, by path, with what changes when a file does: number, time of change, size."""


def collect(
    source: int, target: Path, limits: Limits, *, taken: Taken | None = None, alive: bool = False
) -> tuple[str, ...]:
    """Copy regular files from an open folder.

    Links, pipes, devices and names that are no text are left where they are.

    Args:
        source: Descriptor of the folder; it stays open.
        target: Folder that receives them.
        limits: Bounds of the run: bytes in all and of one file.
        taken: What was taken before and is not taken again unless it changed; kept up to date.
        alive: Whether somebody may still write there. Then nothing is changed by a name that may mean something else
            by now, and what cannot be read as it is stays.

    Returns:
        Remarks about what was not taken.
    """
    collector = _Collector(limits.disk_bytes, {} if taken is None else taken, alive)
    collector.look(os.dup(source), target, "")
    notes, more = collector.notes, len(collector.notes) - NOTES_MAX
    return (*notes[: NOTES_MAX - 1], f"{more + 1} more were not taken") if more > 0 else tuple(notes)


@dataclass(slots=True)
class _Collector:
    room: int
    taken: Taken
    alive: bool
    count: int = 0
    looked: int = 0
    notes: list[str] = field(default_factory=list)

    def look(self, folder: int, target: Path, above: str) -> None:
        """Take the files of an open folder and of those below it, then close it."""
        try:
            for name in sorted(os.listdir(folder)):
                if self.looked >= LOOKED_MAX:
                    self.notes.append(f"{ascii(name)[:100]} was not looked at, nor what comes after it: too many")
                    return
                self.looked += 1
                try:
                    self._take(name, folder, target, above=above)
                except OSError as error:
                    self.notes.append(f"{ascii(name)[:100]} was not taken: {error.strerror}")
        except OSError as error:
            self.notes.append(f"{target.name[:100]!r} was not read: {error.strerror}")
        finally:
            os.close(folder)

    def _take(self, name: str, folder: int, target: Path, *, above: str) -> None:
        why, state = _unusable(name), os.lstat(name, dir_fd=folder)
        kind, known = stat.S_IFMT(state.st_mode), (state.st_ino, state.st_ctime_ns, state.st_size)
        place = f"{above}{name}"
        if kind == stat.S_IFDIR and not why and place.count("/") < DEPTH_MAX:
            self.look(self._opened(name, folder, _FOLDER), target / name, f"{place}/")
        elif kind != stat.S_IFREG or why or self.count >= COLLECTED_MAX:
            self.notes.append(f"{ascii(name)[:100]} was not taken: {why or _why(kind)}")
        elif self.taken.get(place) != known:
            self.room -= _copy(self._opened(name, folder, _FILE), target / name, room=self.room)
            self.taken[place] = known
            self.count += 1

    def _opened(self, name: str, folder: int, flags: int) -> int:
        if not self.alive:
            with contextlib.suppress(OSError):
                os.chmod(name, 0o700, dir_fd=folder)
        return os.open(name, flags, dir_fd=folder)


def _why(kind: int) -> str:
    reasons = {stat.S_IFREG: "too many files", stat.S_IFDIR: "too deep", stat.S_IFLNK: "a link"}
    return reasons.get(kind, "no regular file")


def _unusable(name: str) -> str:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return "its name is no text"
    return ""


def _copy(reading: int, target: Path, *, room: int) -> int:
    """Copy an open file as long as it is now, and close it."""
    try:
        state = os.fstat(reading)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(0, "no regular file")
        if state.st_size > room:
            raise OSError(0, "more bytes than the run's limit")
        target.parent.mkdir(parents=True, exist_ok=True)
        left = state.st_size
        with open(target, "xb") as writing:
            while left and (block := os.read(reading, min(left, _BLOCK))):
                left -= writing.write(block)
    finally:
        os.close(reading)
    return state.st_size
