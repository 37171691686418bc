"""grep: the lines that match an RE2 pattern."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from kmnb.core.bounds import LINE_MAX_BYTES
from kmnb.core.cursors import numbers_of
from kmnb.core.describe import Example, Operation, Param
from kmnb.core.ranges import Facts, Plan
from kmnb.core.slice import Match, Slice
from kmnb.sips._matches import MatchPage, Stretch
from kmnb.sips._pages import state_of
from kmnb.sips._scan import Hit, LongLine, Scanner, count_lines, inverted


class GrepRun:
    """Matching lines under way.

    Args:
        arguments: Checked arguments of the sip.
        max_bytes: Cap of the answer's text in bytes.
    """

    def __init__(self, arguments: Mapping[str, Any], *, max_bytes: int) -> None:
        self._strip: bool = arguments["strip_ansi"]
        self._scanner = Scanner(
            arguments["pattern"],
            fixed=arguments["fixed"],
            ignore_case=arguments["ignore_case"],
            strip_ansi=self._strip,
        )
        self._count_all, self._invert = arguments["count_all"], arguments["invert"]
        self._page = MatchPage(arguments["max"], arguments["context"], max_bytes, shown=self._scanner.shown)
        self._state = numbers_of(arguments.get("cursor"), "line", "offset", "matched")
        # Matches of the pages before this one: a total is that of the whole answer.
        self._before = self._state.get("matched", 0)
        self._asks_for_nothing = arguments["max"] == 0
        self._rest: list[bytes] = []
        self._held = 0
        self._long: LongLine | None = None
        self._long_lines = 0
        self._number = self._offset = 0
        self._ended = self._codes = False

    def plan(self, facts: Facts) -> Plan:
        """Begin where the cursor says."""
        self._number, self._offset = self._state.get("line", 0), self._state.get("offset", 0)
        return Plan(self._offset)

    @property
    def full(self) -> bool:
        """Whether more input could only tell how many matches there are."""
        return self._page.is_closed and not self._count_all

    @property
    def done(self) -> bool:
        """Whether more input cannot change the answer."""
        return self.full and (self._page.total > self._page.shown or self._asks_for_nothing)

    def feed(self, item: Any) -> None:
        """Take the next block."""
        if self._long is not None:
            end = item.find(b"\n")
            if end < 0:
                self._long.feed(item)
                return
            self._long.feed(item[:end])
            self._close_long(self._long)
            item = item[end + 1 :]
        last = item.rfind(b"\n")
        if last >= 0:
            self._scan(b"".join((*self._rest, item[: last + 1])) if self._rest else item[: last + 1])
            self._rest, self._held = [], 0
        if last + 1 < len(item):
            self._hold(item[last + 1 :])

    def _hold(self, piece: bytes) -> None:
        """Keep a line under way, up to the longest line that is treated as one."""
        self._rest.append(piece)
        self._held += len(piece)
        if self._held > LINE_MAX_BYTES:
            self._long = LongLine(self._scanner, b"".join(self._rest))
            self._rest, self._held = [], 0

    def end(self) -> None:
        """Hear that the content ended."""
        if self._long is not None:
            self._close_long(self._long)
        elif self._held:
            rest = b"".join(self._rest)
            # A CR at the very end stands before no LF: it belongs to the line.
            self._scan(rest + (b"\r\n" if rest.endswith(b"\r") else b"\n"))
        self._ended = True

    def _close_long(self, line: LongLine) -> None:
        """Take a line that was too long to be kept."""
        self._long = None
        self._long_lines += 1
        if line.matches() != self._invert and not self.done:
            stretch = Stretch(line.head + b"\n", self._number, self._offset)
            self._page.add(stretch, Hit(0, 0, len(line.head), line.head))
            self._page.close_block(stretch)
        self._number += 1
        self._offset += line.size + 1

    def _scan(self, block: bytes) -> None:
        """Look at whole lines."""
        self._codes = self._codes or (b"\x1b" in block and b"\x1b[" in block)
        stretch = Stretch(block, self._number, self._offset)
        if not self.done:
            hits = self._scanner.hits(block, is_first=not self._offset)
            for hit in inverted(block, hits, self._scanner.shown) if self._invert else hits:
                self._page.add(stretch, hit)
                if self.done:
                    break
            self._page.close_block(stretch)
        self._number += count_lines(block)
        self._offset += len(block)

    def finish(self) -> Slice:
        """Give the matches."""
        page = self._page
        complete = (self._ended or self._asks_for_nothing) and page.total == page.shown
        complete = complete and not page.is_cut and not page.is_short
        cursor = None
        if not complete and page.next_spot is not None:
            cursor = state_of(page.next_spot.line, page.next_spot.offset, matched=self._before + page.shown)
        return Slice(
            values=page.matches(),
            text=page.text(),
            complete=complete,
            shown=page.shown,
            total=self._before + page.total,
            total_is_lower_bound=not self._ended,
            cursor=cursor,
            notes=self._notes(),
            columns=_COLUMNS,
        )

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self._codes and not self._strip:
            notes.append("the text has colour codes; strip_ansi=True matches without them")
        if self._long_lines:
            notes.append(f"{self._long_lines} lines have more than {LINE_MAX_BYTES} bytes; they were matched in pieces")
        if self._page.is_cut:
            notes.append("a line was cut to fit into max_bytes")
        if self._page.is_short:
            notes.append("lines of context were left out to fit into max_bytes")
        return tuple(notes)


_COLUMNS = tuple(field.name for field in fields(Match))


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
            Param("max", "integer", "Most matches.", 100, minimum=0, below="default"),
            Param("context", "integer", "Lines shown before and after each match.", 0, minimum=0, below="default"),
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
