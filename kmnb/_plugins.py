"""Find a plug-in file by name, then by entry point.

A plug-in is a module in one of the package folders (``storage/backends``, ``sips``, ``formats``,
``sandbox/languages``, ``frontends``) that exposes one name in capitals, or an installed package that registers
the same object under the entry point group ``kmnb.<folder>``. Adding one is adding one file.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import cache
from typing import Any

from kmnb.errors import UnknownPlugin


@cache
def names(package: str, group: str) -> tuple[str, ...]:
    """List the plug-ins of a package folder and of an entry point group.

    Args:
        package: Dotted name of the folder, for example ``kmnb.sips``.
        group: Entry point group, for example ``kmnb.sips``.

    Returns:
        Names in alphabetical order; files whose name starts with an underscore are no plug-ins.
    """
    folder = importlib.import_module(package)
    found = {info.name for info in pkgutil.iter_modules(folder.__path__) if not info.name.startswith("_")}
    return tuple(sorted(found | set(_entry_points(group))))


@cache
def load(package: str, group: str, name: str, attribute: str) -> Any:
    """Load one plug-in object by name.

    Args:
        package: Dotted name of the folder that is looked in first.
        group: Entry point group that is looked in next.
        name: Name of the plug-in: the file's name without ``.py``, or the entry point's name.
        attribute: Name in capitals that the file exposes, for example ``SIP``.

    Returns:
        The object.

    Raises:
        UnknownPlugin: No plug-in of that name; the message lists near names.
    """
    known = names(package, group)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3) or known
        raise UnknownPlugin(f"{group.rpartition('.')[2]} {name!r}", "there is none", f"Known: {', '.join(near)}")
    points = _entry_points(group)
    if name in points:
        return points[name].load()
    return getattr(importlib.import_module(f"{package}.{name}"), attribute)


@cache
def _entry_points(group: str) -> dict[str, Any]:
    return {point.name: point for point in _installed().select(group=group)}


@cache
def _installed() -> Any:
    """Every entry point of every installed package; asking for one group alone reads as many files."""
    # importlib.metadata costs 10 ms to import: only those who ask for plug-ins pay it.
    from importlib.metadata import entry_points

    return entry_points()
