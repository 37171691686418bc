"""stats: a summary of each column, over all rows that meet a condition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kmnb.core.describe import Example, Operation, Param
from kmnb.core.records import Batch
from kmnb.core.shape import text_of
from kmnb.core.slice import Slice
from kmnb.errors import BadRequest
from kmnb.sips._delimited import record_line
from kmnb.sips._rows import RECORD_PARAMS, Problems, Rows
from kmnb.sips._tally import DISTINCT_EXACT_MAX, ColumnTally, keyed
from kmnb.sips._where import Condition, parse_where

COLUMNS_MAX = 500
"""Most columns that are summarised when none are named."""
DISTINCT_ALL_MAX = 200_000
"""Most different values that are kept of all columns together."""
_CELL_MAX_BYTES = 200
_FIELDS = ("column", "count", "nulls", "min", "max", "sum", "mean", "distinct", "top")


class StatsRun:
    """A summary under way; every row is looked at, so the counts are exact.

    Args:
        arguments: Checked arguments of the sip.
        max_bytes: Cap of the answer's text in bytes.
    """

    full = done = False

    def __init__(self, arguments: Mapping[str, Any], *, max_bytes: int) -> None:
        self._asked: list[str] | None = list(arguments["columns"]) if arguments.get("columns") else None
        self._where: Condition | None = parse_where(arguments["where"]) if arguments.get("where") else None
        self._top: int = arguments.get("top") or 0
        self._decimal = arguments.get("decimal") or "."
        if self._decimal not in (".", ","):
            raise BadRequest("stats: decimal", f"{self._decimal[:20]!r} is neither a point nor a comma")
        self._cap = max_bytes
        self._problems = Problems(strict=bool(arguments.get("strict")))
        self._rows = Rows(self._problems)
        self._tallies: dict[str, ColumnTally] = {}
        self._counted = self._skipped_columns = 0

    @property
    def wanted(self) -> tuple[str, ...] | None:
        """Columns that are looked at; None for all."""
        if self._asked is None:
            return None
        return tuple(dict.fromkeys([*self._asked, *(self._where.columns if self._where else ())]))

    def feed(self, item: Any) -> None:
        """Take the next batch of records."""
        batch: Batch = item
        taken = self._rows.taken(batch, self._where)
        if self._rows.columns is not None:
            self._check()
        before, self._counted = self._counted, self._counted + len(taken)
        names = self._names()
        for name in names:
            tally = self._tallies.get(name)
            if tally is None:
                tally = self._tallies[name] = self._tally(before, len(names))
            tally.add(Counter(_countable(self._rows.column(taken, name))))

    def _tally(self, before: int, columns: int) -> ColumnTally:
        """Begin a column; rows that have passed by without it hold nothing there."""
        tally = ColumnTally(decimal=self._decimal, most=max(1000, min(DISTINCT_EXACT_MAX, DISTINCT_ALL_MAX // columns)))
        if before:
            tally.add({None: before})
        return tally

    def _names(self) -> list[str]:
        if self._asked is not None:
            return self._asked
        # Of columns of the same name the last one counts, as everywhere.
        known = list(dict.fromkeys(self._rows.columns if self._rows.columns is not None else self._rows.seen))
        self._skipped_columns = max(0, len(known) - COLUMNS_MAX)
        return known[:COLUMNS_MAX]

    def _check(self) -> None:
        for name in (
            self._rows.missing(self._asked or ()),
            self._rows.missing(self._where.columns if self._where else ()),
        ):
            if name is not None:
                raise self._rows.unknown(name)

    def end(self) -> None:
        """Hear that the content ended.

        Raises:
            BadRequest: A column that was asked for does not exist.
        """
        if self._rows.columns is None and self._rows.seen:
            self._check()

    def finish(self) -> Slice:
        """Give one dict for each column."""
        values: list[dict[str, Any]] = []
        notes: list[str] = []
        lines = [record_line(_FIELDS)]
        spent = len(lines[0])
        for name, tally in self._tallies.items():
            value = self._told(name, tally, notes)
            line = record_line(value[field] for field in _FIELDS)
            spent += len(line.encode("utf-8", "replace"))
            if spent > self._cap:
                break
            values.append(value)
            lines.append(line)
        total = len(self._tallies) + self._skipped_columns
        return Slice(
            values=values,
            text="".join(lines) if spent <= self._cap or values else "",
            complete=len(values) == total,
            shown=len(values),
            total=total,
            total_is_lower_bound=self._asked is None and self._rows.is_partial,
            skipped=self._problems.count,
            problems=tuple(self._problems.first),
            notes=tuple(notes[:20]),
            columns=tuple(values[0]) if values else _FIELDS,
        )

    def _told(self, name: str, tally: ColumnTally, notes: list[str]) -> dict[str, Any]:
        facts = tally.facts()
        found = {"column": name, **facts, "distinct": tally.distinct(), "top": tally.top(self._top)}
        found["min"], found["max"] = _short(found["min"]), _short(found["max"])
        found["top"] = [[_short(value), times] for value, times in found["top"]]
        found |= {"numbers": tally.numbers, "not_finite": tally.not_finite, "is_estimate": tally.is_estimate}
        if tally.is_estimate:
            notes.append(f"{name[:60]}: distinct and top are estimates")
        if tally.not_finite:
            notes.append(f"{name[:60]}: {tally.not_finite:,} values are NaN or infinite and left out")
        if not tally.numbers and self._decimal == "." and _looks_comma(facts["min"]):
            notes.append(f"{name[:60]}: looks like numbers with a decimal comma; pass decimal=','")
        return found


def _countable(values: Sequence[Any]) -> Iterable[Any]:
    """Make values that can be counted; short texts, the usual case, can be as they are."""
    if set(map(type, values)) <= _PLAIN and max(map(len, filter(None, values)), default=0) <= 256:
        return values
    return map(keyed, values)


_PLAIN = {str, type(None)}


def _looks_comma(text: Any) -> bool:
    whole, comma, fraction = text.partition(",") if isinstance(text, str) else ("", "", "")
    return bool(comma) and whole.lstrip("-").isdigit() and fraction.isdigit()


def _short(value: Any) -> Any:
    """Cut a long text at a character boundary, with a mark."""
    if not isinstance(value, (str, list, dict)):
        return value
    raw = text_of(value).encode("utf-8", "replace")
    return value if len(raw) <= _CELL_MAX_BYTES else raw[: _CELL_MAX_BYTES - 3].decode("utf-8", "ignore") + "…"


class StatsSip:
    """The plug-in."""

    feeds = "records"
    operation = Operation(
        "stats",
        "Summarise columns: count, nulls, min, max, sum, mean, distinct and most frequent values.",
        (
            Param("columns", "texts", "Names of the columns; all when not given.", positional=True),
            Param("where", "text", "Condition that rows must meet, such as: status = 'Running'."),
            Param("top", "integer", "How many of the most frequent values.", 10, minimum=0, below="default"),
            Param("decimal", "text", "Character before the fraction of numbers in texts.", ".", choices=(".", ",")),
            *RECORD_PARAMS,
        ),
        (
            Example(
                b"ns,n\na,1\nb,2\na,\n",
                {"columns": ["n"], "top": 1},
                (
                    {
                        "column": "n", "count": 2, "nulls": 1, "min": 1, "max": 2, "sum": 3, "mean": 1.5, "distinct": 2,
                        "top": [["1", 1]], "numbers": 2, "not_finite": 0, "is_estimate": False,
                    },
                ),
                'column,count,nulls,min,max,sum,mean,distinct,top\nn,2,1,1,2,3,1.5,2,"[[""1"",1]]"\n',
            ),
        ),
    )  # fmt: skip

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> StatsRun:
        """Begin."""
        return StatsRun(arguments, max_bytes=max_bytes)


SIP = StatsSip()
