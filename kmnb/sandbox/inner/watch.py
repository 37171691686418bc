"""What runs use together: memory of all their processes, files in their folder, files without a name."""

from __future__ import annotations

import contextlib
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

SOCKET_BYTES = 212_992
"""What may wait in one socket (net.core.wmem_default); the filter keeps programs from asking for more."""
PROGRAM_BYTES = 64 << 20
"""Mapped programs and libraries that a process may have where its mappings cannot be looked at."""
UNNAMED = b"/dev/zero (deleted)"
"""How the kernel calls memory that processes share: it stays when none of them has it in its resident size."""

Process = tuple[int, int, int, int]
"""Parent, process group, resident bytes, and bytes of address space."""


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
            found[int(name)] = int(fields[1]), int(fields[2]), int(fields[21]) * PAGE, int(fields[20])
    return found


def members(leader: int, everyone: dict[int, Process], *, contained: bool) -> set[int]:
    """List the processes of a run: the leader's group, or with namespaces all that descend from their init."""
    if not contained:
        return {pid for pid, (_, group, *_) in everyone.items() if group == leader}
    found, grew = {leader}, True
    while grew:
        more = {pid for pid, (parent, *_) in everyone.items() if parent in found} - found
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
    if _takes_too_much(own, everyone, limits["memory_bytes"]):
        return "memory"
    if not folders:
        return None
    size, count = map(sum, zip(*(_folder_use(one, limits["files"]) for one in folders), strict=True))
    if count > limits["files"] or size + _nameless_bytes(own, folders[0]) > limits["disk_bytes"]:
        return "disk"
    return None


def _takes_too_much(own: list[int], everyone: dict[int, Process], most: int) -> bool:
    resident = sum(everyone[pid][2] for pid in own)
    # Looked for only where there is room for it to matter: a look goes over all mappings and descriptors.
    hidden = sum(everyone[pid][3] for pid in own) + SOCKET_BYTES * sum(map(_descriptors, own))
    if resident > most or resident + hidden <= most:
        return resident > most
    return resident + _shared_bytes(own) + _socket_bytes(own) > most


def _descriptors(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def _shared_bytes(pids: Iterable[int]) -> int:
    """Bytes of the memory that processes share without a file, each piece once and as large as it is mapped."""
    found: dict[bytes, int] = {}
    unseen = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/maps", "rb") as file:
                lines = [line.split(None, 5) for line in file if line.rstrip().endswith(UNNAMED)]
        except PermissionError:
            unseen += max(0, _not_private(pid) - PROGRAM_BYTES)
            continue
        except OSError:
            continue
        sizes: dict[bytes, int] = {}
        for span, _, _, _, inode, _ in lines:
            begin, end = span.split(b"-")
            sizes[inode] = sizes.get(inode, 0) + int(end, 16) - int(begin, 16)
        for inode, size in sizes.items():
            found[inode] = max(found.get(inode, 0), size)
    return sum(found.values()) + unseen


def _not_private(pid: int) -> int:
    """Bytes of a process's address space that are not its own data, which everybody may know."""
    try:
        with open(f"/proc/{pid}/statm", "rb", buffering=0) as file:
            fields = file.read(256).split()
    except OSError:
        return 0
    return (int(fields[0]) - int(fields[5])) * PAGE


def _socket_bytes(pids: Iterable[int]) -> int:
    """Bytes that may wait in the sockets of processes, which no process's size shows."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    target = os.readlink(f"/proc/{pid}/fd/{name}")
                    if target.startswith("socket:"):
                        found.add(target)
    return SOCKET_BYTES * len(found)


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
