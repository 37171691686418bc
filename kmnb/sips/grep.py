"""grep: the lines that match an RE2 pattern."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kmnb.core.bounds import LINE_MAX_BYTES
from kmnb.core.describe import Example, Operation, Param
from kmnb.core.pages import utf8_cut
from kmnb.core.ranges import Facts, Plan
from kmnb.core.slice import Match, Slice
from kmnb.sips._pages import state_of
from kmnb.sips._scan import Hit, Scanner


@dataclass(frozen=True, slots=True)
class _Shown:
    """A line that is part of the answer."""

    number: int
    offset: int
    text: bytes
    is_match: bool


class GrepRun:
    """Matching lines under way.

    Args:
        arguments: Checked arguments of the sip.
        max_bytes: Cap of the answer's text in bytes.
    """

    def __init__(self, arguments: Mapping[str, Any], *, max_bytes: int) -> None:
        self._scanner = Scanner(
            arguments["pattern"],
            fixed=arguments["fixed"],
            ignore_case=arguments["ignore_case"],
            strip_ansi=arguments["strip_ansi"],
        )
        self._max, self._context = arguments["max"], arguments["context"]
        self._count_all, self._invert = arguments["count_all"], arguments["invert"]
        self._cap, self._state = max_bytes, json.loads(arguments["cursor"]) if arguments.get("cursor") else None
        self._rest: list[bytes] = []
        self._held = 0
        self._number = self._offset = 0
        self._page = _Page(self._max, self._context, max_bytes)
        self._ended = self._codes = self._strip = False
        self._strip = arguments["strip_ansi"]
        self._long = 0

    def plan(self, facts: Facts) -> Plan:
        """Begin where the cursor says."""
        if self._state:
            self._number, self._offset = self._state["line"], self._state["offset"]
        return Plan(self._offset)

    @property
    def full(self) -> bool:
        """Whether more input could only tell how many matches there are."""
        return self._page.is_closed and not self._count_all

    @property
    def done(self) -> bool:
        """Whether more input cannot change the answer."""
        return self.full and (self._page.total > self._page.shown or self._max == 0)

    def feed(self, item: Any) -> None:
        """Take the next block."""
        last = item.rfind(b"\n")
        if last < 0:
            self._hold(item)
            return
        block = b"".join((*self._rest, item[: last + 1])) if self._rest else item[: last + 1]
        lost = self._held - sum(map(len, self._rest))
        self._rest, self._held = [], 0
        self._scan(block, lost)
        if last + 1 < len(item):
            self._hold(item[last + 1 :])

    def _hold(self, piece: bytes) -> None:
        """Keep a line under way, up to the longest line that is treated as one."""
        room = LINE_MAX_BYTES - min(self._held, LINE_MAX_BYTES)
        if room:
            self._rest.append(piece[:room])
        self._held += len(piece)

    def end(self) -> None:
        """Hear that the content ended."""
        if self._held:
            rest = b"".join(self._rest)
            self._scan(rest + b"\n", self._held - len(rest))
        self._ended = True

    def _scan(self, block: bytes, lost: int) -> None:
        """Look at whole lines; ``lost`` bytes of the first one were too many to keep."""
        if not self._codes and b"\x1b[" in block:
            self._codes = True
        self._long += lost > 0
        if not (self.full and self.done):
            hits = self._scanner.hits(block)
            for hit in _inverted(block, hits) if self._invert else hits:
                shift = lost if hit.index else 0
                self._page.add(block, hit, self._number, self._offset + shift)
                if self.done:
                    break
            self._page.close_block(block, self._number, self._offset, lost)
        self._number += block.count(b"\n")
        self._offset += len(block) + lost

    def finish(self) -> Slice:
        """Give the matches."""
        page = self._page
        exact = self._ended or self._max == 0
        complete = exact and page.total == page.shown and not page.is_cut
        cursor = None
        if not complete and page.lines and page.next_spot:
            cursor = state_of(page.next_spot[0], page.next_spot[1])
        return Slice(
            values=page.matches(),
            text=page.text(),
            complete=complete,
            shown=page.shown,
            total=page.total,
            total_is_lower_bound=not exact,
            cursor=cursor,
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self._codes and not self._strip:
            notes.append("the text has colour codes; strip_ansi=True matches without them")
        if self._long:
            notes.append(
                f"{self._long} lines are longer than {LINE_MAX_BYTES} bytes; only so much of each was looked at"
            )
        if self._page.is_cut:
            notes.append("a line was cut to fit into max_bytes")
        return tuple(notes)


class _Page:
    """Collects matches and their context under the caps."""

    def __init__(self, limit: int, context: int, budget: int) -> None:
        self._limit, self._context, self._budget = limit, context, budget
        self.lines: list[_Shown] = []
        self.shown = self.total = 0
        self.is_closed = limit == 0
        self.is_cut = False
        self.next_spot: tuple[int, int] | None = None
        self._spent = self._after = 0
        self._before: deque[_Shown] = deque(maxlen=context or 1)
        self._place = 0

    def add(self, block: bytes, hit: Hit, number: int, offset: int) -> None:
        """Take a match; ``number`` and ``offset`` are those of the block."""
        self.total += 1
        if self.is_closed:
            return
        line = _Shown(number + hit.index, offset + hit.start, hit.text, is_match=True)
        if self._context:
            self._fill(block, hit.start, line.number, offset)
        if not self._emit(line):
            self.is_closed = True
            return
        self.shown += 1
        self.next_spot = line.number + 1, offset + hit.end + 1
        self._after, self._place = self._context, hit.end + 1
        self.is_closed = self.shown >= self._limit and not self._context

    def _fill(self, block: bytes, start: int, number: int, offset: int) -> None:
        """Emit the context between the last shown line and a match that begins at ``start``."""
        between = block[self._place : start].split(b"\n")[:-1] if start > self._place else []
        first = number - len(between)
        place = offset + self._place
        lines = []
        for index, data in enumerate(between):
            lines.append(_Shown(first + index, place, data.removesuffix(b"\r"), is_match=False))
            place += len(data) + 1
        for line in lines[: self._after]:
            self._emit(line)
        if self.shown >= self._limit:
            self.is_closed = True
            return
        pool = [*self._before, *lines[self._after :]]
        for line in pool[-self._context :]:
            if not self.lines or line.number > self.lines[-1].number:
                self._emit(line)
        self._before.clear()

    def close_block(self, block: bytes, number: int, offset: int, lost: int) -> None:
        """Emit the context after the last match of a block and keep what may be context of the next one."""
        if not self._context or self.is_closed:
            self._place = 0
            return
        rest = block[self._place :].split(b"\n")[:-1]
        first = number + block.count(b"\n") - len(rest)
        place = offset + self._place + (lost if self._place else 0)
        for index, data in enumerate(rest):
            line = _Shown(first + index, place, data.removesuffix(b"\r"), is_match=False)
            place += len(data) + 1
            if self._after:
                self._after -= 1
                self._emit(line)
            else:
                self._before.append(line)
        if self.shown >= self._limit and not self._after:
            self.is_closed = True
        self._place = 0

    def _emit(self, line: _Shown) -> bool:
        room = self._budget - self._spent - 1
        if len(line.text) > room:
            self.is_closed = True
            if self.lines or not line.is_match:
                return False
            self.is_cut = True
            line = _Shown(line.number, line.offset, utf8_cut(line.text, max(1, room)), line.is_match)
        self.lines.append(line)
        self._spent += len(line.text) + 1
        return True

    def matches(self) -> list[Any]:
        """Give the matches with their context."""
        texts = {line.number: line.text.decode("utf-8", "replace") for line in self.lines}
        near = range(1, self._context + 1)
        return [
            Match(
                line.number + 1,
                line.number,
                line.offset,
                texts[line.number],
                tuple(texts[line.number - step] for step in reversed(near) if line.number - step in texts),
                tuple(texts[line.number + step] for step in near if line.number + step in texts),
            )
            for line in self.lines
            if line.is_match
        ]

    def text(self) -> str:
        """Give the lines as grep prints them, groups of context apart."""
        pieces: list[str] = []
        last = -1
        for line in self.lines:
            if self._context and pieces and line.number > last + 1:
                pieces.append("--\n")
            pieces.append(line.text.decode("utf-8", "replace") + "\n")
            last = line.number
        return "".join(pieces)


def _inverted(block: bytes, hits: Any) -> Any:
    """Walk the lines of a block that are not among the hits."""
    place = index = 0
    for hit in (*hits, None):
        stop = hit.start if hit is not None else len(block)
        while place < stop:
            end = block.index(b"\n", place)
            yield Hit(index, place, end, block[place:end].removesuffix(b"\r"))
            place, index = end + 1, index + 1
        if hit is not None:
            place, index = hit.end + 1, index + 1


class GrepSip:
    """The plug-in."""

    feeds = "blocks"
    operation = Operation(
        "grep",
        "Show the lines that match an RE2 pattern.",
        (
            Param(
                "pattern", "text", "An RE2 pattern; every line is matched by itself.", required=True, positional=True
            ),
            Param("max", "integer", "Most matches.", 100, minimum=0),
            Param("context", "integer", "Lines shown before and after each match.", 0, minimum=0),
            Param("ignore_case", "flag", "Whether letters match in both cases.", False),
            Param("fixed", "flag", "Whether the pattern is plain text.", False),
            Param("invert", "flag", "Whether to show the lines that do not match.", False),
            Param("count_all", "flag", "Whether to count every match although the answer is full.", False),
            Param("strip_ansi", "flag", "Whether colour codes are taken out before matching.", False),
            Param("cursor", "text", "Where an earlier answer ended.", advanced=True),
        ),
        (
            Example(
                b"alpha\nbravo\ncharlie\n",
                {"pattern": "br|ch"},
                (Match(2, 1, 6, "bravo"), Match(3, 2, 12, "charlie")),
                "bravo\ncharlie\n",
            ),
            Example(b"a\r\nb\r\n", {"pattern": "^b$"}, (Match(2, 1, 3, "b"),), "b\n"),
            Example(b"one\ntwo\n", {"pattern": "o", "max": 1}, (Match(1, 0, 0, "one"),), "one\n"),
        ),
    )

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> GrepRun:
        """Begin."""
        return GrepRun(arguments, max_bytes=max_bytes)


SIP = GrepSip()
