"""A handle as data for other libraries: Arrow's stream interface, polars frames, eager and lazy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kmnb._bridge import blocking, bridged
from kmnb.core.bounds import KIB, MIB
from kmnb.errors import BadRequest, KmnbError, NotSupported
from kmnb.ops.frames import unique_names

if TYPE_CHECKING:
    import io

    import polars

    from kmnb.storage._protocols import Progress

T = TypeVar("T")
ROWS_MAX = 10_000
"""Most rows that a lazy frame takes by ``select`` instead of loading the artifact."""
_ROWS_BYTES, _BUFFER_BYTES = 16 * MIB, 64 * KIB
_PARQUET = ("application/vnd.apache.parquet", "application/x-parquet", "application/parquet")
_ARROW = ("application/vnd.apache.arrow.file", "application/vnd.apache.arrow.stream")
_ARROW_FILE = b"ARROW1"


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
        """Give the schema of the Arrow stream; Parquet and Arrow content tell it without their rows."""
        return self._arrow_schema().__arrow_c_schema__()

    def _arrow_schema(self) -> Any:
        if not is_typed(self.media_type):
            return self.to_arrow().schema
        with self.open() as file:
            return _read(lambda: _typed(file, self.media_type)[1], self.media_type)

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
        table = await self.to_arrow_async(columns, max_bytes=max_bytes, progress=progress)
        frame: polars.DataFrame = module.from_arrow(table.rename_columns(unique_names(table.column_names)))
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
        self._names: tuple[str, ...] | None = None
        self._table: Any = None

    def schema(self) -> Any:
        if is_typed(self._artifact.media_type):
            empty = self._artifact._arrow_schema().empty_table()
        elif self._has_plain_names():
            return self._pl.Schema(dict.fromkeys(self._names or (), self._pl.String))
        else:
            empty = self._whole().slice(0, 0)
        return self._pl.from_arrow(empty.rename_columns(unique_names(empty.column_names))).schema

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
        if self._is_parquet:
            first = None if rows is None else self._first_rows(columns, rows)
            if first is not None:
                yield first
                return
            with self._artifact.open() as file:
                yield from _parquet_tables(file, columns, batch_rows)
            return
        if rows is not None and rows <= ROWS_MAX and self._has_plain_names():
            few = self._artifact.select(columns or ["*"], limit=rows, max_bytes=_ROWS_BYTES)
            if few.shown == rows or few.complete:
                yield few.to_arrow()
                return
        whole = self._whole()
        yield whole if columns is None else whole.select(columns)

    def _first_rows(self, columns: list[str] | None, rows: int) -> Any:
        """Read a few rows of Parquet from the first pages of its columns; None where these do not hold as many."""
        from kmnb.formats._arrow import arrow
        from kmnb.formats.parquet import FORMAT

        names = self._artifact._arrow_schema().names
        if (not columns and columns is not None) or len(set(names)) < len(names):
            return None
        steps = FORMAT.first_rows(self._artifact._size_of(), columns)
        answer = None
        while True:
            try:
                need = steps.send(answer)
            except StopIteration as done:
                batch = done.value
                break
            answer = self._artifact.read(need.start, need.end - need.start)
        if batch is None or batch.num_rows < rows:
            return None
        table = arrow().Table.from_batches([batch])
        return table if columns is None else table.select(columns)

    def _has_plain_names(self) -> bool:
        """Whether every cell is text and every column has a name of its own: then the names are the whole schema."""
        kind = (self._artifact.media_type or "").partition(";")[0]
        if kind not in ("text/csv", "text/tab-separated-values"):
            return False
        if self._names is None:
            self._names = tuple(column["name"] for column in self._artifact.schema().values)
        return len(set(self._names)) == len(self._names) and "" not in self._names

    def _whole(self) -> Any:
        if self._table is None:
            table = self._artifact.to_arrow(max_bytes=self._max_bytes)
            self._table = table.rename_columns(unique_names(table.column_names))
        return self._table


def read_typed(file: Any, media_type: str | None, columns: Sequence[str] | None) -> Any:
    """Read Parquet or Arrow content with its own types.

    Args:
        file: An open file.
        media_type: Which of them it is; see :func:`is_typed`.
        columns: Names of the columns; None for all.

    Raises:
        BadRequest: There is no such column.
        StoreError: The file is damaged.
    """

    def read() -> Any:
        opened, schema = _typed(file, media_type)
        missing = [name for name in columns or () if name not in schema.names]
        if missing:
            raise BadRequest(f"column {missing[0]!r:.80}", "there is none", f"Known: {', '.join(schema.names)}"[:500])
        if media_type in _PARQUET:
            table = opened.read(columns=None if columns is None else list(columns), use_threads=False)
        else:
            table = opened.read_all()
            # Offsets may point outside, and pyarrow would read there.
            table.validate(full=True)
        if columns is None:
            return table
        # By place: several columns may have one name, and Parquet takes a name for the path of a nested column, too.
        places = {name: place for place, name in enumerate(table.column_names)}
        return table.select([places[name] for name in columns])

    return _read(read, media_type)


def is_typed(media_type: str | None) -> bool:
    """Whether a MIME type names content that has types of its own: Parquet or Arrow."""
    return media_type in _PARQUET or media_type in _ARROW


def _typed(file: Any, media_type: str | None) -> tuple[Any, Any]:
    """Open typed content; gives what reads it, and its schema."""
    from kmnb.formats._arrow import arrow

    if media_type in _PARQUET:
        opened = _parquet_file(file)
        return opened, opened.schema_arrow
    is_file = file.read(len(_ARROW_FILE)) == _ARROW_FILE
    file.seek(0)
    opened = arrow().ipc.open_file(file) if is_file else arrow().ipc.open_stream(file)
    return opened, opened.schema


def _read(work: Callable[[], T], media_type: str | None) -> T:
    from kmnb.formats._arrow import damaged

    try:
        return work()
    except KmnbError:
        raise
    except Exception as fault:
        raise damaged("the Parquet file" if media_type in _PARQUET else "the Arrow content", fault) from None


def _parquet_tables(file: Any, columns: list[str] | None, batch_rows: int) -> Iterator[Any]:
    """Walk Parquet in batches; columns that share a name are read together and told apart afterwards."""
    from kmnb.formats._arrow import arrow

    opened = _read(lambda: _parquet_file(file), _PARQUET[0])
    known = opened.schema_arrow.names
    names = unique_names(known)
    wanted = columns if names == known else None
    batches = opened.iter_batches(batch_rows, columns=wanted, use_threads=False)
    while (batch := _read(lambda: next(batches, None), _PARQUET[0])) is not None:
        table = arrow().Table.from_batches([batch])
        if names != known:
            table = table.rename_columns(names)
        yield table if columns is None else table.select(columns)


def _parquet_file(file: Any) -> Any:
    from kmnb.formats._arrow import arrow

    return arrow().parquet.ParquetFile(
        file, pre_buffer=False, buffer_size=_BUFFER_BYTES, page_checksum_verification=True
    )


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise NotSupported("polars frames", "polars is not installed", "pip install polars") from None
    return polars
