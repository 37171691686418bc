"""The calls of Python that give what a browser was shown, or what it was refused."""

from __future__ import annotations

from typing import Any

from kmnb.core.bounds import ANSWER_CEILING_BYTES
from kmnb.frontends._widget_filters import sql_text, where_text
from kmnb.ops.rows import RowPage

_MOST = f"max_bytes={ANSWER_CEILING_BYTES}"
_READERS = {
    "csv": "read_csv", "tab-separated-values": "read_csv", "x-csv": "read_csv", "parquet": "read_parquet",
    "x-parquet": "read_parquet", "vnd.apache.parquet": "read_parquet", "json": "read_json", "x-ndjson": "read_json",
    "ndjson": "read_json", "jsonl": "read_json", "x-jsonlines": "read_json",
}  # fmt: skip


def rows_code(artifact: Any, filters: Any, wanted: slice, *, page: RowPage, order: tuple[str, bool] | None) -> str:
    """Write the call that gives a page of rows.

    Args:
        artifact: The handle.
        filters: What :func:`kmnb.frontends._widget_filters.where_text` has understood.
        wanted: Which rows of those that meet the condition.
        page: What was found.
        order: A column and whether large values come first; a sip has no order, so pandas or DuckDB sorts.
    """
    where = where_text(filters)
    condition = f", where={where!r}" if where else ""
    if order is None:
        if not wanted.start:
            return f"art.select(['*']{condition}, limit={wanted.stop})"
        # Rows before the page are passed over: they may be more than an answer has by itself.
        return f"art.select(['*']{condition}, limit={wanted.stop}, {_MOST}).to_pandas()[{wanted.start}:]"
    column, descending = order
    if (artifact.size or 0) > ANSWER_CEILING_BYTES // 4 or "parquet" in (artifact.media_type or ""):
        sql = duckdb_code(artifact, filters, wanted.stop, order=order)
        if sql is not None:
            return f"{sql}[{wanted.start}:]" if wanted.start else sql
    at = page.columns.index(column) if column in page.columns else 0
    values = [row[at] for row in page.rows if row[at] not in (None, "")]
    place = f"{wanted.start}:{wanted.stop}" if wanted.start else f":{wanted.stop}"
    key = "pandas.to_numeric(values, errors='coerce')" if _numbers(values) else "values.replace('', None)"
    return (
        f"import pandas\nrows = art.select(['*']{condition}, {_MOST}).to_pandas()\n"
        f"rows.sort_values({column!r}, ascending={not descending}, kind='stable', key=lambda values: {key})[{place}]"
    )


def _numbers(values: list[Any]) -> bool:
    try:
        return bool(values) and all(float(value) == float(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        return False


def duckdb_code(artifact: Any, filters: Any, limit: int, *, order: tuple[str, bool]) -> str | None:
    """Write the call of DuckDB that puts in order what is too large for us.

    Args:
        artifact: The handle.
        filters: What :func:`kmnb.frontends._widget_filters.where_text` has understood.
        limit: Most rows.
        order: A column and whether large values come first.

    Returns:
        Lines of Python; None where DuckDB cannot read the content as it is stored.
    """
    subtype = (artifact.media_type or "").partition(";")[0].strip().rpartition("/")[2]
    reader = _READERS.get(subtype)
    if reader is None or artifact.envelope().get("encoding") not in (None, "", "identity", "utf-8", "ascii"):
        return None
    address = artifact.uri.replace("'", "''")
    column = order[0].replace('"', '""')
    where = f" where {condition}" if (condition := sql_text(filters)) else ""
    direction = "desc" if order[1] else "asc"
    # People are shown it; nobody runs it here.
    source = f"select * from {reader}('{address}'){where}"  # noqa: S608
    statement = f'{source} order by "{column}" {direction} nulls last limit {limit}'
    plain = "\\" not in statement and '"""' not in statement and statement.isprintable()
    quoted = f'"""{statement}"""' if plain else repr(statement)
    return f"import kmnb\nkmnb.duckdb(workspace=ws).sql({quoted}).df()"
