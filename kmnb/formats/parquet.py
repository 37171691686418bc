"""Parquet, read by range: the footer, then the column chunks that are looked at, one row group after the other.

Page checksums are always verified: a damaged page is an error, never a wrong value. It needs ``kmnb[arrow]``.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from kmnb.core.bounds import KIB
from kmnb.core.records import Batch, Dialect, Need, Scan
from kmnb.errors import KmnbError, StoreError
from kmnb.formats._arrow import Batches, arrow, columns_of, damaged, plain
from kmnb.formats._columnar import SMALL_BYTES, CollectingSplitter, first_rows, shown_rows
from kmnb.formats._description import Description
from kmnb.formats._parquet_pages import HEADER_BYTES, statistics
from kmnb.formats._parquet_rows import first_batch, group_rows
from kmnb.formats._sparse import SparseFile, fetching, reading

_FOOTER_KEPT = SMALL_BYTES
_MAGIC = b"PAR1"


def _open(file: SparseFile) -> Any:
    # A buffer has pages read one by one instead of whole column chunks.
    return arrow().parquet.ParquetFile(
        file, page_checksum_verification=True, pre_buffer=False, buffer_size=HEADER_BYTES
    )


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

    def scan(self, size: int, columns: Sequence[str] | None, wanted: Sequence[int] | None = None) -> Scan:
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
        types, total = columns_of(opened.schema_arrow), opened.metadata.num_rows
        yield Batch(columns=tuple(known), types=types, kind="table", total=total)
        if columns is not None and not names:
            yield Batch(columns=(), kind="table", records=opened.metadata.num_rows)
            return
        yield from group_rows(opened, file, names, batches=batches, wanted=wanted)

    def first_rows(self, size: int, columns: Sequence[str] | None) -> Generator[Need, bytes | None, Any]:
        """Read a few rows with their own types; see :func:`kmnb.formats._parquet_rows.first_batch`.

        Raises:
            NotSupported: pyarrow is not installed.
            StoreError: The file is damaged.
        """
        file = SparseFile(size)
        opened = yield from _footer(file)
        names = [name for name in opened.schema_arrow.names if columns is None or name in columns]
        try:
            return (yield from first_batch(opened, file, names))
        except KmnbError:
            raise
        except Exception as fault:
            raise damaged("the Parquet file", fault) from None

    def statistics(self, size: int) -> Generator[Need, bytes | None, dict[str, dict[str, Any]]]:
        """Read what the footer tells of each flat column: ``nulls`` as a share, ``min`` and ``max``.

        Raises:
            NotSupported: pyarrow is not installed.
            StoreError: The file is damaged.
        """
        return statistics((yield from _footer(SparseFile(size))).metadata)

    def split(self, dialect: Dialect) -> CollectingSplitter:
        """Make a splitter for content that arrives as a stream."""
        return CollectingSplitter(self)

    def counter(self, head: bytes, *, indexed: bool) -> FooterCounter:
        """Make what reads the footer when the content has passed by."""
        return FooterCounter()


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
        known = first_rows(FORMAT, self._tail) if len(self._tail) == self._size else None
        # The first pages of the columns lie far apart in a large file: their ranges stand in the place of rows.
        key, firsts, head = known or ("columns", [column["name"] for column in columns], _ranges(metadata))
        self.description = Description(
            "rows", key, firsts, columns, is_table=True,
            shape=f"{shape}\n{facts}", shows_content=False, head=head,
        )  # fmt: skip
        return int(metadata.num_rows)


def _ranges(metadata: Any) -> str | None:
    """Write what the footer tells of the columns, as lines of CSV; None where it tells nothing."""
    try:
        told = statistics(metadata)
    except Exception:
        return None  # damaged statistics concern no row
    rows = []
    for name, facts in told.items():
        share = facts.get("nulls")
        nulls = "" if share is None else "<1%" if 0 < share < 0.005 else f"{share:.0%}"
        rows.append((name, plain(facts.get("min")), plain(facts.get("max")), nulls))
    return shown_rows(("column", "min", "max", "nulls"), rows) if rows else None


FORMAT = _Parquet()
