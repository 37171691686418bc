"""What a file in ``frontends`` exposes as ``FRONTEND``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Frontend(NamedTuple):
    """One door."""

    help: str
    """One line for people."""
    main: Callable[[Sequence[str]], int] | None = None
    """What ``kmnb <name>`` runs with the words after it; gives the exit code. None: it is no command."""
