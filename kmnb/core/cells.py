"""Rows of a table whose cells were cut all at once: a column costs one step, a row is made where it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any, overload

_END = "\n"


class CellRows(Sequence[list[str]]):
    """Rows of equally many cells.

    Args:
        cells: The cells of all rows in order, with one cell more after each row, which ends it.
        width: Number of cells of a row.
    """

    __slots__ = ("_cells", "_stride", "_width")

    def __init__(self, cells: list[str], width: int) -> None:
        self._cells, self._width, self._stride = cells, width, width + 1

    @classmethod
    def cut(cls, text: str, delimiter: str, width: int) -> CellRows | None:
        """Cut lines into cells at each delimiter.

        Args:
            text: Whole lines, each with its LF.
            delimiter: One character.
            width: How many cells each line has to have.

        Returns:
            The rows; None where some line has more or fewer cells, or holds nothing.
        """
        if text.startswith(_END) or _END + _END in text:
            return None
        cells = text.replace(_END, delimiter + _END + delimiter).split(delimiter)
        cells.pop()
        stride = width + 1
        # A line end is a cell of its own: where all of them stand in their places, all lines have that many cells.
        count, rest = divmod(len(cells), stride)
        is_even = not rest and cells[width::stride].count(_END) == count == text.count(_END)
        return cls(cells, width) if is_even else None

    def column(self, place: int) -> list[str]:
        """Give the cells of a column, by its place from 0."""
        return self._cells[place :: self._stride]

    def __len__(self) -> int:
        return len(self._cells) // self._stride

    @overload
    def __getitem__(self, index: int) -> list[str]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[str]]: ...
    def __getitem__(self, index: int | slice) -> list[str] | list[list[str]]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = range(len(self))[index] * self._stride
        return self._cells[at : at + self._width]

    def __iter__(self) -> Iterator[list[str]]:
        cells, width = self._cells, self._width
        return (cells[at : at + width] for at in range(0, len(cells), self._stride))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (list, CellRows)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


class Chosen:
    """Some rows of a table.

    Args:
        rows: All of them.
        which: For each whether it is chosen.
    """

    def __init__(self, rows: Sequence[Sequence[Any]], which: Sequence[bool]) -> None:
        self._rows, self._which = rows, which
        self._count = sum(which)

    def __len__(self) -> int:
        return self._count

    def column(self, place: int) -> list[Any]:
        """Give the cells of a column, by its place from 0."""
        return list(compress(column_of(self._rows, place), self._which))


def column_of(rows: Sequence[Sequence[Any]] | Chosen, place: int) -> list[Any]:
    """Give the cells of a column of some rows, by its place from 0."""
    if isinstance(rows, (CellRows, Chosen)):
        return rows.column(place)
    return [cells[place] for cells in rows]
