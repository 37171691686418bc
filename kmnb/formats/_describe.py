"""What a preview tells of content: how many records of what, which ones come first, their shape and outcome.

A format may describe its content itself (``describe(head, whole=…)``); else its kind decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kmnb.core.preview import is_secret_name
from kmnb.core.records import Dialect, FormatPlugin
from kmnb.core.shape import ColumnTypes, key_column
from kmnb.formats._description import Description
from kmnb.formats._json_describe import describe_document, describe_records

_SHOWN_ROWS = 50


def describe(plugin: FormatPlugin, head: bytes, *, whole: bool) -> Description:
    """Describe content by its beginning.

    Args:
        plugin: Its format.
        head: The first decoded bytes.
        whole: Whether that is all.
    """
    own = getattr(plugin, "describe", None)
    if own is not None:
        described: Description = own(head, whole=whole)
        return described
    return _BY_KIND[plugin.kind](plugin, head, whole)


def _table(plugin: FormatPlugin, head: bytes, whole: bool) -> Description:
    splitter = plugin.split(Dialect())
    end = b"\r" if b"\n" not in head else b"\n"
    cut = len(head) if whole else head.rfind(end) + 1
    if not cut:
        # Not even the header is there: no name of a column is known for sure.
        return Description("rows")
    batches = [splitter.feed(head[:cut]), splitter.finish()]
    rows = [row for batch in batches for row in batch.rows]
    names = splitter.columns or ()
    if not names:
        return Description("rows")
    types = ColumnTypes(names)
    types.add(rows)
    columns = types.columns()
    at = key_column(names, rows)
    shape = "columns: " + ", ".join(f"{column['name']} {column['type']}" for column in columns)
    firsts = [str(row[at]) for row in rows[:_SHOWN_ROWS]]
    hidden = {place for place, name in enumerate(names) if is_secret_name(name)}
    shown = _without(hidden, names, rows) if hidden else None
    if at in hidden:
        firsts = []
    return Description("rows", names[at], firsts, columns, is_table=True, shape=shape, head=shown)


def _without(hidden: set[int], names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Show the first rows without the columns whose names speak of secrets."""
    lines = [" | ".join(names)]
    for row in rows[:_SHOWN_ROWS]:
        cells = ("<redacted:column>" if at in hidden and cell else cell for at, cell in enumerate(row))
        lines.append(" | ".join(cells))
    return "\n".join(lines)


def _text(plugin: FormatPlugin, head: bytes, whole: bool) -> Description:
    first = next((line for line in head[:4096].decode("utf-8", "replace").split("\n") if line.strip()), "")
    first = first.removesuffix("\r")
    return Description("lines", "first" if first else "", [first] if first else [])


def _json(plugin: FormatPlugin, head: bytes, whole: bool) -> Description:
    if plugin.name == "json":
        return describe_document(head, whole=whole)
    splitter = plugin.split(Dialect())
    cut = len(head) if whole else head.rfind(b"\n") + 1 or len(head)
    batches = [splitter.feed(head[:cut]), splitter.finish()]
    return describe_records([row for batch in batches for row in batch.rows], sampled=not whole)


def _binary(plugin: FormatPlugin, head: bytes, whole: bool) -> Description:
    return Description("records", shows_content=False)


_BY_KIND: Mapping[str, Callable[[FormatPlugin, bytes, bool], Description]] = {
    "table": _table,
    "text": _text,
    "json": _json,
    "binary": _binary,
}
