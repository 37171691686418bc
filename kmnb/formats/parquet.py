"""Parquet, read by range: the footer, then the column chunks that are looked at, one row group after the other.

Page checksums are always verified: a damaged page is an error, never a wrong value. It needs ``kmnb[arrow]``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

from kmnb.core.bounds import KIB, MIB
from kmnb.core.records import Batch, Dialect, Need, Scan
from kmnb.errors import BoundExceeded, KmnbError, StoreError
from kmnb.formats._arrow import ROWS_AT_ONCE, Batches, arrow, columns_of, damaged
from kmnb.formats._columnar import SMALL_BYTES, CollectingSplitter, first_values
from kmnb.formats._description import Description
from kmnb.formats._sparse import SparseFile, fetching, reading

CHUNKS_MAX_BYTES = 64 * MIB
"""Most compressed bytes of the columns asked for in one row group."""
_FOOTER_KEPT = SMALL_BYTES
_MAGIC = b"PAR1"
_COALESCE_BYTES = 64 * KIB


def _open(file: SparseFile) -> Any:
    return arrow().parquet.ParquetFile(file, page_checksum_verification=True, pre_buffer=False)


def _footer(file: SparseFile) -> Generator[Need, bytes | None, Any]:
    """Open a file, asking for its footer alone."""
    # The last 8 bytes tell how long the footer is; most footers come with the first 64 KiB.
    yield from fetching(file, Need(max(0, file.size - 64 * KIB), file.size))
    try:
        return (yield from reading(file, lambda: _open(file)))
    except KmnbError:
        raise
    except Exception as fault:
        raise damaged("the Parquet file", fault) from None


def _chunks(metadata: Any, group: int, names: Sequence[str]) -> list[Need]:
    """Give the ranges of the chunks of some columns, near ones joined."""
    row_group = metadata.row_group(group)
    spans = []
    for at in range(row_group.num_columns):
        chunk = row_group.column(at)
        if chunk.path_in_schema.partition(".")[0] in names or chunk.path_in_schema in names:
            start = chunk.data_page_offset
            if chunk.dictionary_page_offset:
                start = min(start, chunk.dictionary_page_offset)
            spans.append((start, start + chunk.total_compressed_size))
    joined: list[Need] = []
    for start, end in sorted(spans):
        if joined and start - joined[-1].end <= _COALESCE_BYTES:
            joined[-1] = Need(joined[-1].start, max(end, joined[-1].end))
        else:
            joined.append(Need(start, end))
    return joined


class _Parquet:
    name = "parquet"
    kind = "table"
    is_binary = True
    media_types = ("application/vnd.apache.parquet", "application/x-parquet", "application/parquet")
    suffixes = (".parquet", ".pq")
    samples = ()

    def sniff(self, head: bytes) -> float:
        """Tell how surely content is Parquet: by its signature."""
        return 1.0 if head.startswith(_MAGIC) else 0.0

    def scan(self, size: int, columns: Sequence[str] | None) -> Scan:
        """Read rows by range; see :data:`kmnb.core.records.Scan`.

        Raises:
            NotSupported: pyarrow is not installed.
            StoreError: The file is damaged.
            BoundExceeded: A row group is too large.
        """
        file = SparseFile(size)
        opened = yield from _footer(file)
        known = opened.schema_arrow.names
        names = [name for name in known if columns is None or name in columns]
        batches = Batches(tuple(names))
        yield Batch(columns=tuple(known), kind="table")
        if columns is not None and not names:
            yield Batch(columns=(), kind="table", records=opened.metadata.num_rows)
            return
        for group in range(opened.metadata.num_row_groups):
            needs = _chunks(opened.metadata, group, names)
            weight = sum(need.end - need.start for need in needs)
            if weight > CHUNKS_MAX_BYTES:
                raise BoundExceeded(
                    "a row group", f"the columns asked for have {weight:,} bytes", "Ask for fewer columns, or use run",
                    limit="CHUNKS_MAX_BYTES", value=CHUNKS_MAX_BYTES, unit="bytes",
                )  # fmt: skip
            file.forget()
            for need in needs:
                yield from fetching(file, need)
            yield from _group_rows(opened, group, names, batches=batches)

    def split(self, dialect: Dialect) -> CollectingSplitter:
        """Make a splitter for content that arrives as a stream."""
        return CollectingSplitter(self)

    def counter(self, head: bytes, *, indexed: bool) -> FooterCounter:
        """Make what reads the footer when the content has passed by."""
        return FooterCounter()


def _group_rows(opened: Any, group: int, names: list[str], *, batches: Batches) -> Iterator[Batch]:
    try:
        for batch in opened.iter_batches(ROWS_AT_ONCE, row_groups=[group], columns=names, use_threads=False):
            yield from batches.of(batch)
    except KmnbError:
        raise
    except Exception as fault:
        raise damaged("the Parquet file", fault) from None


class FooterCounter:
    """Keeps the end of the content and reads rows and columns from it."""

    lines = None

    def __init__(self) -> None:
        self._tail = b""
        self._size = 0
        self.description: Description | None = None

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        self._size += len(block)
        self._tail = (self._tail + block)[-_FOOTER_KEPT:] if len(block) < _FOOTER_KEPT else block[-_FOOTER_KEPT:]

    def finish(self) -> int | None:
        """Give the number of rows.

        Raises:
            NotSupported: pyarrow is not installed.
            StoreError: It is no whole Parquet file, or its footer is larger than 256 KiB.
        """
        file = SparseFile(self._size)
        file.fill(self._size - len(self._tail), self._tail)
        steps = reading(file, lambda: _open(file))
        try:
            next(steps)
        except StopIteration as done:
            return self._read(done.value)
        except KmnbError:
            raise
        except Exception as fault:
            raise damaged("the Parquet file", fault) from None
        raise StoreError("the Parquet file", "its footer is larger than 256 KiB", "Rows are counted when it is read")

    def _read(self, opened: Any) -> int:
        metadata, columns = opened.metadata, columns_of(opened.schema_arrow)
        shape = "columns: " + ", ".join(f"{column['name']} {column['source_type']}" for column in columns)
        facts = f"row groups: {metadata.num_row_groups}, written by {metadata.created_by or 'an unnamed writer'}"
        known = first_values(FORMAT, self._tail) if len(self._tail) == self._size else None
        key, firsts = known or ("columns", [column["name"] for column in columns])
        self.description = Description(
            "rows", key, firsts, columns, is_table=True,
            shape=f"{shape}\n{facts}", shows_content=False,
        )  # fmt: skip
        return int(metadata.num_rows)


FORMAT = _Parquet()
