"""Rows as sips see them, whatever the format: values by column name, problems counted, values not retyped."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any

from kmnb.core.cells import Chosen, column_of
from kmnb.core.describe import Param
from kmnb.core.lenient import told
from kmnb.core.records import Batch, Problem
from kmnb.core.visible import visible
from kmnb.errors import BadRequest, clip
from kmnb.sips._json_values import one_decoder
from kmnb.sips._row_tests import Row
from kmnb.sips._where import Condition

PROBLEMS_MAX = 20
"""Most problems that an answer lists; all are counted."""

NAMES_MAX = 10_000
"""Names of fields that are told apart where nothing declares them."""

RECORD_PARAMS = (
    Param("delimiter", "text", "Character between cells; found out when not given.", advanced=True),
    Param("quote", "text", "Quote character of cells; '\"' when not given.", advanced=True),
    Param("encoding", "text", "Text encoding; found out when not given.", advanced=True),
    Param("header", "flag", "Whether the first record names the columns; found out when not given.", advanced=True),
    Param("strict", "flag", "Whether a bad record is an error instead of being skipped.", False, advanced=True),
)
"""Parameters of every sip over records: how the content is to be read."""


class Problems:
    """Counts the records that could not be used.

    Args:
        strict: Whether the first one raises.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self.count = 0
        self.first: list[Problem] = []

    def add(self, found: Sequence[Problem]) -> None:
        """Note some.

        Raises:
            BadRequest: ``strict`` was asked for.
        """
        if found and self._strict:
            raise BadRequest(
                f"line {found[0].line}", clip(found[0].reason, 300), "Without strict=True bad records are counted"
            )
        self.count += len(found)
        self.first.extend(found[: PROBLEMS_MAX - len(self.first)])


class Rows:
    """Gives the rows of batches as functions from column name to value.

    Args:
        problems: Where rows that cannot be read are noted.
    """

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self.columns: tuple[str, ...] | None = None
        self.seen: dict[str, None] = {}
        self.is_partial = False
        self._names: frozenset[str] = frozenset()
        self._held: tuple[str, ...] | None = None
        self._places: dict[str, int] = {}

    def of(self, batch: Batch, where: Condition | None = None) -> Iterator[tuple[int, Row]]:
        """Walk the rows of a batch that meet a condition, with their numbers from 0."""
        self._note(batch)
        if batch.kind == "table":
            return self._table(batch, where)
        rows = self._json(batch) if batch.kind == "json" else self._text(batch)
        return rows if where is None else (found for found in rows if where.holds(found[1]))

    def _note(self, batch: Batch) -> None:
        self._problems.add(batch.problems)
        if batch.columns is not None and batch.columns is not self._held:
            self._held = batch.columns
            # The first batch names all columns; later ones may hold only those that were asked for.
            if not self.columns:
                self.columns, self._names = batch.columns, frozenset(batch.columns)
            self._places = {name: at for at, name in enumerate(batch.columns)}

    def taken(self, batch: Batch, where: Condition | None) -> Sequence[Any] | Chosen:
        """Give the rows of a batch that meet a condition, for :meth:`column`."""
        if batch.kind != "table":
            return [row for _, row in self.of(batch, where)]
        self._note(batch)
        if where is None:
            return batch.rows
        return Chosen(batch.rows, _judged(batch.rows, where, self._places))

    def column(self, taken: Sequence[Any] | Chosen, name: str) -> list[Any]:
        """Give the values of a column of rows that :meth:`taken` gave."""
        if self._held is None and not isinstance(taken, Chosen):
            return [row(name) for row in taken]
        place = self._places.get(name)
        return [None] * len(taken) if place is None else column_of(taken, place)

    def repeated(self) -> list[str]:
        """Tell of each name that several columns have; a row as a dict can hold but one of them."""
        if self.columns is None or len(self._names) == len(self.columns):
            return []
        times = Counter(self.columns)
        return [f"{n} columns are named {clip(name, 60)!r}; rows show the last" for name, n in times.items() if n > 1]

    def missing(self, names: Sequence[str]) -> str | None:
        """Give the first of some names that is no column, as far as is known; ``None`` when all are."""
        known = self._names if self.columns is not None else self.seen
        return next((name for name in names if name not in known), None)

    def unknown(self, name: str) -> BadRequest:
        """Make the error of an unknown column; it lists near names."""
        known = list(self.columns if self.columns is not None else self.seen)
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5) or known[:20]
        shown = ", ".join(clip(visible(each).replace("\n", "␊"), 60) for each in near) or "none"
        return BadRequest(
            f'column "{clip(name, 100)}" not found in header', "", f"Near: {shown}", column=name, near=tuple(near)
        )

    def _table(self, batch: Batch, where: Condition | None) -> Iterator[tuple[int, Row]]:
        places = self._places
        numbered: Iterable[tuple[int, Sequence[Any]]]
        if where is None:
            numbered = zip(batch.numbers, batch.rows, strict=True)
        else:
            which = compress(range(len(batch.rows)), _judged(batch.rows, where, places))
            numbered = ((batch.numbers[at], batch.rows[at]) for at in which)
        for number, cells in numbered:
            yield number, _CellsRow(cells, places)

    def _text(self, batch: Batch) -> Iterator[tuple[int, Row]]:
        self.seen["line"] = None
        for number, line in zip(batch.numbers, batch.rows, strict=True):
            yield number, {"line": line.decode("utf-8", "replace")}.get

    def _json(self, batch: Batch) -> Iterator[tuple[int, Row]]:
        decode = one_decoder(None)
        for number, raw in zip(batch.numbers, batch.rows, strict=True):
            try:
                value = decode(raw)
            except ValueError as fault:
                self._problems.add([Problem(number + 1, told(fault))])
                continue
            if isinstance(value, dict):
                if len(self.seen) < NAMES_MAX:
                    self.seen.update(dict.fromkeys(value))
                elif not self.is_partial:
                    self.is_partial = not value.keys() <= self.seen.keys()
                yield number, _PathRow(value, self.seen)
            else:
                self.seen["value"] = None
                yield number, _PathRow({"value": value}, self.seen)


