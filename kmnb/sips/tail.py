"""tail: the last lines."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kmnb.core.describe import Example, Operation, Param
from kmnb.core.pages import Line, body_budget, position_line, text_size, utf8_cut
from kmnb.core.ranges import Facts, Plan
from kmnb.core.slice import Slice
from kmnb.sips._pages import page_slice


class TailRun:
    """The last lines under way; the newest are kept where the cap is too small for all.

    Args:
        lines: How many.
        max_bytes: Cap of the answer's text in bytes.
    """

    done = False
    full = False

    def __init__(self, lines: int, *, max_bytes: int) -> None:
        self._limit, self._cap = lines, max_bytes
        self._budget = body_budget(max_bytes)
        self._kept: deque[Line] = deque()
        self._spent = 0
        self._number = self._offset = 0
        self._open = b""
        self._open_size = 0
        self._facts = Facts()

    def plan(self, facts: Facts) -> Plan:
        """Begin at a known line that is near enough to the end."""
        self._facts = facts
        if facts.map is None or not facts.seekable or facts.size is None or facts.lines is None:
            return Plan()
        first = facts.map.before(max(0, facts.lines - max(self._limit, 1)))
        near = facts.map.at(max(0, facts.size - self._budget))
        spot = max(first, near, key=lambda known: known.line)
        self._number, self._offset = spot.line, spot.offset
        return Plan(spot.offset)

    def feed(self, item: Any) -> None:
        """Take the next block."""
        place = self._skim(item)
        while (end := item.find(b"\n", place)) >= 0:
            self._close(item[place:end], end - place, self._offset + end)
            place = end + 1
        rest = item[place : place + max(0, self._budget + 1 - len(self._open))]
        self._open += rest
        self._open_size += len(item) - place
        self._offset += len(item)

    def _skim(self, block: bytes) -> int:
        """Pass over the lines of a block that cannot be among the last ones; give where the others begin."""
        last = block.rfind(b"\n")
        first = block.find(b"\n")
        border = last - max(self._budget, 1)
        if first < 0 or border <= first:
            return 0
        border = block.rfind(b"\n", first, border + 1)
        self._close(block[:first], first, self._offset + first)
        self._number += block.count(b"\n", first + 1, border + 1)
        return border + 1

    def _close(self, data: bytes, size: int, end: int, *, has_end: bool = True) -> None:
        size += self._open_size
        data = self._open + data[: max(0, self._budget + 1 - len(self._open))]
        self._open, self._open_size = b"", 0
        line = Line(self._number, end - size, data, size, has_end=has_end)
        self._number += 1
        self._kept.append(line)
        self._spent += text_size(line.shown) + 1
        while len(self._kept) > max(1, self._limit) or (self._spent > self._budget and len(self._kept) > 1):
            self._spent -= text_size(self._kept.popleft().shown) + 1

    def end(self) -> None:
        """Hear that the content ended."""
        if self._open_size:
            self._close(b"", 0, self._offset, has_end=False)

    def finish(self) -> Slice:
        """Give the last lines."""
        total = self._number
        lines = list(self._kept) if self._limit else []
        if self._limit == 0:
            return Slice([], "", True, 0, total)
        if lines and text_size(lines[0].data) > self._budget - 1:
            lines[0] = replace(lines[0], data=utf8_cut(lines[0].data, max(1, self._budget - 1)))
        first = lines[0].number if lines else 0
        complete = len(lines) == min(self._limit, total) and not any(line.is_cut for line in lines)
        position = position_line(first, len(lines), total)
        return page_slice(
            lines, position=position, max_bytes=self._cap, complete=complete, total=total, has_cursor=False
        )


class TailSip:
    """The plug-in."""

    feeds = "blocks"
    operation = Operation(
        "tail",
        "Show the last lines.",
        (Param("lines", "integer", "How many lines.", 20, positional=True, minimum=0, below="default"),),
        (
            Example(
                b"alpha\nbravo\ncharlie\ndelta\necho\n",
                {"lines": 2},
                ("delta", "echo"),
                "delta\necho\n[lines 3-4 of 5]\n",
            ),
            Example(b"a\nb", {"lines": 1}, ("b",), "b\n[lines 1-1 of 2]\n"),
            Example(b"", {}, (), "[no lines from line 0; the artifact has 0 lines]\n"),
        ),
    )

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> TailRun:
        """Begin."""
        return TailRun(arguments["lines"], max_bytes=max_bytes)


SIP = TailSip()
