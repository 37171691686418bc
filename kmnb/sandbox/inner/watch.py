"""What runs use together: memory of all their processes, files in their folder, files without a name."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PAGE = os.sysconf("SC_PAGE_SIZE")
EVERY_SECONDS = 0.1
"""Pause between two looks; a program can overshoot by what it takes in that time."""
DEPTH_MAX = 200
"""Deepest folder that is looked into: the cost of a path grows with its length."""

Process = tuple[int, int, int]
"""Parent, process group, and resident bytes."""


def processes() -> dict[int, Process]:
    """List the processes of this machine that can be seen."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                    fields = file.read(1024).rsplit(b")", 1)[1].split()
            except (OSError, IndexError):
                continue
            found[int(name)] = int(fields[1]), int(fields[2]), int(fields[21]) * PAGE
    return found


def members(leader: int, everyone: dict[int, Process], *, contained: bool) -> set[int]:
    """List the processes of a run: the leader's group, or with namespaces all that descend from their init."""
    if not contained:
        return {pid for pid, (_, group, _) in everyone.items() if group == leader}
    found, grew = {leader}, True
    while grew:
        more = {pid for pid, (parent, _, _) in everyone.items() if parent in found} - found
        found |= more
        grew = bool(more)
    return found


def excess(
    limits: dict[str, Any], pids: Iterable[int], *, everyone: dict[int, Process], folders: list[str]
) -> str | None:
    """Tell which limit on totals a run has passed.

    Args:
        limits: Its limits by name.
        pids: Its processes.
        everyone: What :func:`processes` gave.
        folders: Its folders on the host; none where its files are bounded by a file system of their own.

    Returns:
        ``memory`` or ``disk``, or None.
    """
    own = [pid for pid in pids if pid in everyone]
    if sum(everyone[pid][2] for pid in own) > limits["memory_bytes"]:
        return "memory"
    if not folders:
        return None
    size, count = map(sum, zip(*(_folder_use(one, limits["files"]) for one in folders), strict=True))
    if count > limits["files"] or size + _nameless_bytes(own, folders[0]) > limits["disk_bytes"]:
        return "disk"
    return None


def _folder_use(folder: str, most: int) -> tuple[int, int]:
    """Bytes on disk and number of files below a folder; it stops counting past the most.

    Folders that lie deeper than is looked count as too many, since anything could hide there.
    """
    size, count, waiting = 0, 0, [(folder, 0)]
    while waiting and count <= most:
        path, depth = waiting.pop()
        if depth > DEPTH_MAX:
            return size, most + 1
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    count += 1
                    state = entry.stat(follow_symlinks=False)
                    size += state.st_blocks * 512
                    if stat.S_ISDIR(state.st_mode):
                        waiting.append((entry.path, depth + 1))
        except OSError:
            continue
    return size, count


def _nameless_bytes(pids: Iterable[int], folder: str) -> int:
    """Bytes of files that are open and have no name any more, on the folder's file system."""
    try:
        device = os.stat(folder).st_dev
    except OSError:
        return 0
    found: dict[int, int] = {}
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for name in names:
            try:
                state = os.stat(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if state.st_nlink == 0 and state.st_dev == device and stat.S_ISREG(state.st_mode):
                found[state.st_ino] = state.st_blocks * 512
    return sum(found.values())
