"""What Parquet and Arrow share: pyarrow, where it is there, values that JSON can hold, types by name."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from kmnb.core.records import Batch
from kmnb.errors import NotSupported, StoreError, clip

ROWS_AT_ONCE = 1024
"""Rows of one batch."""
_TYPES = (
    ("is_boolean", "boolean"), ("is_integer", "integer"), ("is_floating", "number"), ("is_decimal", "number"),
    ("is_temporal", "timestamp"), ("is_nested", "list"),
)  # fmt: skip


def arrow() -> Any:
    """Import pyarrow with the parts that are used here.

    Raises:
        NotSupported: It is not installed.
    """
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
        import pyarrow.types
    except ImportError:
        raise NotSupported(
            "Parquet and Arrow content", "needs pyarrow, which is not installed", "Install kmnb[arrow]"
        ) from None
    return pyarrow


def damaged(what: str, fault: Exception) -> StoreError:
    """Make the error of a file that the reader does not understand."""
    return StoreError(
        what, f"it is damaged ({clip(str(fault).splitlines()[0] if str(fault) else type(fault).__name__, 300)})"
    )


def columns_of(schema: Any) -> tuple[dict[str, Any], ...]:
    """Give a dict with ``name``, ``type``, ``nullable`` and the source's own ``source_type`` for each column."""
    return tuple(
        {"name": field.name, "type": type_name(field.type), "nullable": field.nullable, "source_type": str(field.type)}
        for field in schema
    )


def type_name(kind: Any) -> str:
    """Name an Arrow type by kmnb's words."""
    types = arrow().types
    if types.is_struct(kind) or types.is_map(kind):
        return "object"
    return next((name for test, name in _TYPES if getattr(types, test)(kind)), "text")


def columns_named(table: Any, names: Sequence[str]) -> list[Any]:
    """Give the columns of a table or a batch by their names; where a name repeats, one after the other.

    There may be others in it: pyarrow takes a name for the path of a nested column, too.
    """
    places: dict[str, list[int]] = {}
    for place, name in enumerate(table.schema.names):
        places.setdefault(name, []).append(place)
    return [table.column(places[name].pop(0)) for name in names]


def rows_of(table: Any, names: Sequence[str]) -> list[list[Any]]:
    """Turn a table or a batch into rows of cells that JSON can hold."""
    columns = [[plain(value) for value in column.to_pylist()] for column in columns_named(table, names)]
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in range(table.num_rows)]


def plain(value: Any) -> Any:
    """Give a value as JSON can hold it: times as ISO text, bytes as text, NaN and infinities as their names."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _NAMES.get(value, "NaN")
    if isinstance(value, bytes):
        return _bytes_text(value)
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


_NAMES = {math.inf: "Infinity", -math.inf: "-Infinity"}


def _bytes_text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return "0x" + value.hex()


def within(wanted: Sequence[int] | None, begin: int, end: int) -> Sequence[int]:
    """Give those of some ascending numbers that lie in a stretch; all of it where none are given."""
    if wanted is None:
        return range(begin, end)
    if isinstance(wanted, range):
        return range(max(begin, wanted.start), max(begin, min(end, wanted.stop)))
    return wanted[bisect_left(wanted, begin) : bisect_left(wanted, end)]


class Batches:
    """Numbers batches of rows in source order.

    Args:
        names: Columns that the rows hold.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self.count = 0
        """Number of the next row."""

    def of(self, table: Any) -> Iterator[Batch]:
        """Cut a table or a batch into batches of rows.

        Raises:
            pyarrow.ArrowInvalid: Offsets or indices point outside; pyarrow itself would read there.
        """
        table.validate(full=True)
        for at in range(0, table.num_rows, ROWS_AT_ONCE):
            part = table.slice(at, ROWS_AT_ONCE)
            start = self.count
            self.count += part.num_rows
            yield Batch(rows_of(part, self._names), start, columns=self._names, kind="table")
