"""Rows of Parquet row groups: few rows from the first pages, the rest from whole chunks, a window column by column."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from kmnb.core.bounds import KIB, MIB
from kmnb.core.records import Need, Scan
from kmnb.errors import BoundExceeded, KmnbError
from kmnb.formats._arrow import ROWS_AT_ONCE, Batches, arrow, columns_named, damaged, within
from kmnb.formats._parquet_dictionary import BEGINNING_BYTES, can_be_cut, cut_dictionary
from kmnb.formats._parquet_pages import HEADER_BYTES, Chunk, chunks_of, first_page, joined
from kmnb.formats._sparse import SparseFile, fetching, reading

CHUNKS_MAX_BYTES = 64 * MIB
"""Most compressed bytes of a row group that are held at a time."""
FIRST_ROWS = 128
"""Most rows that are taken from the first pages of a row group."""
WHOLE_BYTES = 256 * KIB
"""Row groups up to this size are read at once."""
WINDOW_ROWS = 16_384
"""Most rows that are picked out of a group that is too large to be held."""
_COALESCE_BYTES = 64 * KIB


def group_rows(
    opened: Any, file: SparseFile, names: list[str], *, batches: Batches, wanted: Sequence[int] | None = None
) -> Scan:
    """Read the row groups of a file one after the other.

    Args:
        opened: The file as pyarrow knows it.
        file: What it reads from.
        names: The columns that are read.
        batches: Cuts and numbers the rows.
        wanted: Ascending numbers of the rows that are looked at; others may be left out. None for all.

    Raises:
        StoreError: The file is damaged.
        BoundExceeded: A row group is too large.
    """
    try:
        for number in range(opened.metadata.num_row_groups):
            begin, end = batches.count, batches.count + opened.metadata.row_group(number).num_rows
            mine = within(wanted, begin, end)
            if not mine:
                batches.count = end
                continue
            file.forget()
            group = _Group(opened, file, number, names, chunks_of(opened.metadata, number, names))
            if isinstance(mine, range) and mine.start == begin and group.weight > WHOLE_BYTES:
                yield from batches.of((yield from group.first_rows()))
                mine = mine[batches.count - begin :]
            if not isinstance(mine, range) or (len(mine) <= WINDOW_ROWS and group.weight > CHUNKS_MAX_BYTES):
                yield from _picked(group, mine, batches, begin=begin)
            elif mine:
                batches.count = mine.start
                yield from group.rest(mine.start - begin, batches)
            batches.count = end
    except KmnbError:
        raise
    except Exception as fault:
        raise damaged("the Parquet file", fault) from None


def first_batch(opened: Any, file: SparseFile, names: list[str]) -> Generator[Need, bytes | None, Any]:
    """Read the rows that the first pages of a file hold.

    Args:
        opened: The file as pyarrow knows it.
        file: What it reads from.
        names: The columns that are read.

    Returns:
        A batch with its own types, of at most :data:`FIRST_ROWS` rows; None where the first row group is empty.
    """
    if not opened.metadata.num_row_groups or not opened.metadata.row_group(0).num_rows:
        return None
    file.forget()
    return (yield from _Group(opened, file, 0, names, chunks_of(opened.metadata, 0, names)).first_rows())


def _picked(group: _Group, wanted: Sequence[int], batches: Batches, *, begin: int) -> Scan:
    if not wanted:
        return
    table = yield from group.picked([row - begin for row in wanted])
    for place, row in enumerate(wanted):
        batches.count = row
        yield from batches.of(table.slice(place, 1))


@dataclass(frozen=True, slots=True)
class _Group:
    """One row group, as far as it is read."""

    opened: Any
    file: SparseFile
    number: int
    names: list[str]
    chunks: Sequence[Chunk]

    @property
    def weight(self) -> int:
        """Compressed bytes of the columns that are read."""
        return sum(chunk.end - chunk.start for chunk in self.chunks)

    def first_rows(self) -> Generator[Need, bytes | None, Any]:
        """Give the rows that the first pages hold; whoever wants no more has read no more."""
        rows, is_cut = yield from self._first_pages(cuts=True)
        if is_cut:
            try:
                return (yield from reading(self.file, lambda: self._first_batch(rows)))
            except KmnbError:
                raise
            except Exception:
                # The rows use values of a dictionary that lie further back, or a page is damaged.
                self.file.forget()
            rows, _ = yield from self._first_pages(cuts=False)
        return (yield from reading(self.file, lambda: self._first_batch(rows)))

    def _first_batch(self, rows: int) -> Any:
        batch = next(self._walk(self.names, rows))
        batch.validate(full=True)
        return batch

    def rest(self, left: int, batches: Batches) -> Scan:
        """Give the rows from a place in the group on."""
        yield from self._fetch(self.chunks)
        for batch in self._walk(self.names):
            if left >= batch.num_rows:
                left -= batch.num_rows
                continue
            yield from batches.of(batch.slice(left))
            left = 0

    def picked(self, places: Sequence[int]) -> Generator[Need, bytes | None, Any]:
        """Give single rows, one column after the other, so that a group is never held as a whole."""
        found: dict[str, list[Any]] = {}
        for name in dict.fromkeys(self.names):
            yield from self._fetch(chunks_of(self.opened.metadata, self.number, [name]))
            at, parts = 0, []
            for batch in self._walk([name]):
                mine = within(places, at, at + batch.num_rows)
                parts.append(batch.take(arrow().array([place - at for place in mine], type="int64")))
                at += batch.num_rows
                if at > places[-1]:
                    break
            found[name] = columns_named(arrow().Table.from_batches(parts), [name] * self.names.count(name))
        return arrow().table([found[name].pop(0) for name in self.names], names=self.names)

    def _walk(self, names: Sequence[str], rows: int = ROWS_AT_ONCE) -> Any:
        return self.opened.iter_batches(rows, row_groups=[self.number], columns=names, use_threads=False)

    def _fetch(self, chunks: Sequence[Chunk]) -> Generator[Need, bytes | None, None]:
        self.file.forget()
        yield from self._bounded(joined([(chunk.start, chunk.end) for chunk in chunks], _COALESCE_BYTES))

    def _bounded(self, needs: Sequence[Need]) -> Generator[Need, bytes | None, None]:
        weight = sum(need.end - need.start for need in needs)
        if weight > CHUNKS_MAX_BYTES:
            raise BoundExceeded(
                "a row group", f"the columns asked for have {weight:,} bytes", "Ask for fewer columns, or use run",
                limit="CHUNKS_MAX_BYTES", value=CHUNKS_MAX_BYTES, unit="bytes",
            )  # fmt: skip
        for need in needs:
            yield from fetching(self.file, need)

    def _first_pages(self, *, cuts: bool) -> Generator[Need, bytes | None, tuple[int, bool]]:
        """Ask for the dictionary and the first page of each chunk; gives the rows that these hold of every column.

        Args:
            cuts: Whether only the beginning of large dictionaries is asked for; the answer tells whether that was so.
        """
        rows, spans, file = FIRST_ROWS, [], self.file
        large = [one for one in self.chunks if cuts and can_be_cut(one)]
        first = [(one.start, one.start + BEGINNING_BYTES) for one in large]
        for one in self.chunks:
            first.append((one.page if one in large else one.start, min(one.end, one.page + HEADER_BYTES)))
        yield from self._bounded(joined(sorted(first)))
        for one in self.chunks:
            file.seek(one.page)
            told = first_page(file.read(min(HEADER_BYTES, one.end - one.page)))
            if told is None:
                continue
            begun, end = one.page + HEADER_BYTES, min(one.end, one.page + max(0, told[0]) + HEADER_BYTES)
            rows = max(1, min(rows, told[1]))
            if begun < end:
                spans.append((begun, end))
        yield from self._bounded(joined(spans))
        is_cut = False
        for one in large:
            file.seek(one.start)
            if (page := cut_dictionary(file.read(BEGINNING_BYTES), one)) is not None:
                file.fill(one.start, page)
                is_cut = True
            else:
                yield from self._bounded([Need(one.start + BEGINNING_BYTES, one.page)])
        return rows, is_cut
