"""select: some columns of the rows that meet a condition."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from kmnb.core.cursors import numbers_of
from kmnb.core.describe import Example, Operation, Param
from kmnb.core.ranges import Facts, Plan
from kmnb.core.records import Batch
from kmnb.core.shape import text_of
from kmnb.core.slice import Slice
from kmnb.errors import BadRequest
from kmnb.sips._delimited import record_line
from kmnb.sips._row_tests import Row
from kmnb.sips._rows import RECORD_PARAMS, Problems, Rows, own_names
from kmnb.sips._where import Condition, parse_where

CELLS_MAX = 1_000_000
"""Most cells of an answer whose rows have fields of their own: each is empty in all other rows."""
_CELL_MARK = "…"


class SelectRun:
    """A selection under way.

    Args:
        arguments: Checked arguments of the sip.
        max_bytes: Cap of the answer's text in bytes.
    """

    def __init__(self, arguments: Mapping[str, Any], *, max_bytes: int) -> None:
        self._names: list[str] = list(dict.fromkeys(arguments["columns"]))
        self._given = tuple(name for name in self._names if name != "*")
        self._takes_all = "*" in self._names
        if not self._names:
            raise BadRequest("select: columns", "no columns are named", "Name at least one; '*' takes all")
        self._where: Condition | None = parse_where(arguments["where"]) if arguments.get("where") else None
        self._limit: int | None = arguments.get("limit")
        self._delimiter = (arguments.get("delimiter") or ",").replace("\\t", "\t")[:1]
        self._cap = max_bytes
        state = numbers_of(arguments.get("cursor"), "record", "matched", optional=("total",))
        self._skip = state.get("record", 0)
        self._matched = self._before = state.get("matched", 0)
        self._reached, self._has_gap = 0, False
        # How many rows there are in all: by the cursor, or by the store where no row can be left out.
        self._total: int | None = state.get("total")
        self._counted: int | None = None
        self._problems = Problems(strict=bool(arguments.get("strict")))
        self._rows = Rows(self._problems)
        self._lines: list[str] = []
        self._values: list[dict[str, Any]] = []
        self._notes: list[str] = []
        self._spent = 0
        self._next = self._skip
        self._full = self._limit == 0
        self._ended = self._begun = False

    @property
    def wanted(self) -> tuple[str, ...] | None:
        """Columns that are looked at; None for all. A format that can read single columns reads these."""
        if self._takes_all:
            return None
        return tuple(dict.fromkeys([*self._given, *(self._where.columns if self._where else ())]))

    def plan(self, facts: Facts) -> Plan:
        """Hear how many records there are; the content is fed from its beginning, or from :attr:`first` on."""
        self._counted = facts.rows if self._where is None else None
        return Plan()

    @property
    def first(self) -> int:
        """Number of the first record that is wanted; those before it may be left out."""
        return self._skip

    @property
    def full(self) -> bool:
        """Whether more input could only tell how many rows there are."""
        return self._full and self._begun

    @property
    def done(self) -> bool:
        """Whether more input cannot change the answer."""
        if not self.full or self._total is None:
            return False
        # A column that nobody has seen so far may be none at all.
        return self._rows.columns is not None or self._has_gap or self._rows.missing(self._asked) is None

    def feed(self, item: Any) -> None:
        """Take the next batch of records."""
        batch: Batch = item
        self._has_gap = self._has_gap or batch.start > self._reached
        self._reached = batch.start + max(batch.counted, len(batch.rows)) + len(batch.problems)
        # Series are the records of an answer of Prometheus, and their samples its rows.
        is_counted = batch.kind == "json" and batch.records is None
        if self._where is None and batch.total is not None:
            self._total = batch.total
        elif self._counted is not None and (is_counted or batch.types is not None):
            self._total = self._counted
        # Rows of a table are judged column by column; a field of JSON is known by the rows that were looked at.
        early, late = (self._where, None) if batch.kind == "table" else (None, self._where)
        for number, row in self._rows.of(batch, early):
            if not self._begun:
                self._begin()
            if number < self._skip or (late is not None and not late.holds(row)):
                continue
            self._matched += 1
            if not self._full:
                self._take(number, row)
        if self._rows.columns is not None and not self._begun:
            self._begin()

    def end(self) -> None:
        """Hear that the content ended.

        Raises:
            BadRequest: A column that was asked for does not exist.
        """
        self._ended = True
        if not self._begun:
            self._begin()
        if self._rows.columns is None and self._rows.seen and not self._has_gap:
            self._check()

    def _begin(self) -> None:
        """Settle the columns, once those of the content are known."""
        self._begun = True
        known = self._rows.columns
        if self._takes_all:
            everything = known if known is not None else tuple(self._rows.seen)
            at = self._names.index("*")
            names = [*self._names[:at], *everything, *(name for name in self._names[at + 1 :] if name != "*")]
            self._names = list(dict.fromkeys(names))
            self._notes += self._rows.repeated()
        if known is not None:
            self._check()
        self._spent = self._line(self._names)[1]
        if self._spent > self._cap:
            self._spent, self._full = 0, True
            self._notes.append("the names of the columns alone pass the cap")

    @property
    def _asked(self) -> list[str]:
        return [*self._given, *(self._where.columns if self._where else ())]

    def _check(self) -> None:
        name = self._rows.missing(self._asked)
        if name is not None:
            raise self._rows.unknown(name)

    def _line(self, cells: Iterable[Any]) -> tuple[str, int]:
        line = record_line(cells, self._delimiter)
        return line, len(line.encode("utf-8", "replace"))

    def _take(self, number: int, row: Row) -> None:
        values = {name: row(name) for name in self._names}
        new = self._new_names(row, values)
        values |= {name: row(name) for name in new}
        # Each new name stands in the header, and leaves an empty cell in every row before this one.
        names = sum(self._line([name])[1] for name in new)
        names += len(new) * len(self._values) * len(self._delimiter.encode())
        line, size = self._line(values.values())
        is_wide = bool(new) and len(values) * len(self._values) > CELLS_MAX
        if is_wide or self._spent + names + size > self._cap:
            self._full = True
            if self._values:
                return
            values = self._shortened(number, values, self._cap - self._spent - names)
            line, size = self._line(values.values())
            if self._spent + names + size > self._cap:
                self._notes.insert(0, f"row {number} does not fit the cap; name fewer columns or raise max_bytes")
                return
        self._names += new
        self._lines.append(line)
        self._values.append(values)
        self._spent += names + size
        self._next = number + 1
        self._full = self._full or (self._limit is not None and len(self._values) >= self._limit)

    def _new_names(self, row: Row, known: Mapping[str, Any]) -> list[str]:
        """Give the fields that no row before this one has, where all are asked for and nothing declares them."""
        if not self._takes_all or self._rows.columns is not None:
            return []
        return [name for name in own_names(row) if name not in known]

    def _shortened(self, number: int, values: dict[str, Any], space: int) -> dict[str, Any]:
        """Cut the cells of a row that alone passes the cap, the longest ones first, at character boundaries."""
        texts = {name: text_of(value) for name, value in values.items()}
        # A quote may double a character and two more enclose the cell.
        room = max(0, (space - 4 * len(texts)) // (2 * max(1, len(texts))))
        for name, text in texts.items():
            raw = text.encode("utf-8", "replace")
            if len(raw) > room:
                kept = raw[: max(0, room - 3)].decode("utf-8", "ignore")
                values[name] = kept + _CELL_MARK if room > 3 else ""
                self._notes.append(
                    f"row {number}: {name[:60]} has {len(raw):,} bytes; {len(kept.encode()):,} are shown"
                )
        return values

    def finish(self) -> Slice:
        """Give the rows."""
        shown = len(self._values)
        cut = any("bytes;" in note for note in self._notes)
        if self._ended:
            self._total = self._matched
        known = self._total is not None
        total = self._matched if self._total is None else self._total
        left = total - self._before - shown
        complete = known and not left and not cut
        more = left > 0 or not known
        state = {"record": self._next, "matched": self._before + shown}
        if known:
            state["total"] = total
        return Slice(
            values=[dict.fromkeys(self._names) | value for value in self._values],
            text=self._text(),
            complete=complete,
            shown=shown,
            total=total,
            total_is_lower_bound=not known,
            cursor=json.dumps(state) if more and shown else None,
            skipped=self._problems.count,
            problems=tuple(self._problems.first),
            notes=tuple(self._notes[:20]),
            # Where even the header does not fit the names are no small side field.
            columns=tuple(self._names) if self._spent else None,
        )

    def _text(self) -> str:
        """Write the rows; those from before a name was met have an empty cell there."""
        if not self._spent:
            return ""
        borders = max(1, len(self._names)) - 1
        lines = [self._line(self._names)[0]]
        for line, value in zip(self._lines, self._values, strict=True):
            lines.append(line[:-1] + self._delimiter * (borders + 1 - max(1, len(value))) + "\n")
        return "".join(lines)


class SelectSip:
    """The plug-in."""

    feeds = "records"
    operation = Operation(
        "select",
        "Show some columns of the rows, as they stand in the source.",
        (
            Param("columns", "texts", "Names of the columns; '*' for all.", required=True, positional=True),
            Param("where", "text", "Condition that rows must meet, such as: status = 'Running' and restarts > 3."),
            Param("limit", "integer", "Most rows; all that fit when not given.", minimum=0, below="default"),
            Param("cursor", "text", "Where an earlier answer ended.", advanced=True),
            *RECORD_PARAMS,
        ),
        (
            Example(
                b"name,ns,age\npod-a,default,3\npod-b,kube-system,7\n",
                {"columns": ["ns", "name"]},
                ({"ns": "default", "name": "pod-a"}, {"ns": "kube-system", "name": "pod-b"}),
                "ns,name\ndefault,pod-a\nkube-system,pod-b\n",
            ),
            Example(
                b"code,n\n00010,1\n00020,2\n",
                {"columns": ["code"], "where": "n > 1"},
                ({"code": "00020"},),
                "code\n00020\n",
            ),
        ),
    )

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> SelectRun:
        """Begin."""
        return SelectRun(arguments, max_bytes=max_bytes)


SIP = SelectSip()
