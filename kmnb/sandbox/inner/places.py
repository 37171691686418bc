"""What a program may see of this machine: the system's programs and libraries, and the bare standard library.

Third-party packages are holes in that: a hole is covered in a private root, and left out entry by entry where only
Landlock stands.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Sequence

from kmnb.sandbox.inner.records import record

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
CONFIGURATION = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/alternatives")
"""Files that the loader, the clock and the links of Debian's commands need; nothing of the machine's own."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
HOLES = (
    "/usr/lib/python3/dist-packages",
    "/usr/lib*/python3.*/site-packages",
    "/usr/lib/python3.*/dist-packages",
    "/usr/local/lib/python3.*/site-packages",
    "/usr/local/lib/python3.*/dist-packages",
)
"""Where third-party Python packages lie."""


@record(frozen=True, slots=True)
class Places:
    """Paths of this machine, found once at the spawner's start."""

    trees: tuple[str, ...]
    """Folders and files that are shown whole, apart from the holes."""
    holes: tuple[str, ...]
    """Folders below them that are not shown."""
    links: tuple[tuple[str, str], ...]
    """Symbolic links of the root folder with their targets."""
    packages: tuple[str, ...] = ()
    """Paths of packages that every program may read; they may lie in the holes."""
    library: tuple[str, ...] = ()
    """``sys.path`` of a program: the standard library alone."""
    search: str = ""
    """PATH of a program."""


def find_places(reads: Sequence[str] = ()) -> Places:
    """Look at this machine and this interpreter.

    Args:
        reads: Further paths that programs may read: packages that were asked for.
    """
    links = tuple((one, os.readlink(one)) for one in SYSTEM if os.path.islink(one))
    system = [one for one in SYSTEM if os.path.isdir(one) and not os.path.islink(one)]
    system += [one for one in CONFIGURATION if os.path.exists(one)]
    library = os.path.dirname(os.path.realpath(os.__file__))
    own = [library, os.path.realpath(sys.executable), *_loaded_libraries([*system, library])]
    trees = system + [one for one in dict.fromkeys(own) if not _below_any(one, system)]
    holes = [*glob.glob("/".join((library, "*-packages"))), *(hole for one in HOLES for hole in glob.glob(one))]
    return Places(
        trees=tuple(trees),
        packages=tuple(reads),
        holes=tuple(sorted(hole for hole in set(holes) if _below_any(hole, trees))),
        links=links,
        library=tuple(one for one in sys.path if one and "-packages" not in one),
        search=_search_path(),
    )


def _loaded_libraries(known: list[str]) -> list[str]:
    """Folders' shared libraries that this process uses from elsewhere; a conda interpreter brings its own."""
    folders = set()
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            for line in file:
                path = line.split(maxsplit=5)[-1].strip()
                if path.startswith("/") and ".so" in os.path.basename(path) and not _below_any(path, known):
                    folders.add(os.path.dirname(path))
    except OSError:
        return []
    return sorted(found for folder in folders for found in glob.glob(folder + "/*.so*"))


def _search_path() -> str:
    usual = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
    own = os.path.dirname(os.path.realpath(sys.executable))
    return ":".join(([own] if own not in usual else []) + usual)


def _below_any(path: str, trees: list[str]) -> bool:
    return any(path == tree or path.startswith(tree + "/") for tree in trees)


def around_holes(tree: str, holes: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Split a tree into parts that hold no hole.

    Args:
        tree: A folder or a file.
        holes: Folders that are to be left out.

    Returns:
        The parts, and the folders that had to be split: their names may be listed, no more.
    """
    if tree in holes:
        return [], []
    if not any(hole.startswith(tree + "/") for hole in holes):
        return [tree], []
    parts, split = [], [tree]
    for name in sorted(os.listdir(tree)):
        path = f"{tree}/{name}"
        if not os.path.islink(path):
            inner, more = around_holes(path, holes)
            parts += inner
            split += more
    return parts, split
