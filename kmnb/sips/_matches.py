"""Collect the lines that grep found, with their context, under the caps of an answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from kmnb.core.pages import text_size, utf8_cut
from kmnb.core.ranges import Spot
from kmnb.core.slice import Match
from kmnb.sips._scan import Hit

_BREAK = "--\n"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Whole lines of the content, in one block."""

    data: bytes
    """The lines; each ends with LF."""
    number: int
    """Number of the first line, from 0."""
    offset: int
    """Byte offset of the block in the decoded content."""

    def line(self, hit: Hit) -> _Shown:
        """Place a hit in the content."""
        return _Shown(self.number + hit.index, self.offset + hit.start, hit.text, is_match=True)


@dataclass(frozen=True, slots=True)
class _Shown:
    number: int
    offset: int
    text: bytes
    is_match: bool


class _Before:
    """The last lines before a match that may come, of no more bytes than an answer has."""

    def __init__(self, most: int, budget: int) -> None:
        self._most, self._budget = most, budget
        self.clear()

    def clear(self) -> None:
        """Forget them."""
        self.lines: deque[_Shown] = deque()
        self._held = self._lost = 0

    @property
    def is_whole(self) -> bool:
        """Whether all the lines of context are there."""
        return not self._lost

    def add(self, line: _Shown) -> None:
        """Take the next line."""
        self.lines.append(line)
        self._held += len(line.text) + 1
        if len(self.lines) + self._lost > self._most:
            if self._lost:
                self._lost -= 1
            else:
                self._held -= len(self.lines.popleft().text) + 1
        while self._held > self._budget:
            self._held -= len(self.lines.popleft().text) + 1
            self._lost += 1


class MatchPage:
    """Collects matches and their context under the caps.

    Args:
        limit: Most matches.
        context: Lines before and after each.
        budget: Most bytes of text.
        shown: How a line of context is shown.
    """

    def __init__(self, limit: int, context: int, budget: int, *, shown: Callable[[bytes], bytes]) -> None:
        # A line has a byte at least: more of them cannot be shown.
        self._limit, self._context, self._budget = limit, min(context, budget), budget
        self._shown = shown
        self.lines: list[_Shown] = []
        self.shown = self.total = 0
        self.is_closed = limit == 0
        self.is_cut = self.is_short = False
        self.next_spot: Spot | None = None
        self._spent = self._after = self._done = 0
        self._before = _Before(self._context, budget)

    def add(self, stretch: Stretch, hit: Hit) -> None:
        """Take a match."""
        self.total += 1
        if self.is_closed:
            return
        line = stretch.line(hit)
        if self._context:
            self._pass(stretch, hit.start)
            if self.is_closed or self.shown >= self._limit:
                self.is_closed = True
                return
            self._emit([*self._before.lines, line], is_whole=self._before.is_whole)
            self._before.clear()
            self._done = hit.end + 1
        else:
            self._emit([line])
        if self.is_closed:
            return
        self.shown += 1
        self.next_spot = Spot(line.number + 1, stretch.offset + hit.end + 1)
        self._after = self._context
        self.is_closed = self.shown >= self._limit and not self._context

    def close_block(self, stretch: Stretch) -> None:
        """Look at the lines after the last match of a block: context of that one, or of the next."""
        if self._context and not self.is_closed:
            self._pass(stretch, len(stretch.data))
            self.is_closed = self.is_closed or (self.shown >= self._limit and not self._after)
        self._done = 0

    def _pass(self, stretch: Stretch, end: int) -> None:
        """Pass over lines that do not match, from the last match on to a place in the block."""
        start = self._done
        while start < end and self._after and not self.is_closed:
            stop = stretch.data.index(b"\n", start)
            self._after -= 1
            self._emit([self._plain(stretch, start, stop)])
            start = stop + 1
        first = end
        for _ in range(self._context):
            if first <= start:
                break
            first = stretch.data.rfind(b"\n", start, first - 1) + 1 or start
        while first < end:
            stop = stretch.data.index(b"\n", first)
            self._before.add(self._plain(stretch, first, stop))
            first = stop + 1

    def _plain(self, stretch: Stretch, start: int, stop: int) -> _Shown:
        number = stretch.number + stretch.data.count(b"\n", 0, start)
        text = self._shown(stretch.data[start:stop])
        return _Shown(number, stretch.offset + start, text, is_match=False)

    def _emit(self, lines: list[_Shown], *, is_whole: bool = True) -> None:
        """Add lines, all of them or none; the very first match comes alone, or cut, when they do not fit."""
        apart = bool(self._context and self.lines and lines[0].number > self.lines[-1].number + 1)
        size = sum(text_size(line.text) + 1 for line in lines) + apart * len(_BREAK)
        if self._spent + size > self._budget or not is_whole:
            match = lines[-1]
            if self.lines or not match.is_match:
                self.is_closed, self.is_short = True, not match.is_match
                return
            self.is_short = len(lines) > 1 or not is_whole
            size = text_size(match.text) + 1
            if size > self._budget:
                self.is_cut, size = True, self._budget
                match = _Shown(match.number, match.offset, utf8_cut(match.text, max(1, self._budget - 1)), True)
            lines = [match]
        self.lines += lines
        self._spent += size

    def matches(self) -> list[Any]:
        """Give the matches with their context."""
        texts = {line.number: line.text.decode("utf-8", "replace") for line in self.lines}

        def near(numbers: Iterable[int]) -> tuple[str, ...]:
            return tuple(texts[number] for number in numbers if number in texts)

        return [
            Match(
                line.number + 1,
                line.number,
                line.offset,
                texts[line.number],
                near(range(line.number - self._context, line.number)),
                near(range(line.number + 1, line.number + self._context + 1)),
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
                pieces.append(_BREAK)
            pieces.append(line.text.decode("utf-8", "replace") + "\n")
            last = line.number
        text = "".join(pieces)
        # A cut line that fills the cap leaves no room for its line end.
        return text[:-1] if self.is_cut and len(text.encode()) > self._budget else text
