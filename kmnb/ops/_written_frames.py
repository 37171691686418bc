"""Write a table of another library as an artifact: Parquet, or CSV where that is asked for.

A table keeps its types in Parquet. Small pages and their index let a few rows of a large one be read alone.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

from kmnb.core.bounds import KIB
from kmnb.errors import BadRequest, NotSupported, clip
from kmnb.ops.frames import unique_names

PARQUET_TYPE, CSV_TYPE = "application/vnd.apache.parquet", "text/csv"
PAGE_BYTES, DICTIONARY_BYTES = 64 * KIB, 32 * KIB
"""Size of the pages that are written, and of the largest dictionary: what the first row of a column costs."""
GROUP_ROWS = 262_144
"""Most rows of a row group."""


def is_table(data: Any) -> bool:
    """Whether an object hands out its rows as Arrow does: frames of pandas and polars, tables, relations of DuckDB."""
    kind = type(data)
    # Our own handles do so too; they are references and no data.
    return callable(getattr(kind, "__arrow_c_stream__", None)) and kind.__module__.partition(".")[0] != "kmnb"


def write_table(data: Any, *, media_type: str | None, filename: str = "") -> tuple[bytes, str]:
    """Write a table.

    Args:
        data: What :func:`is_table` said yes to.
        media_type: ``text/csv`` for CSV; Parquet when absent.
        filename: Name that it will have; ``.csv`` asks for CSV too.

    Returns:
        The bytes and their MIME type.

    Raises:
        BadRequest: A column that cannot be written, or another MIME type.
        NotSupported: pyarrow is not installed.
    """
    kind = f"data of type {type(data).__name__}"
    is_csv = media_type == CSV_TYPE or (media_type is None and filename.lower().endswith(".csv"))
    if not is_csv and media_type is not None and "parquet" not in media_type:
        raise BadRequest(kind, f"is not written as {media_type}", f"Ask for {CSV_TYPE}, or for nothing: Parquet.")
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise NotSupported(kind, "is written with pyarrow, which is not installed", "Install kmnb[arrow].") from None
    out = BytesIO()
    try:
        table = pyarrow.table(_whole_frame(data))
        if is_csv:
            fields = [field.with_type(_plain(pyarrow, field.type)) for field in table.schema]
            pyarrow.csv.write_csv(table.cast(pyarrow.schema(fields)), out)
        else:
            pyarrow.parquet.write_table(
                table, out, compression="zstd", data_page_size=PAGE_BYTES, write_page_index=True,
                dictionary_pagesize_limit=DICTIONARY_BYTES, row_group_size=GROUP_ROWS,
            )  # fmt: skip
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        step = "Convert that column, or give bytes such as those of to_csv()."
        if "non-struct" in str(error):
            step = "A single column is no table: make it one with to_frame()."
        raise BadRequest(kind, f"cannot be written: {clip(str(error), 300)}", step) from error
    return out.getvalue(), CSV_TYPE if is_csv else PARQUET_TYPE


def _whole_frame(data: Any) -> Any:
    """Make columns of the index of a pandas frame, as ``reset_index()`` does; all its row numbers are none.

    Numbers of some rows become a column, though a condition may only have left them: ids without a name look the same,
    and nothing may be lost. Names of several levels become one; of equal ones the last keeps it.
    """
    if not hasattr(data, "reset_index") or not hasattr(data, "columns"):
        return data
    index = data.index
    is_numbered = index.nlevels == 1 and index.name is None and getattr(index.dtype, "kind", "O") in "iu"
    is_row_number = (
        is_numbered and index.is_unique and (len(index) == 0 or (index.min(), index.max()) == (0, len(index) - 1))
    )
    data = data.reset_index(drop=is_row_number, allow_duplicates=True)
    names = [name if isinstance(name, tuple) else (name,) for name in data.columns]
    return data.set_axis(unique_names(["_".join(str(part) for part in name if part != "") for name in names]), axis=1)


def _plain(pyarrow: Any, kind: Any) -> Any:
    """Give the type of the same values that the writer of CSV knows: texts of polars and categories are others."""
    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
    return pyarrow.large_string() if kind == pyarrow.string_view() else kind
