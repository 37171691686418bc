"""Remove the folders of runs without holding up the other runs, and tell the server when they are gone."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from kmnb.sandbox.inner.folders import remove_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OWN_SECONDS = 0.2
"""How long the spawner itself removes one folder; a child goes on with it after that."""
TOLD_SECONDS = 10.0
"""How long the server waits for a folder to be gone; a program can make one that takes a disk minutes."""


class Removals:
    """The folders that are to go.

    Args:
        shed: Lets a child go of what is the spawner's alone.
        tell: Tells the server something.
    """

    def __init__(self, shed: Callable[[], None], tell: Callable[[dict[str, Any]], None]) -> None:
        self._shed, self._tell = shed, tell
        self.expected: set[str] = set()
        self._under_way: dict[int, tuple[float, dict[str, Any]]] = {}

    def remove(self, folder: str, message: dict[str, Any]) -> None:
        """Remove a folder, and tell a message when it is gone.

        Args:
            folder: A folder that is expected; any other one is left alone.
            message: What the server waits for.
        """
        gone = remove_folder(folder, until=time.monotonic() + OWN_SECONDS) if folder in self.expected else True
        if gone is None and self._in_child(folder, message):
            return
        if gone:
            self.expected.discard(folder)
        self._tell(message)

    def _in_child(self, folder: str, message: dict[str, Any]) -> bool:
        try:
            pid = os.fork()
        except OSError:
            return False
        if pid == 0:
            try:
                self._shed()
                remove_folder(folder)
            finally:
                os._exit(0)
        self.expected.discard(folder)
        self._under_way[pid] = time.monotonic() + TOLD_SECONDS, message
        return True

    def ended(self, pid: int) -> None:
        """Take note of a child's end."""
        if pid in self._under_way:
            self._tell(self._under_way.pop(pid)[1])

    def due(self) -> list[float]:
        """When the server is told at the latest, by the monotonic clock."""
        return [limit for limit, _ in self._under_way.values()]

    def look(self) -> None:
        """Tell the server what has taken too long."""
        for pid in [one for one, (limit, _) in self._under_way.items() if limit <= time.monotonic()]:
            self.ended(pid)

    def finish(self) -> None:
        """Remove what nobody asked for any more; what a child has under way it brings to its end."""
        for folder in self.expected:
            remove_folder(folder)
