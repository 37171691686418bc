"""The calls of Python that give what a browser was shown, or what it was refused."""

from __future__ import annotations

from typing import Any

from kmnb.frontends._widget_filters import sql_text

_READERS = {
    "csv": "read_csv", "tab-separated-values": "read_csv", "x-csv": "read_csv", "parquet": "read_parquet",
    "x-parquet": "read_parquet", "vnd.apache.parquet": "read_parquet", "json": "read_json", "x-ndjson": "read_json",
    "ndjson": "read_json", "jsonl": "read_json", "x-jsonlines": "read_json",
}  # fmt: skip


def select_code(where: str | None, limit: int, *, order: tuple[str, bool] | None) -> str:
    """Write the call of ``select`` that gives some rows.

    Args:
        where: Condition in the language of ``select``.
        limit: Most rows.
        order: A column and whether large values come first; a sip has no order, so pandas sorts.
    """
    condition = f", where={where!r}" if where else ""
    if order is None:
        return f"art.select(['*']{condition}, limit={limit})"
    column, descending = order
    return f"art.select(['*']{condition}).to_pandas().sort_values({column!r}, ascending={not descending})"


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
