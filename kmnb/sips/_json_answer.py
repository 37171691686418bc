"""Collect JSON outputs under the cap of an answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from kmnb.core.bounds import QUERY_SECONDS
from kmnb.core.cursors import numbers_of
from kmnb.core.describe import Param
from kmnb.core.records import Problem
from kmnb.core.slice import Slice
from kmnb.core.walks import Records
from kmnb.errors import BoundExceeded
from kmnb.sips._jq_library import JsonText
from kmnb.sips._json_values import compact

PROBLEMS_MAX = 20
"""Most problems that an answer lists; all are counted."""

QUERY_PARAMS = (
    Param("timeout_seconds", "number", "Longest time for one step.", QUERY_SECONDS, minimum=0.1, advanced=True),
    Param("strict", "flag", "Whether a line that is no JSON is an error.", False, advanced=True),
    Param("cursor", "text", "Where an earlier answer ended.", advanced=True),
)
"""Parameters of every query, behind its program."""


def _place(mark: tuple[int, int]) -> dict[str, int]:
    """Write for a cursor on which record an answer goes on, and how much came from those before it."""
    return {"record": mark[0], "passed": mark[1]}


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
        state = numbers_of(cursor, "skip", optional=("record", "passed"))
        self._skip = self._skipped_outputs = state.get("skip", 0)
        # The record where the answer goes on, and how many outputs or elements come from those before it.
        self._at = (state.get("record", 0), state.get("passed", 0))
        self._mark: tuple[int, int] | None = None
        self._passed = self._drop_before = 0
        self._is_first = True
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
            value = output.value if isinstance(output, JsonText) else output
            # A number beyond floats is text: what is shown is the value that is given.
            text = output if isinstance(output, JsonText) and output.is_plain else compact(value)
            size = len(text.encode("utf-8", "replace")) + 1
            if self._spent + size > self._cap:
                if not self._values:
                    raise too_large("one output", size, self._cap)
                self.is_full = self.is_cut = True
                return
            self._values.append(value)
            self._pieces.append(f"{text}\n")
            self._spent += size

    @property
    def resumes_at(self) -> int:
        """First record whose outputs may be wanted, as far as the cursor tells."""
        return self._at[0]

    def passed(self, count: int) -> None:
        """Hear that so many of the first records, at most :attr:`resumes_at`, are left out."""
        self._passed, self._drop_before = count, self._at[0]
        self._skip = max(0, self._skipped_outputs - self._at[1])

    def wanted(self, item: Records) -> Sequence[Any]:
        """Give the records that are not before the one where the answer goes on; remember where they begin."""
        first, rows = self._passed, item.rows
        self._passed += len(rows) + len(item.problems)
        if first < self._drop_before:
            places = item.places if item.places is not None else range(first, first + len(rows))
            rows = [row for place, row in zip(places, rows, strict=True) if place >= self._drop_before]
        if self._is_first and not self.is_full:
            self._mark = (max(first, self._drop_before), self._skipped_outputs - self._skip + len(self._values))
        return rows

    def document_ends(self) -> None:
        """Hear that a document is over; records of a further one have no number."""
        self._is_first, self._mark = False, None

    def add_problems(self, problems: Sequence[Problem]) -> None:
        """Note documents that were left out."""
        self._problem_count += len(problems)
        self._problems += problems[: PROBLEMS_MAX - len(self._problems)]

    def slice(self) -> Slice:
        """Give the answer."""
        shown = len(self._values)
        done = self._skipped_outputs - self._skip
        state = {"skip": self._skipped_outputs + shown}
        if self._mark is not None:
            state |= _place(self._mark)
        return Slice(
            values=self._values,
            text="".join(self._pieces),
            complete=not self.is_cut,
            shown=shown,
            total=done + shown + self.is_cut,
            total_is_lower_bound=self.is_cut,
            cursor=json.dumps(state) if self.is_cut else None,
            skipped=self._problem_count,
            problems=tuple(self._problems),
            notes=tuple(self.notes),
        )


class ListAnswer(Answer):
    """Values of which a list that is too long is cut between its elements."""

    def __init__(self, cap: int, *, cursor: str | None = None) -> None:
        super().__init__(cap, cursor=cursor)
        self._from = numbers_of(cursor, optional=("element",)).get("element", 0)
        self._next: int | None = None
        self._marks: list[tuple[int, int]] = []
        self._measured = self._size = 0

    def passed_elements(self, count: int) -> int:
        """Do as :meth:`passed` for records of which one list is made; give how many elements are left out with them."""
        self._passed, self._drop_before = count, self._at[0]
        return self._at[1]

    def wanted_elements(self, item: Records, elements: int) -> Sequence[Any]:
        """Do as :meth:`wanted` for records of which one list is made, with so many elements by now."""
        rows = self.wanted(item)
        if self._is_first and self._mark is not None:
            self._marks.append((self._mark[0], elements))
        return rows

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
        state = {"skip": self._skipped_outputs, "element": self._next}
        marks = [mark for mark in self._marks if mark[1] <= self._next]
        if marks and not self._skipped_outputs:
            state |= _place(marks[-1])
        total = self._skipped_outputs + 1
        return replace(answer, total=total, total_is_lower_bound=False, cursor=json.dumps(state))
