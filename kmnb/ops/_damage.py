"""Compressed content that cannot be read to its end: an answer that is full without its rest is given all the same."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from kmnb.errors import BoundExceeded, StoreError, said


class RestUnread:
    """A stretch of reading that may meet the damage once only the total of the answer is missing.

    Whatever else fails there is raised, as is damage before the answer is full: what is missing must not look like the
    end of the content.

    Args:
        run: The sip under way.
        notes: Where it is said.
    """

    def __init__(self, run: Any, notes: list[str]) -> None:
        self._run, self._notes = run, notes
        self.is_met = False
        """Whether the end was not reached."""

    def __enter__(self) -> RestUnread:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(fault, StoreError | BoundExceeded) or not fault.facts.get("compressed"):
            return False
        self.is_met = bool(getattr(self._run, "full", False))
        if self.is_met:
            self._notes.append(f"{said(fault)}; what follows the answer was not counted")
        return self.is_met
