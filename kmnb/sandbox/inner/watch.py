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
COUNTED_TIMES = 3
"""Up to how many times its limit a run's resident sizes are looked through for what is counted twice: it takes time."""
MAPPINGS_MAX_BYTES = 256 << 10
"""Longest list of a process's mappings that is read, some 2,500 of them: a long one would hold up all other runs."""

Process = tuple[int, int, int, int]
"""Parent, process group, resident bytes, and bytes of address space."""
DiskUse = tuple[int, int, int]
"""Bytes on disk, number of files, and the file system's device."""


class Crowded(Exception):
    """A process has more mappings than are looked through."""


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
    limits: dict[str, Any],
    pids: Iterable[int],
    *,
    everyone: dict[int, Process],
    folders: list[str],
    use: DiskUse,
    grown: int = 0,
) -> str | None:
    """Tell which limit on totals a run has passed.

    Args:
        limits: Its limits by name.
        pids: Its processes.
        everyone: What :func:`processes` gave.
        folders: Its folders on the host; none where its files are bounded by a file system of their own.
        use: What :func:`disk_use` gave of them.
        grown: Bytes by which :func:`shared_on_machine` has grown since it began.

    Returns:
        ``memory`` or ``disk``, or None.
    """
    own = [pid for pid in pids if pid in everyone]
    try:
        if _takes_too_much(own, everyone, limits, grown=max(0, grown)):
            return "memory"
        if folders and _fills_too_much(own, folders[0], limits, use=use):
            return "disk"
    except Crowded:
        # Anything could hide there.
        return "memory"
    return None


def disk_use(folders: list[str], most: int) -> DiskUse:
    """Bytes on disk and number of files below folders, and the file system of the first; it stops past the most."""
    sizes = [_folder_use(one, most) for one in folders]
    device = -1
    with contextlib.suppress(OSError, IndexError):
        device = os.stat(folders[0]).st_dev
    return sum(size for size, _ in sizes), sum(count for _, count in sizes), device


def _fills_too_much(own: list[int], folder: str, limits: dict[str, Any], *, use: DiskUse) -> bool:
    size, count, device = use
    nameless = _nameless_bytes(own, folder, device=device, most=limits["file_bytes"])
    return bool(count > limits["files"] or size + nameless > limits["disk_bytes"])


def shared_on_machine() -> int:
    """Bytes of the memory that all processes of this machine share without a file; 0 where it is not told."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/meminfo", "rb", buffering=0) as file:
        return int(file.read(8192).partition(b"\nShmem:")[2].split(None, 1)[0]) * 1024
    return 0


def _takes_too_much(own: list[int], everyone: dict[int, Process], limits: dict[str, Any], *, grown: int) -> bool:
    most: int = limits["memory_bytes"]
    resident = sum(everyone[pid][2] for pid in own)
    # Looked for only where there is room for it to matter: a look goes over all mappings and descriptors.
    hidden = sum(everyone[pid][3] for pid in own) + SOCKET_BYTES * sum(map(_descriptors, own)) + grown
    if resident + hidden <= most:
        return False
    mapped, pieces = _shared(own)
    # A piece stays whole when all of it but a page is given back, and only the machine's total tells how large it is.
    address: int = limits["address_bytes"]
    shared = max(mapped, min(grown, pieces * address)) + _socket_bytes(own)
    if resident + shared <= most or resident > COUNTED_TIMES * most:
        return resident + shared > most
    # Children have most of their memory from their parent, and touched shared memory is resident too.
    return sum(_apart(pid, everyone[pid][2]) for pid in own) + shared > most


def _apart(pid: int, resident: int) -> int:
    """Bytes of a process with its share alone of what others have too, without shared memory; else all resident."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            sizes = {line.split(b":")[0]: int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss")}
    except (PermissionError, ValueError, IndexError):
        return resident
    except OSError:
        # It has ended since: counted whole, what it shared would count again.
        return 0
    return sizes[b"Pss"] - sizes.get(b"Pss_Shmem", 0) if b"Pss" in sizes else resident


def _descriptors(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def _shared(pids: Iterable[int]) -> tuple[int, int]:
    """Memory that processes share without a file: bytes, each piece once and as large as it is mapped, and pieces."""
    found: dict[bytes, int] = {}
    unseen, pieces = 0, 0
    for pid in pids:
        try:
            lines = _mappings(pid, UNNAMED)
        except PermissionError:
            unseen += max(0, _not_private(pid) - PROGRAM_BYTES)
            pieces += 1
            continue
        except OSError:
            continue
        sizes: dict[bytes, int] = {}
        for span, _, _, _, inode, _ in lines:
            begin, end = span.split(b"-")
            sizes[inode] = sizes.get(inode, 0) + int(end, 16) - int(begin, 16)
        for inode, size in sizes.items():
            found[inode] = max(found.get(inode, 0), size)
    return sum(found.values()) + unseen, len(found) + pieces


def _mappings(pid: int, ending: bytes) -> list[list[bytes]]:
    """List a process's mappings of files whose names end so, by field; raises Crowded where there are too many."""
    with open(f"/proc/{pid}/maps", "rb") as file:
        raw = file.read(MAPPINGS_MAX_BYTES + 1)
    if len(raw) > MAPPINGS_MAX_BYTES:
        raise Crowded
    return [line.split(None, 5) for line in raw.split(b"\n") if line.endswith(ending)] if ending in raw else []


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

    Folders that lie deeper than is looked, or that can be entered and not be read, count as too many, since anything
    could hide there.
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
        except PermissionError:
            if _can_be_entered(path):
                return size, most + 1
        except OSError:
            continue
    return size, count


def _can_be_entered(folder: str) -> bool:
    with contextlib.suppress(OSError):
        return bool(os.lstat(folder).st_mode & stat.S_IXUSR)
    return False


def _nameless_bytes(pids: Iterable[int], folder: str, *, device: int, most: int) -> int:
    """Bytes of files that are in use and have no name any more, on the folder's file system.

    What is mapped and not open tells no size, and counts as the largest file that there may be.
    """
    found: dict[int, int] = {}
    mapped: set[int] = set()
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
        mapped |= _mapped_files(pid, os.fsencode(folder) + b"/")
    return sum(found.values()) + most * len(mapped - set(found))


def _mapped_files(pid: int, below: bytes) -> set[int]:
    """Numbers of the files without a name that a process has mapped and that lay in a folder."""
    try:
        lines = _mappings(pid, b" (deleted)")
    except OSError:
        return set()
    return {int(line[4]) for line in lines if line[5].startswith(below)}
