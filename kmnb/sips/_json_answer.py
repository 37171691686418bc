"""Collect JSON outputs under the cap of an answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from kmnb.core.records import Problem
from kmnb.core.slice import Slice
from kmnb.errors import BoundExceeded
from kmnb.sips._jq_library import JsonText
from kmnb.sips._json_values import compact

PROBLEMS_MAX = 20
"""Most problems that an answer lists; all are counted."""


def too_large(what: str, size: int, cap: int) -> BoundExceeded:
    """Make the error of a value that cannot be cut and does not fit."""
    step = "Ask for a part of it, or raise max_bytes."
    return BoundExceeded(
        what, f"it has {size:,} bytes; the answer may have {cap:,}", step, limit="max_bytes", value=cap, unit="bytes"
    )


class Answer:
    """Outputs under way.

    Args:
        cap: Cap of the text in bytes.
        cursor: Where an earlier answer ended.
    """

    def __init__(self, cap: int, *, cursor: str | None = None) -> None:
        self._cap = cap
        self._skip = self._skipped_outputs = int(json.loads(cursor)["skip"]) if cursor else 0
        self._values: list[Any] = []
        self._pieces: list[str] = []
        self._spent = 0
        self._problems: list[Problem] = []
        self._problem_count = 0
        self.is_full = False
        self.is_cut = False
        self.notes: list[str] = []

    def add(self, outputs: Iterable[Any]) -> None:
        """Take outputs; no more are drawn than fit, and one that shows that there are more.

        Raises:
            BoundExceeded: The first output alone passes the cap.
        """
        for output in outputs:
            if self._skip:
                self._skip -= 1
                continue
            text = output if isinstance(output, JsonText) else compact(output)
            size = len(text.encode("utf-8", "replace")) + 1
            if self._spent + size > self._cap:
                if not self._values:
                    raise too_large("one output", size, self._cap)
                self.is_full = self.is_cut = True
                return
            self._values.append(output.value if isinstance(output, JsonText) else output)
            self._pieces.append(f"{text}\n")
            self._spent += size

    def add_problems(self, problems: Sequence[Problem]) -> None:
        """Note documents that were left out."""
        self._problem_count += len(problems)
        self._problems += problems[: PROBLEMS_MAX - len(self._problems)]

    def slice(self) -> Slice:
        """Give the answer."""
        shown = len(self._values)
        done = self._skipped_outputs - self._skip
        return Slice(
            values=self._values,
            text="".join(self._pieces),
            complete=not self.is_cut,
            shown=shown,
            total=done + shown + self.is_cut,
            total_is_lower_bound=self.is_cut,
            cursor=json.dumps({"skip": self._skipped_outputs + shown}) if self.is_cut else None,
            skipped=self._problem_count,
            problems=tuple(self._problems),
            notes=tuple(self.notes),
        )


class ListAnswer(Answer):
    """Values of which a list that is too long is cut between its elements."""

    def __init__(self, cap: int, *, cursor: str | None = None) -> None:
        super().__init__(cap, cursor=cursor)
        self._from = int(json.loads(cursor).get("element", 0)) if cursor else 0
        self._next: int | None = None
        self._measured = self._size = 0

    def is_too_long(self, values: list[Any]) -> bool:
        """Tell whether a list that still grows cannot fit any more; what was measured once is not measured again."""
        while self._measured < len(values) and self._size <= self._cap:
            if self._measured >= self._from:
                self._size += len(compact(values[self._measured]).encode("utf-8", "replace")) + 1
            self._measured += 1
        return self._size > self._cap

    def add_value(self, value: Any) -> None:
        """Take the value of a document.

        Raises:
            BoundExceeded: It passes the cap and is no list.
        """
        self._measured = self._size = 0
        start = self._from if not self._skip and isinstance(value, list) else 0
        rest = value[start:] if start else value
        if not self._skip:
            self._from = 0
        if isinstance(value, list) and not self._values and not self._skip:
            kept = self._kept(rest)
            if kept < len(rest):
                self.is_full = self.is_cut = True
                self._next = start + kept
                self.notes.append(f"the list is cut after {start + kept} of at least {len(value)} elements")
                rest = rest[:kept]
                self.is_full = False
                super().add([rest])
                self.is_full = True
                return
        super().add([rest])

    def _kept(self, values: list[Any]) -> int:
        """Tell how many elements fit; at least one must."""
        size = 3
        for place, value in enumerate(values):
            own = len(compact(value).encode("utf-8", "replace"))
            size += own + (place > 0)
            if size > self._cap:
                if not place:
                    raise too_large("one element", own, self._cap)
                return place
        return len(values)

    def slice(self) -> Slice:
        """Give the answer."""
        answer = super().slice()
        if self._next is None:
            return answer
        # The value that was cut is there, though not whole.
        state = json.dumps({"skip": self._skipped_outputs, "element": self._next})
        return replace(answer, total=self._skipped_outputs + 1, total_is_lower_bound=False, cursor=state)
