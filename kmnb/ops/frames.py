"""From answers and artifacts to frames: exact values, nothing retyped unless asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from kmnb.core.bounds import SLURP_MAX_BYTES
from kmnb.core.cells import column_of
from kmnb.core.display import size_text
from kmnb.core.slice import Slice, provide_frames
from kmnb.errors import BadRequest, BoundExceeded, NotSupported
from kmnb.ops._inferring import inferred

if TYPE_CHECKING:
    import pandas

_INTEGERS = (-(2**63), 2**63 - 1)
CELLS_MAX = 100_000_000
"""Most cells of a frame: a few bytes of records with fields of their own each would make billions of missing ones."""


def check_size(size: int | None, max_bytes: int | None, *, what: str) -> None:
    """Refuse to load what is larger than was agreed to.

    Args:
        size: Size of the artifact in bytes; None when unknown.
        max_bytes: What the caller allows; None for :data:`~kmnb.core.bounds.SLURP_MAX_BYTES`.
        what: The call, for the message.

    Raises:
        BoundExceeded: It is larger; the message tells the size and how to go on.
    """
    limit = SLURP_MAX_BYTES if max_bytes is None else max_bytes
    if size is not None and size > limit:
        raise BoundExceeded(
            what,
            f"the artifact has {size:,} bytes ({size_text(size)}); the limit is {limit:,}",
            f"Pass max_bytes={size} to load all of it, or ask for less with select, jq or run.",
            limit="max_bytes" if max_bytes is not None else "SLURP_MAX_BYTES",
            value=limit,
            unit="bytes",
        )


def frame_of(columns: Mapping[str, Sequence[Any]], *, infer: bool = False) -> pandas.DataFrame:
    """Make a frame of columns.

    Whole numbers become ``Int64`` where all of a column are, else they stay Python's exact numbers; text stays text
    (``00010``, ``NA`` and times included); only None is missing.

    Args:
        columns: Values by column name.
        infer: Whether text that looks like numbers, times or truth values is converted.

    Returns:
        A frame with a plain range index.
    """
    import pandas

    length = max((len(values) for values in columns.values()), default=0)
    made = {name: _column(values) for name, values in columns.items()}
    frame = pandas.DataFrame(made, columns=list(columns), index=pandas.RangeIndex(length))
    if infer:
        for name in frame.columns:
            frame[name] = inferred(frame[name])
    return frame


def typed_frame(table: Any, *, infer: bool = False) -> pandas.DataFrame:
    """Make a frame of an Arrow table: types stay what they are, whole numbers and truth values stay exact beside nulls.

    Args:
        table: The table.
        infer: Whether text that looks like numbers, times or truth values is converted.
    """
    import pandas
    import pyarrow

    mapped: dict[Any, Any] = {
        pyarrow.bool_(): pandas.BooleanDtype(),
        pyarrow.float32(): pandas.Float32Dtype(),
        pyarrow.float64(): pandas.Float64Dtype(),
        pyarrow.string(): pandas.StringDtype(),
        pyarrow.large_string(): pandas.StringDtype(),
    }
    for bits in (8, 16, 32, 64):
        mapped[getattr(pyarrow, f"int{bits}")()] = getattr(pandas, f"Int{bits}Dtype")()
        mapped[getattr(pyarrow, f"uint{bits}")()] = getattr(pandas, f"UInt{bits}Dtype")()
    table = table.rename_columns(unique_names(table.column_names))
    frame: pandas.DataFrame = table.to_pandas(types_mapper=mapped.get, ignore_metadata=True)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pyarrow.types.is_nested(column.type) and any(map(_has_gaps, column.chunks)):
            frame[name] = pandas.Series(column.to_pylist(), index=frame.index, dtype=object)
    for name in frame.columns if infer else ():
        frame[name] = inferred(frame[name])
    return frame


def _has_gaps(array: Any) -> bool:
    """Tell whether whole numbers inside lists and objects stand beside nulls; pandas would make floats of them."""
    from pyarrow import types

    if types.is_integer(array.type):
        return bool(array.null_count)
    if types.is_map(array.type):
        return _has_gaps(array.keys) or _has_gaps(array.items)
    if types.is_struct(array.type):
        return any(map(_has_gaps, array.flatten()))
    is_list = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(test(array.type) for test in is_list) and _has_gaps(array.flatten())


def unique_names(names: Sequence[str]) -> list[str]:
    """Give each column a name of its own: of equal ones the last keeps it, as ``select`` takes that one.

    Args:
        names: Names as they stand in the source.

    Returns:
        The names; the first of several ``a`` is ``a.1``, the second ``a.2``.
    """
    last = {name: place for place, name in enumerate(names)}
    given, numbers = list(names), dict.fromkeys(names, 0)
    for place, name in enumerate(names):
        while last[name] != place and given[place] in numbers:
            numbers[name] += 1
            given[place] = f"{name}.{numbers[name]}"
        numbers.setdefault(given[place], 0)
    return given


def _column(values: Sequence[Any]) -> Any:
    import pandas

    if not values:
        return pandas.array([], dtype="string")
    kinds = {type(value) for value in values if value is not None}
    dtype: Any = {bool: "boolean", float: "Float64", str: "string"}.get(kinds.pop()) if len(kinds) == 1 else None
    if dtype is None and _are_integers(values):
        dtype = "Int64"
    return pandas.Series(list(values), dtype=object) if dtype is None else pandas.array(list(values), dtype=dtype)


def _are_integers(values: Sequence[Any]) -> bool:
    low, high = _INTEGERS
    found = [value for value in values if value is not None]
    return bool(found) and all(type(value) is int and low <= value <= high for value in found)


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Turn rows into columns; what a row lacks is None."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def answer_columns(answer: Slice) -> dict[str, list[Any]]:
    """Turn an answer's values into columns: dicts and matches by field, anything else as ``value``.

    A single value that is a list, as JMESPath gives, is taken for the rows.
    """
    values = answer.values
    if not values and answer.columns is not None:
        return {name: [] for name in answer.columns}
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    if values and all(isinstance(value, Mapping) for value in values):
        return columns_of(values)
    if values and all(is_dataclass(value) and not isinstance(value, type) for value in values):
        names = [field.name for field in fields(values[0])]
        return {name: [getattr(value, name) for value in values] for name in names}
    return {"value": list(values)}


def table_of(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Make an Arrow table of columns; values that have no common Arrow type become JSON text.

    Raises:
        NotSupported: pyarrow is not installed.
    """
    try:
        import pyarrow
    except ImportError:
        raise NotSupported("Arrow", "pyarrow is not installed", "pip install 'kmnb[arrow]'") from None

    def array(values: Sequence[Any]) -> Any:
        if not values:
            return pyarrow.array([], type=pyarrow.string())
        try:
            return pyarrow.array(values)
        except (pyarrow.ArrowException, OverflowError, ValueError):
            texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
            return pyarrow.array(texts, type=pyarrow.string())

    return pyarrow.table({name: array(list(values)) for name, values in columns.items()})


