"""What a preview tells of content: how many records of what, which ones come first, their shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kmnb.core.records import Dialect, FormatPlugin
from kmnb.formats._types import column_types

_KEYS = ("name", "id", "key", "title", "pod", "node", "host", "namespace", "time", "timestamp", "date")


@dataclass(frozen=True, slots=True)
class Description:
    """Facts for a preview, gathered from the beginning of content."""

    noun: str
    """What the records are called, in the plural."""
    key: str = ""
    """Column or path that tells the records apart; empty when there is none."""
    firsts: Sequence[str] = ()
    """Its first values."""
    columns: tuple[Mapping[str, Any], ...] = ()
    """Dicts with ``name``, ``type`` and ``nullable``."""
    shape: str = ""
    """One line or more on columns or paths."""
    outcome: str = ""
    """Outcome fields such as ``status`` and ``error``; shown before everything else."""
    body: bool = True
    """Whether head and tail of the content may be shown."""
    rows: int | None = None
    """Number of records where the beginning tells it already."""
    notes: tuple[str, ...] = field(default=())
    """Remarks: a guessed header, ragged rows."""


def describe_table(plugin: FormatPlugin, head: bytes, *, whole: bool) -> Description:
    """Describe a table by its first records."""
    splitter = plugin.split(Dialect())
    cut = len(head) if whole else head.rfind(b"\n") + 1 or len(head)
    batches = [splitter.feed(head[:cut]), splitter.finish()]
    rows = [row for batch in batches for row in batch.rows]
    names = splitter.columns or ()
    if not names:
        return Description("rows")
    columns = column_types(names, rows)
    at = key_column(names, rows)
    firsts = [str(row[at]) for row in rows[:50]]
    shape = "columns: " + ", ".join(f"{column['name']} {column['type']}" for column in columns)
    return Description("rows", names[at], firsts, columns, shape)


def key_column(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """Choose the column that tells records apart: by its name, else the first one with different values."""
    lowered = [name.strip().lower() for name in names]
    for key in _KEYS:
        if key in lowered:
            return lowered.index(key)
    for at in range(len(names)):
        if len({str(row[at]) for row in rows[:50]}) > 1:
            return at
    return 0


def describe_text(head: bytes) -> Description:
    """Describe plain text by its first line."""
    first = next((line for line in head[:4096].decode("utf-8", "replace").split("\n") if line.strip()), "")
    return Description("lines", "first" if first else "", [first] if first else [])
