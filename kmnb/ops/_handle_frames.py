"""A handle as data for other libraries: Arrow's stream interface, polars frames, eager and lazy."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kmnb._bridge import blocking, bridged
from kmnb.core.bounds import KIB, MIB
from kmnb.errors import BadRequest, KmnbError, NotSupported

if TYPE_CHECKING:
    import io

    import polars

    from kmnb.storage._protocols import Progress

ROWS_MAX = 10_000
"""Most rows that a lazy frame takes by ``select`` instead of loading the artifact."""
_ROWS_BYTES, _BUFFER_BYTES = 16 * MIB, 64 * KIB
_PARQUET = ("application/vnd.apache.parquet", "application/x-parquet", "application/parquet")


class FrameMethods:
    """What frame libraries ask a handle for. Reading all of it has the limit of ``to_arrow``."""

    if TYPE_CHECKING:

        @property
        def media_type(self) -> str | None:
            """See ``HandleFacts``."""

        to_arrow: Any
        to_arrow_async: Any
        schema: Any
        select: Any

        def open(self) -> io.BufferedReader:
            """See ``ReadMethods``."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give all rows as an Arrow stream, so that Arrow libraries take the handle as it stands.

        Args:
            requested_schema: Capsule of the schema that the caller would like.

        Raises:
            BoundExceeded: The artifact has more than 100 MiB.
            NotSupported: pyarrow is not installed.
        """
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Give the schema of the Arrow stream; Parquet tells it from its footer."""
        return self._arrow_schema().__arrow_c_schema__()

    def _arrow_schema(self) -> Any:
        if self.media_type in _PARQUET:
            with self.open() as file:
                return _parquet().ParquetFile(file, pre_buffer=False).schema_arrow
        return self.to_arrow().schema

    async def _to_polars(
        self, columns: Sequence[str] | None = None, *, max_bytes: int | None = None, progress: Progress | None = None
    ) -> polars.DataFrame:
        """Load the whole artifact into a polars frame; needs polars and ``kmnb[arrow]``. Its size is stated first.

        Args:
            columns: Names of the columns; None for all.
            max_bytes: Size up to which it is loaded; needed for more than 100 MiB.
            progress: Called with bytes done and bytes in all, instead of the line on standard error.

        Raises:
            BoundExceeded: The artifact is larger than that; nothing was read.
            NotSupported: polars or pyarrow is not installed.
        """
        module = await asyncio.to_thread(_polars)
        frame: polars.DataFrame = module.from_arrow(
            await self.to_arrow_async(columns, max_bytes=max_bytes, progress=progress)
        )
        return frame

    to_polars, to_polars_async = blocking(_to_polars), bridged(_to_polars)

    def lazy(self, *, max_bytes: int | None = None) -> polars.LazyFrame:
        """Make a lazy polars frame: nothing is read before it is collected, and then only the columns it needs.

        Parquet is read row group by row group whatever its size, and a few rows cost a few pages. Other formats are
        loaded under the limit of :meth:`to_arrow`, but for a few rows, which ``select`` gives.

        Args:
            max_bytes: Size up to which other formats are loaded; needed for more than 100 MiB.

        Raises:
            NotSupported: polars is not installed.
        """
        pl = _polars()
        from polars.io.plugins import register_io_source

        source = _Source(self, pl, max_bytes)
        frame: polars.LazyFrame = register_io_source(source.batches, schema=source.schema)
        return frame


class _Source:
    """What polars asks when it collects: the schema, then batches of some columns."""

    def __init__(self, artifact: Any, pl: Any, max_bytes: int | None) -> None:
        self._artifact, self._pl, self._max_bytes = artifact, pl, max_bytes
        self._is_parquet = artifact.media_type in _PARQUET
        self._table: Any = None

    def schema(self) -> Any:
        if self._is_parquet:
            empty = self._artifact._arrow_schema().empty_table()
        elif self._delimited():
            return self._pl.Schema({column["name"]: self._pl.String for column in self._artifact.schema().values})
        else:
            empty = self._whole().slice(0, 0)
        return self._pl.from_arrow(empty).schema

    def batches(
        self, columns: list[str] | None, predicate: Any, rows: int | None, batch_rows: int | None
    ) -> Iterator[Any]:
        left = rows
        for table in self._tables(columns, rows if predicate is None else None, batch_rows or ROWS_MAX):
            frame = self._pl.from_arrow(table)
            if predicate is not None:
                frame = frame.filter(predicate)
            if left is not None:
                frame = frame.head(left)
                left -= len(frame)
            yield frame
            if left == 0:
                return

    def _tables(self, columns: list[str] | None, rows: int | None, batch_rows: int) -> Iterator[Any]:
        import pyarrow

        if self._is_parquet:
            with self._artifact.open() as file:
                opened = _parquet().ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER_BYTES)
                for batch in opened.iter_batches(batch_rows, columns=columns, use_threads=False):
                    yield pyarrow.Table.from_batches([batch])
            return
        if rows is not None and rows <= ROWS_MAX and self._delimited():
            few = self._artifact.select(columns or ["*"], limit=rows, max_bytes=_ROWS_BYTES)
            if few.shown == rows or few.complete:
                yield few.to_arrow()
                return
        whole = self._whole()
        yield whole if columns is None else whole.select(columns)

    def _delimited(self) -> bool:
        """Whether every cell is text, so that the names of the columns are the whole schema."""
        kind = (self._artifact.media_type or "").partition(";")[0]
        return kind in ("text/csv", "text/tab-separated-values")

    def _whole(self) -> Any:
        if self._table is None:
            self._table = self._artifact.to_arrow(max_bytes=self._max_bytes)
        return self._table


def read_parquet(file: Any, columns: Sequence[str] | None) -> Any:
    """Read Parquet with its own types.

    Args:
        file: An open file.
        columns: Names of the columns; None for all.

    Raises:
        BadRequest: There is no such column.
        StoreError: The file is damaged.
    """
    from kmnb.formats._arrow import damaged

    try:
        opened = _parquet().ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER_BYTES)
        known = opened.schema_arrow.names
        missing = [name for name in columns or () if name not in known]
        if missing:
            raise BadRequest(f"column {missing[0]!r:.80}", "there is none", f"Known: {', '.join(known)}"[:500])
        return opened.read(columns=None if columns is None else list(columns), use_threads=False)
    except KmnbError:
        raise
    except Exception as fault:
        raise damaged("the Parquet file", fault) from None


def is_parquet(media_type: str | None) -> bool:
    """Whether a MIME type names Parquet."""
    return media_type in _PARQUET


def _parquet() -> Any:
    from kmnb.formats._arrow import arrow

    return arrow().parquet


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise NotSupported("polars frames", "polars is not installed", "pip install polars") from None
    return polars