def _judged(rows: Sequence[Any], where: Condition, places: Mapping[str, int]) -> list[bool]:
    """Tell of each row of a table whether it meets a condition; what it looks at is judged once where it repeats."""
    names = [name for name in where.columns if name in places]
    looked = [column_of(rows, places[name]) for name in names]
    own = {name: at for at, name in enumerate(names)}
    if not looked:
        return [where.holds(_CellsRow((), own))] * len(rows)
    keys = list(zip(*looked, strict=True))
    # Other values may be equal and not the same, as 1 and true are, or cannot be told apart by a set.
    if all(set(map(type, column)) <= _TEXTS for column in looked):
        different = set(keys)
        if len(different) * _REPEATS <= len(keys):
            true = {key for key in different if where.holds(_CellsRow(key, own))}
            return [key in true for key in keys]
    return [where.holds(_CellsRow(key, own)) for key in keys]


_TEXTS = {str, type(None)}
_REPEATS = 4
# How often values must be met on average before it pays to judge each once.


class _CellsRow:
    __slots__ = ("_cells", "_places")

    def __init__(self, cells: Sequence[Any], places: Mapping[str, int]) -> None:
        self._cells, self._places = cells, places

    @property
    def cells(self) -> Sequence[Any]:
        """All cells, in the order of the columns."""
        return self._cells

    def __call__(self, name: str) -> Any:
        place = self._places.get(name)
        return None if place is None else self._cells[place]


class _PathRow:
    """A JSON object; a name is one of its keys, else a path whose parts are separated by dots."""

    __slots__ = ("_seen", "value")

    def __init__(self, value: dict[str, Any], seen: dict[str, None]) -> None:
        self.value, self._seen = value, seen

    def __call__(self, name: str) -> Any:
        if name in self.value:
            return self.value[name]
        if "." not in name:
            return None
        found, value = follow(self.value, name)
        if found:
            self._seen[name] = None
        return value


def own_names(row: Row) -> Iterable[str]:
    """Give the names of the fields of a JSON object; none of other rows, whose columns are told before them."""
    return row.value if isinstance(row, _PathRow) else ()


def follow(value: Any, path: str) -> tuple[bool, Any]:
    """Follow a dotted path; keys that hold dots themselves are found too, list items go by number from 0.

    Returns:
        Whether it leads anywhere, and where.
    """
    if isinstance(value, list):
        head, _, rest = path.partition(".")
        if not head.isdigit() or int(head[:9]) >= len(value):
            return False, None
        return follow(value[int(head[:9])], rest) if rest else (True, value[int(head[:9])])
    if not isinstance(value, dict):
        return False, None
    if path in value:
        return True, value[path]
    at = path.rfind(".")
    while at > 0:
        if path[:at] in value:
            found = follow(value[path[:at]], path[at + 1 :])
            if found[0]:
                return found
        at = path.rfind(".", 0, at)
    return False, None
