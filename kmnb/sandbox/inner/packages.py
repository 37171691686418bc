"""Make some installed packages importable, and no others that lie beside them.

Putting their folder on ``sys.path`` would not do: where only Landlock stands, the names of the others can be listed,
and importing one would fail with "permission denied" instead of "no module", which optional imports do not expect.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    import importlib.metadata


class Packages:
    """A finder of modules for ``sys.meta_path``.

    Args:
        folders: Where packages are installed.
        paths: Files and folders of the packages that may be imported.
    """

    def __init__(self, folders: Iterable[str], paths: Iterable[str]) -> None:
        self.folders = list(folders)
        self.names = {os.path.basename(path).partition(".")[0] for path in paths}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a top-level module of the packages; what is below it is found by its own path."""
        if path is not None or name not in self.names:
            return None
        return importlib.machinery.PathFinder.find_spec(name, self.folders, target)

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context
    ) -> Iterable[importlib.metadata.Distribution]:
        """Find what the packages say of themselves."""
        # Not for every program: it imports more than all the rest of the spawner.
        import importlib.metadata

        own = importlib.metadata.DistributionFinder.Context(name=context.name, path=self.folders)
        return importlib.metadata.MetadataPathFinder.find_distributions(own)

    def invalidate_caches(self) -> None:
        """Forget nothing, since nothing is remembered."""


def offer(folders: Sequence[str], paths: Sequence[str]) -> None:
    """Let this process import some packages; without folders nothing changes."""
    if folders:
        sys.meta_path.append(Packages(folders, paths))
