"""``kmnb.duckdb(connection)``: SQL over artifacts, read by range where they lie.

::

    connection = kmnb.duckdb(workspace=ws)
    connection.sql(f"select * from '{art.uri}'")  # an address that ends with .parquet, .csv or .json
    connection.sql(f"select * from read_csv('{art.uri}')")
    connection.sql("select * from art")  # a handle in a variable, loaded whole under the limit of to_arrow

kmnb has no SQL magic: ``%sql`` of jupysql works on the same connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kmnb.errors import NotSupported

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from kmnb.ops.workspace import Workspace

__all__ = ["duckdb"]


def duckdb(connection: DuckDBPyConnection | None = None, *, workspace: Workspace | None = None) -> DuckDBPyConnection:
    """Let a DuckDB connection read and write ``artifact://`` addresses.

    Args:
        connection: The connection; a new one in memory when absent.
        workspace: Whose artifacts; when absent a workspace is opened as :func:`kmnb.connect` does without arguments.

    Returns:
        The connection. Doing it again has the addresses answered by the workspace that came last.

    Raises:
        NotSupported: DuckDB is not installed.
    """
    try:
        from duckdb import connect
    except ImportError:
        raise NotSupported("DuckDB", "it is not installed", "pip install duckdb") from None
    from fsspec import filesystem

    given = {} if workspace is None else {"workspace": workspace}
    files = filesystem("artifact", skip_instance_cache=True, **given)
    opened: Any = connect() if connection is None else connection
    if opened.filesystem_is_registered(files.protocol):
        opened.unregister_filesystem(files.protocol)
    opened.register_filesystem(files)
    return opened  # type: ignore[no-any-return]
