"""lines: a page of lines by number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kmnb.core.cursors import numbers_of
from kmnb.core.describe import Example, Operation, Param
from kmnb.core.pages import Line, LineCollector, body_budget, position_line
from kmnb.core.ranges import Facts, Plan
from kmnb.core.slice import Slice
from kmnb.sips._pages import page_slice, state_of


class LinesRun:
    """A page of lines under way.

    Args:
        start: First line, from 0.
        limit: Most lines; None for the rest.
        max_bytes: Cap of the answer's text in bytes.
        cursor: Where an earlier page ended.
    """

    def __init__(self, start: int, limit: int | None, *, max_bytes: int, cursor: str | None = None) -> None:
        self._state = numbers_of(cursor, "line", "offset")
        self._start = self._state.get("line", start)
        self._limit, self._cap = limit, max_bytes
        self._collector = LineCollector(self._start, limit, body_budget(max_bytes))
        self._facts = Facts()
        self._ended = False

    def plan(self, facts: Facts) -> Plan:
        """Begin at the nearest known line, or where the cursor says."""
        self._facts = facts
        line, offset = 0, 0
        if self._state:
            line, offset = self._state["line"], self._state["offset"]
        elif facts.map is not None and facts.seekable:
            spot = facts.map.before(self._start)
            line, offset = spot.line, spot.offset
        self._collector.begin(line, offset)
        return Plan(offset)

    @property
    def full(self) -> bool:
        """Whether only the total is missing."""
        return self._collector.is_satisfied

    @property
    def done(self) -> bool:
        """Whether more input cannot change the answer."""
        return self.full and self._facts.lines is not None

    def feed(self, item: Any) -> None:
        """Take the next block."""
        self._collector.feed(item)

    def end(self) -> None:
        """Hear that the content ended."""
        self._ended = True
        self._collector.finish()

    def finish(self) -> Slice:
        """Give the page."""
        collector, known = self._collector, self._facts.lines
        if not self._ended:
            collector.stop()
        at_least = known is None and not self._ended
        total = known if known is not None else collector.seen
        lines = [self._measured(line) for line in collector.lines]
        complete = len(lines) >= self._wanted(total) and not any(line.is_cut for line in lines)
        page = page_slice(
            lines, position=self._position(total, at_least), max_bytes=self._cap, complete=complete, total=total
        )
        cursor = self._cursor(total, at_least)
        return replace(page, total_is_lower_bound=at_least, cursor=cursor)

    def _measured(self, line: Line) -> Line:
        """Tell the size of a line whose end was not read: the last one ends with the content."""
        if not line.is_open or self._facts.size is None or line.number + 1 != self._facts.lines:
            return line
        return replace(line, size=self._facts.size - line.offset, is_open=False)

    def _wanted(self, total: int) -> int:
        left = max(0, total - self._start)
        return left if self._limit is None else min(left, self._limit)

    def _position(self, total: int, at_least: bool) -> str:
        """Write the position line; like the peer it counts only up to a line that is too long to be scanned."""
        shown = len(self._collector.lines)
        long = self._facts.long_line if self._facts.lines is not None else self._collector.long_line
        if long is not None and self._start + shown <= long:
            return position_line(self._start, shown, long, at_least=True)
        return position_line(self._start, shown, total, at_least=at_least)

    def _cursor(self, total: int, at_least: bool) -> str | None:
        line, offset = self._collector.next_spot
        is_more = at_least or line < total
        return state_of(line, offset, limit=self._limit) if is_more and offset >= 0 else None


class LinesSip:
    """The plug-in."""

    feeds = "blocks"
    operation = Operation(
        "lines",
        "Show a page of lines by number.",
        (
            Param("start", "integer", "First line, counted from 0; a negative one is 0.", 0, positional=True),
            Param("limit", "integer", "Most lines; 0 for the rest.", 100, positional=True, minimum=0, below="default"),
            Param("cursor", "text", "Where an earlier page ended; replaces start.", advanced=True),
        ),
        (
            Example(
                b"alpha\nbravo\ncharlie\ndelta\necho\n",
                {"start": 1, "limit": 2},
                ("bravo", "charlie"),
                "bravo\ncharlie\n[lines 1-2 of 5]\n",
            ),
            Example(b"a\nb\n", {"start": 9}, (), "[no lines from line 9; the artifact has 2 lines]\n"),
            Example(b"a\r\nb", {"start": 1, "limit": 0}, ("b",), "b\n[lines 1-1 of 2]\n"),
        ),
    )

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> LinesRun:
        """Begin a page."""
        start, limit = max(0, arguments["start"]), arguments["limit"] or None
        return LinesRun(start, limit, max_bytes=max_bytes, cursor=arguments.get("cursor"))


SIP = LinesSip()
