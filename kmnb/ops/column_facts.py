"""What the head of a table tells of its columns: types from the stored schema, the rest from few rows or from all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kmnb.core.bounds import MIB
from kmnb.core.shape import text_of
from kmnb.core.visible import visible
from kmnb.errors import KmnbError
from kmnb.sips._compare import number_of

EXACT_BYTES = 2 * MIB
"""Up to this size all rows are looked at; of larger content a sample."""
PLACES, ROWS_A_PLACE = 10, 40
"""How a sample is spread over the rows."""
BINS = 20
"""Bars of a histogram."""
TOP = 3
"""Frequent values that are told."""
COLUMNS_MAX = 500
"""Most columns that are told."""


class Columns:
    """Looks at the columns once, when somebody asks.

    Args:
        artifact: The handle.
        rows: Reads its rows.
    """

    def __init__(self, artifact: Any, rows: Any) -> None:
        self._artifact, self._rows = artifact, rows
        self._told: dict[str, Any] | None = None

    async def told(self) -> dict[str, Any]:
        """Tell of each column ``name``, ``type``, ``nulls`` (a share), ``min``, ``max``, ``bins`` and ``top``.

        A columnar format tells nulls and range of all rows in its footer, and no row is read.
        """
        if self._told is None:
            types = await self._types()
            known = await self._rows.statistics()
            if known is not None:
                # Far rows of a columnar format cost whole chunks, while its footer knows nulls and ranges of all rows.
                self._told = _from_footer(types, known)
                return self._told
            names, rows, is_sample = await self._some_rows()
            columns = [
                column_facts([row[place] for row in rows]) | {"name": name, "type": types.get(name)}
                for place, name in enumerate(names[:COLUMNS_MAX])
            ]
            self._told = {"columns": columns, "looked_at": len(rows), "sample": is_sample, "code": "art.stats()"}
        return self._told

    async def _types(self) -> dict[str, str]:
        try:
            schema = await self._artifact.schema_async()
        except KmnbError:
            # The types are an extra: content that has none is shown all the same.
            return {}
        return {column["name"]: column["type"] for column in schema.values}

    async def _some_rows(self) -> tuple[Sequence[str], list[Sequence[Any]], bool]:
        total = self._artifact.rows
        if (self._artifact.size or 0) <= EXACT_BYTES or total is None or total <= PLACES * ROWS_A_PLACE:
            page = await self._rows.page(0, total if total is not None else PLACES * ROWS_A_PLACE)
            return page.columns, list(page.rows), page.total is None or len(page.rows) < page.total
        names: Sequence[str] = ()
        rows: list[Sequence[Any]] = []
        for place in range(PLACES):
            page = await self._rows.page(place * (total - ROWS_A_PLACE) // (PLACES - 1), ROWS_A_PLACE)
            names = names or page.columns
            if page.columns == names:
                rows += page.rows
        return names, rows, True


def _from_footer(types: Mapping[str, str], known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    columns = [
        {name: _shown(value) for name, value in known.get(column, {}).items()} | {"name": column, "type": kind}
        for column, kind in list(types.items())[:COLUMNS_MAX]
    ]
    return {"columns": columns, "looked_at": None, "sample": False, "code": "art.stats()"}


def _shown(value: Any) -> Any:
    return value if isinstance(value, int | float) else visible(text_of(value)[:60])


def column_facts(values: Sequence[Any]) -> dict[str, Any]:
    """Summarise values for the head of a column.

    Args:
        values: Values as they stand in the source.

    Returns:
        ``nulls`` from 0 to 1; ``min``, ``max`` and ``bins`` (counts) for numbers; ``top`` and ``distinct`` else.
    """
    present = [value for value in values if value is not None and value != ""]
    nulls = 1 - len(present) / len(values) if values else 0.0
    numbers = [number for value in present if (number := _float(value)) is not None]
    if numbers and len(numbers) == len(present):
        low, high = min(numbers), max(numbers)
        return {"nulls": nulls, "min": low, "max": high, "bins": _bins(numbers, low, high)}
    counts = Counter(visible(text_of(value)[:60]) for value in present)
    return {"nulls": nulls, "distinct": len(counts), "top": counts.most_common(TOP)}


def _float(value: Any) -> float | None:
    number = number_of(value)
    try:
        return None if number is None else float(number)
    except OverflowError:
        return None


def _bins(numbers: Sequence[float], low: float, high: float) -> list[int]:
    width = (high - low) / BINS
    bins = [0] * BINS
    for number in numbers:
        bins[min(BINS - 1, int((number - low) / width)) if width > 0 else 0] += 1
    return bins