provide_frames(lambda answer: frame_of(answer_columns(answer)), lambda answer: table_of(answer_columns(answer)))


class ColumnCollector:
    """Keeps every row of an artifact, column by column: the deliberate slurp, as the driver's sip.

    Args:
        columns: Names of the columns that are wanted; None for all.
        told: Called with the number of rows so far.
    """

    feeds = "records"
    done = full = False

    def __init__(self, columns: Sequence[str] | None, told: Callable[[int], None] | None = None) -> None:
        self.wanted = tuple(columns) if columns is not None else None
        self._told = told
        self.columns: dict[str, list[Any]] = {}
        self._seen: dict[str, None] = {}
        self.count = self.skipped = 0

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> ColumnCollector:
        """Begin."""
        return self

    def feed(self, batch: Any) -> None:
        """Take the next batch of records."""
        self.skipped += len(batch.problems)
        if batch.kind == "table" and batch.columns is not None:
            for place, name in enumerate(unique_names(batch.columns)):
                self.columns.setdefault(name, []).extend(column_of(batch.rows, place))
        elif batch.kind == "json":
            self._rows([value if isinstance(value, dict) else {"value": value} for value in map(_value, batch.rows)])
        elif batch.rows:
            self.columns.setdefault("line", []).extend(line.decode("utf-8", "replace") for line in batch.rows)
        self.count += len(batch.rows)
        if self._told is not None:
            self._told(self.count)

    def _rows(self, rows: list[dict[str, Any]]) -> None:
        names = dict.fromkeys(name for row in rows for name in row)
        self._seen |= names
        taken = [name for name in names if self.wanted is None or name in self.wanted]
        cells = (self.count + len(rows)) * len({*self.columns, *taken})
        if cells > CELLS_MAX:
            raise BoundExceeded(
                "the frame",
                f"its records differ so much in their fields that it would have {cells:,} cells",
                "Name the columns that you need, or use jq or run.",
                limit="CELLS_MAX", value=CELLS_MAX, unit="cells",
            )  # fmt: skip
        for name in taken:
            self.columns.setdefault(name, [None] * self.count)
        for name, values in self.columns.items():
            values.extend(row.get(name) for row in rows)

    def finish(self) -> Slice:
        """Give nothing: the columns are the answer."""
        return Slice([], "", complete=True, shown=0, total=self.count)

    def chosen(self) -> dict[str, list[Any]]:
        """Give the wanted columns, in the order in which they were asked for.

        Raises:
            BadRequest: One of them does not exist.
        """
        if self.wanted is None:
            return self.columns
        known = self._seen or self.columns
        missing = [name for name in self.wanted if name not in known]
        if missing and self.count:
            raise BadRequest(f"column {missing[0]!r:.80}", "there is none", f"Known: {', '.join(known)}"[:500])
        return {name: self.columns.get(name, []) for name in self.wanted}


def _value(text: bytes) -> Any:
    import msgspec

    from kmnb.core.lenient import slow_value

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return slow_value(text)
