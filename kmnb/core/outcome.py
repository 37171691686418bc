"""What a sandboxed run gave. A program that fails is an Outcome; only a sandbox that cannot run anything raises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from kmnb.core.cards import outcome_card
from kmnb.core.display import bundle, plain
from kmnb.core.receipt import Receipt

Reason = Literal[
    "exit", "signal", "timeout", "output", "memory", "disk", "processes", "open-files", "file-size", "cpu", "interrupt"
]
"""Why a run ended: by itself (``exit``, ``signal``), because of a named limit, or because the caller stopped it."""

By = Literal["supervisor", "program"]
"""Who gave the reason of an end."""

_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one run, with everything that is needed to judge it."""

    stdout: str
    """What the program printed, at most the cap; invalid UTF-8 shows as U+FFFD, a cut in the middle as a line."""
    stderr: str
    """What it printed as errors, under the same cap."""
    exit_code: int
    """Its exit code; -1 on time-out, -N when signal N ended it."""
    timed_out: bool = False
    """Whether it was stopped at the deadline."""
    truncated: bool = False
    """Whether a part of either output was left out."""
    seconds: float = 0.0
    """Wall-clock seconds from the start of the program to its end."""
    reason: Reason = "exit"
    """Why it ended; a limit's name where a limit stopped it or made it fail."""
    reason_by: By = "supervisor"
    """``supervisor``: we ended it for that, or measured it; ``program``: its own words or signals alone tell so."""
    level: int = 0
    """Isolation that was on: 3 namespaces, 2 Landlock and seccomp, 1 seccomp alone, 0 a process group."""
    engine: str = "plain"
    """How the isolation was made: ``ns``, ``bwrap``, ``flat`` or ``plain``."""
    layers: Mapping[str, str] = field(default_factory=lambda: _NONE)
    """What stood in the way of what, for example ``network: seccomp``."""
    missing: tuple[str, ...] = ()
    """Guarantees that this run did not have, each with its reason."""
    stdout_bytes: int = 0
    """Bytes that the program wrote to stdout in all, kept or not."""
    stderr_bytes: int = 0
    """Bytes that it wrote to stderr in all."""
    replaced: int = 0
    """Places of both outputs that were no UTF-8 and show as U+FFFD."""
    displays: tuple[Mapping[str, str], ...] = ()
    """Rich results of a cell by type, only of the types that were asked for."""
    notes: tuple[str, ...] = ()
    """Remarks for people, for example files in ``$KMNB_OUTPUT`` that could not be taken."""
    receipt: Receipt | None = None
    """The proof of the numbers in ``stdout``."""
    artifacts: tuple[Any, ...] = ()
    """Handles of what the program left in ``$KMNB_OUTPUT`` and of a spilled stdout, in that order."""

    @property
    def ok(self) -> bool:
        """Whether the program ended by itself with exit code 0."""
        return self.exit_code == 0 and self.reason == "exit"

    @property
    def status(self) -> str:
        """``ok``, ``failed``, ``timed-out`` or ``stopped``, for programs and people alike."""
        if self.ok:
            return "ok"
        if self.timed_out:
            return "timed-out"
        return "failed" if self.reason in ("exit", "signal") else "stopped"

    def __repr__(self) -> str:
        return plain(outcome_card(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(outcome_card(self))
