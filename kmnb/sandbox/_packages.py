"""Find what a program needs of installed packages: the named ones and all that they require, nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from kmnb.errors import BadRequest

_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)([^;]*)(?:;(.*))?$")


def package_paths(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Find the files of packages.

    Args:
        names: Names of distributions, as ``pip install`` takes them, without versions.

    Returns:
        Paths that a program has to be able to read, and folders for its ``sys.path``.

    Raises:
        BadRequest: One of the named packages is not installed here.
    """
    return _paths(tuple(sorted(set(names))))


@cache
def _paths(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found: dict[str, Distribution] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        plain = re.sub(r"[-_.]+", "-", name).lower()
        if plain in found:
            continue
        try:
            found[plain] = distribution(name)
        except PackageNotFoundError:
            if name in names:
                raise BadRequest(f"package {name!r}", "is not installed here", "Install it first.") from None
            continue
        waiting += _required(found[plain])
    paths: set[str] = set()
    folders: set[str] = set()
    for one in found.values():
        base = os.path.realpath(str(one.locate_file("")))
        folders.add(base)
        paths |= _top_entries(one, base)
    return tuple(sorted(paths)), tuple(sorted(folders))


def _required(one: Distribution) -> list[str]:
    """Names of what a distribution requires; extras are left out, other conditions are taken as met."""
    found = []
    for text in one.requires or ():
        match = _REQUIREMENT.match(text)
        if match and "extra ==" not in (match[3] or ""):
            found.append(match[1])
    return found


def _top_entries(one: Distribution, base: str) -> set[str]:
    """Files and folders directly below the folder that a distribution is installed into."""
    names = {
        file.parts[0] for file in one.files or () if file.parts and file.parts[0] not in ("..", "/", "__pycache__")
    }
    if not names:
        # Debian's packages keep no list of files.
        tops = (one.read_text("top_level.txt") or one.metadata["Name"].replace("-", "_")).split()
        names = {top + ending for top in tops for ending in ("", ".py")}
    return {os.path.join(base, name) for name in names if os.path.exists(os.path.join(base, name))}
