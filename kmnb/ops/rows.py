"""Rows by their number: any page of any size of content, with a condition or in an order, bounded at every step.

A stored index leads to the neighbourhood of a row; from there the content is cut as every sip cuts it. Content
without an index (compressed, foreign) is walked from its beginning. One call walks through at most
:data:`SCAN_MAX_BYTES`; what it found is remembered, so that the next call goes on where it ended.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kmnb.core.bounds import MIB
from kmnb.core.display import size_text
from kmnb.core.records import Batch
from kmnb.errors import BoundExceeded
from kmnb.ops._ordering import Ordering
from kmnb.ops._row_walk import RowWalk
from kmnb.sips._where import parse_where

SCAN_MAX_BYTES = 8 * MIB
"""Most stored bytes that one call walks through."""
SORT_MAX_BYTES = 64 * MIB
"""Most bytes that are read to put rows in an order: the content, or one column of a columnar format."""
BLOCK_ROWS, ORDERED_ROWS, BLOCKS_KEPT = 1024, 200, 4
"""Rows of a block of a columnar format, as they stand and in an order, and how many blocks are remembered."""
COLUMNAR_SORT_MAX_BYTES = 256 * MIB
"""Largest columnar content whose rows are put in an order: a page of such rows comes from all its row groups."""
_Block: TypeAlias = tuple[tuple[str, ...], list[tuple[int, Any]]]
ORDERS_KEPT = 4
"""Orders that are remembered; each has some eight bytes a row."""


@dataclass(frozen=True, slots=True)
class RowPage:
    """Some rows of a table, or records of a document."""

    start: int
    """Number of the first row among those that meet the condition, from 0."""
    columns: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[tuple[Any, ...], ...]
    """Values, aligned with ``columns``, as they stand in the source."""
    numbers: tuple[int, ...]
    """Number of each row in the source, from 0."""
    total: int | None
    """Rows that meet the condition; None while that is not known."""
    searched: float = 1.0
    """Share of the content that was searched so far; below 1 there may be more rows."""


@dataclass(slots=True)
class _Search:
    """What is known of a condition: places where a search can go on, and the end once it was seen."""

    places: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    total: int | None = None
    share: float = 0.0


class RowReader:
    """Reads rows of one artifact; it remembers where it found things.

    Args:
        artifact: The handle.
    """

    def __init__(self, artifact: Any) -> None:
        self._artifact = artifact
        self._searches: OrderedDict[str, _Search] = OrderedDict()
        self._blocks: OrderedDict[tuple[Any, int], _Block] = OrderedDict()
        self._orders: OrderedDict[tuple[str, bool, str | None], Sequence[int]] = OrderedDict()

    async def page(
        self, start: int, limit: int, *, where: str | None = None, order: tuple[str, bool] | None = None
    ) -> RowPage:
        """Read a page.

        Args:
            start: First row, from 0, among those that meet the condition.
            limit: Most rows.
            where: Condition in the language of ``select``.
            order: A column and whether large values come first; values that are no numbers follow the numbers.

        Returns:
            The rows, fewer at the end, or where a call may not search further.

        Raises:
            BadRequest: An unknown column or a condition that cannot be understood.
            BoundExceeded: The content is too large to be put in an order.
            ArtifactNotFound: The artifact is gone.
        """
        walk = await RowWalk.open(self._artifact)
        if order is not None:
            return await self._ordered(walk, slice(start, start + limit), where=where, order=order)
        if where is not None:
            return await self._searched(walk, start, limit, where=where)
        found = await self._collected(walk, range(start, start + limit))
        total = walk.total if walk.total is not None else (start + len(found) if walk.ended and found else None)
        return _page(walk, start, found, total=total)

    async def statistics(self) -> Mapping[str, Mapping[str, Any]] | None:
        """Tell what a columnar format keeps of its columns; None for formats where rows are as near as facts."""
        walk = await RowWalk.open(self._artifact)
        return await walk.statistics() if walk.is_ranged else None

    async def _collected(self, walk: RowWalk, wanted: range) -> list[tuple[int, Any]]:
        found: list[tuple[int, Any]] = []
        if walk.is_ranged and wanted.start >= BLOCK_ROWS:
            return await self._of_blocks(walk, wanted, None)
        async with aclosing(walk.rows(wanted.start, wanted.stop)) as rows:
            async for number, row in rows:
                if number >= wanted.stop:
                    break
                found.append((number, row))
                if len(found) == len(wanted):
                    break
        return found

    async def _of_blocks(self, walk: RowWalk, wanted: range, order: Any) -> list[tuple[int, Any]]:
        """Read far rows of a columnar format in blocks, which are remembered: each costs whole column chunks."""
        found: list[tuple[int, Any]] = []
        size = BLOCK_ROWS if order is None else ORDERED_ROWS
        for at in range(wanted.start // size * size, wanted.stop, size):
            known = self._blocks.get((order, at))
            if known is None:
                known = self._blocks[order, at] = await self._block(walk, range(at, at + size), order)
                while len(self._blocks) > BLOCKS_KEPT:
                    self._blocks.popitem(last=False)
            walk.table.columns = known[0]
            found += known[1][max(0, wanted.start - at) : wanted.stop - at]
        return found

    async def _block(self, walk: RowWalk, span: range, order: Any) -> _Block:
        if order is not None:
            numbers = self._orders[order][span.start : span.stop]
            return walk.columns, list(zip(numbers, await walk.single(numbers), strict=True))
        async with aclosing(walk.rows(span.start, span.stop)) as rows:
            found = [(number, row) async for number, row in rows if number in span]
        return walk.columns, found

    async def _searched(self, walk: RowWalk, start: int, limit: int, *, where: str) -> RowPage:
        condition, search = parse_where(where), self._search(where)
        place = bisect_right(search.places, start, key=lambda known: known[0]) - 1
        matched, first = search.places[place]
        found: list[tuple[int, Any]] = []
        async with aclosing(walk.batches(first, at_most=SCAN_MAX_BYTES)) as batches:
            async for batch in batches:
                for number, row in walk.table.of(batch):
                    if number >= first and condition.holds(row):
                        if matched >= start and len(found) < limit:
                            found.append((number, row))
                        matched += 1
                if matched > search.places[-1][0]:
                    search.places.append((matched, batch.start + batch.counted))
                if len(found) == limit:
                    break
        walk.check(condition.columns)
        self._note(walk, search, matched)
        return _page(walk, start, found, total=search.total, searched=search.share)

    def _note(self, walk: RowWalk, search: _Search, matched: int) -> None:
        """Remember how far the search has come; the next call goes on there."""
        if walk.ended:
            search.total, search.share = matched, 1.0
        elif matched >= search.places[-1][0]:
            search.places.append((matched, walk.next))
        search.share = max(search.share, walk.share)

    def _search(self, where: str) -> _Search:
        search = self._searches.setdefault(where, _Search())
        self._searches.move_to_end(where)
        while len(self._searches) > 16:
            self._searches.popitem(last=False)
        return search

    async def _ordered(self, walk: RowWalk, wanted: slice, *, where: str | None, order: tuple[str, bool]) -> RowPage:
        name = (*order, where)
        if name not in self._orders:
            self._orders[name] = await self._order(walk, where, order)
            while len(self._orders) > ORDERS_KEPT:
                self._orders.popitem(last=False)
        known = self._orders[name]
        if walk.is_ranged:
            found = await self._of_blocks(walk, range(wanted.start, min(wanted.stop, len(known))), name)
        else:
            found = list(zip(known[wanted], await walk.single(known[wanted]), strict=True))
        return _page(walk, wanted.start, found, total=len(known))

    async def _order(self, walk: RowWalk, where: str | None, order: tuple[str, bool]) -> Sequence[int]:
        _check_sort(walk.size, COLUMNAR_SORT_MAX_BYTES if walk.is_ranged else SORT_MAX_BYTES)
        column, descending = order
        condition = parse_where(where) if where is not None else None
        columns = (column, *(condition.columns if condition else ()))
        ordering = Ordering(descending=descending)

        def take(batch: Batch) -> None:
            if condition is None:
                values = walk.table.column(walk.table.taken(batch, None), column)
                ordering.add(values, batch.numbers)
            else:
                matching = [one for one in walk.table.of(batch) if condition.holds(one[1])]
                ordering.add([row(column) for _, row in matching], [number for number, _ in matching])

        async with aclosing(walk.batches(0, columns=columns)) as batches:
            async for batch in batches:
                # Of a columnar format only this column is read; how much that is shows on the way.
                _check_sort(walk.fetched, SORT_MAX_BYTES)
                await asyncio.to_thread(take, batch)
        walk.check(columns)
        return await asyncio.to_thread(ordering.rows)


def _check_sort(size: int, limit: int) -> None:
    if size > limit:
        raise BoundExceeded(
            "sort",
            f"it would read {size_text(size)} or more; at most {size_text(limit)} is put in order here",
            "Filter and look, or sort with kmnb.duckdb() or a program.",
            limit="SORT_MAX_BYTES", value=limit, unit="bytes",
        )  # fmt: skip


def _page(
    walk: RowWalk, start: int, found: list[tuple[int, Any]], *, total: int | None, searched: float = 1.0
) -> RowPage:
    columns = walk.columns
    rows = tuple(_cells(row, columns) for _, row in found)
    return RowPage(start, columns, rows, tuple(number for number, _ in found), total, searched)


def _cells(row: Any, columns: tuple[str, ...]) -> tuple[Any, ...]:
    """Give the cells of a row; those of a table as they stand, since several columns may have one name."""
    cells = getattr(row, "cells", ())
    return tuple(cells) if len(cells) == len(columns) else tuple(row(name) for name in columns)
