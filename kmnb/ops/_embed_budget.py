"""What one resolution of embeds may take, whatever its text asks for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kmnb.errors import ExpressionError

NODES_MAX = 2_000
"""Most embeds of one resolution, nested ones included."""
BYTES_MAX = 104_857_600
"""Most bytes that one resolution reads and makes, nested ones included."""
WORK_SECONDS = 20.0
"""Longest time that the steps and templates of one resolution take together."""


@dataclass(slots=True)
class Budget:
    """What is left of one resolution."""

    nodes: int = NODES_MAX
    """Embeds."""
    bytes: int = BYTES_MAX
    """Bytes."""
    seconds: float = WORK_SECONDS
    """Time of steps and templates."""

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count the time of a step; none begins when there is no more, and one step alone has a limit of its own."""
        if self.seconds <= 0:
            raise ExpressionError("embeds", f"their steps took more than {WORK_SECONDS:g} s")
        begun = time.monotonic()
        try:
            yield
        finally:
            self.seconds -= time.monotonic() - begun

    def spend(self, *, nodes: int = 0, count: int = 0) -> None:
        """Take from it, or refuse; refused work takes nothing."""
        if nodes > self.nodes:
            raise ExpressionError("embeds", f"there are more than {NODES_MAX:,} of them")
        if count > self.bytes:
            raise ExpressionError("embeds", f"they come to more than {BYTES_MAX:,} bytes")
        self.nodes -= nodes
        self.bytes -= count
