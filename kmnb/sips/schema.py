"""schema: names and types of columns, or of the paths of a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from kmnb.core.bounds import KIB
from kmnb.core.describe import Example, Operation, Param
from kmnb.core.lenient import told
from kmnb.core.metadata import json_in
from kmnb.core.records import Batch, Problem
from kmnb.core.shape import ColumnTypes, PathTypes
from kmnb.core.slice import Slice
from kmnb.sips._delimited import record_line
from kmnb.sips._json_values import one_decoder
from kmnb.sips._rows import RECORD_PARAMS, Problems

ROWS_LOOKED_AT = 1000
"""Records whose types are looked at unless more are asked for."""
ENOUGH_BYTES = 256 * KIB
"""Stored bytes after which fewer records will do, unless their number was asked for."""


class SchemaRun:
    """Types under way.

    Args:
        arguments: Checked arguments of the sip.
        max_bytes: Cap of the answer's text in bytes.
    """

    def __init__(self, arguments: Mapping[str, Any], *, max_bytes: int) -> None:
        self._most: int = arguments.get("rows") or 0
        self._cap = max_bytes
        self._problems = Problems(strict=bool(arguments.get("strict")))
        self._declared: tuple[Mapping[str, Any], ...] | None = None
        self._columns: ColumnTypes | None = None
        self._paths = PathTypes()
        self._lines = self._seen = 0
        self._ended = self._is_enough = False

    def passed(self, size: int) -> None:
        """Hear how many stored bytes have been read: large records are not read by the thousand."""
        self._is_enough = self._most == ROWS_LOOKED_AT and size >= ENOUGH_BYTES

    @property
    def full(self) -> bool:
        """Whether enough records were looked at; none need be where the format declares its columns."""
        if self._declared is not None:
            return True
        return (bool(self._most) and self._seen >= self._most) or (self._is_enough and self._seen > 0)

    @property
    def done(self) -> bool:
        """Whether more input cannot change the answer."""
        return self.full

    def feed(self, item: Any) -> None:
        """Take the next batch of records."""
        batch: Batch = item
        self._problems.add(batch.problems)
        self._declared = self._declared or batch.types
        if batch.columns is not None and self._columns is None:
            self._columns = ColumnTypes(batch.columns)
        rows = batch.rows[: self._most - self._seen] if self._most else batch.rows
        self._seen += len(rows)
        if batch.kind == "table" and self._columns is not None:
            self._columns.add(rows)
        elif batch.kind == "json":
            self._add_json(rows, batch.start)
        else:
            self._lines += len(rows)

    def _add_json(self, rows: Any, start: int) -> None:
        decode = one_decoder(None)
        for number, raw in enumerate(rows, start + 1):
            try:
                self._paths.add(decode(raw))
            except ValueError as fault:
                self._problems.add([Problem(number, told(fault))])

    def end(self) -> None:
        """Hear that the content ended."""
        self._ended = True

    def finish(self) -> Slice:
        """Give a dict for each column or path."""
        columns = self._declared or (self._columns.columns() if self._columns else self._paths.columns())
        if not columns and self._lines:
            columns = ({"name": "line", "type": "text", "nullable": False},)
        notes = (
            []
            if self._ended or self._declared
            else [f"types are those of the first {self._seen:,} records; rows=0 looks at all"]
        )
        if self._paths.is_cut:
            notes.append("there are more paths than are listed")
        return schema_slice(
            columns, max_bytes=self._cap, problems=self._problems, notes=notes, is_cut=self._paths.is_cut
        )


def schema_slice(
    columns: tuple[Mapping[str, Any], ...],
    *,
    max_bytes: int,
    problems: Problems | None = None,
    notes: list[str] | None = None,
    is_cut: bool = False,
) -> Slice:
    """Make the answer of a schema, as many columns as fit under the cap."""
    lines: list[str] = []
    spent = 0
    texts: Iterator[str] = chain(
        [record_line(("name", "type", "nullable"))],
        (record_line((column["name"], column["type"], column["nullable"])) for column in columns),
    )
    for line in texts:
        spent += len(line.encode("utf-8", "replace"))
        if spent > max_bytes:
            break
        lines.append(line)
    shown = max(0, len(lines) - 1)
    return Slice(
        values=[dict(column) for column in columns[:shown]],
        text="".join(lines),
        complete=shown == len(columns) and not is_cut,
        shown=shown,
        total=len(columns),
        total_is_lower_bound=is_cut,
        skipped=problems.count if problems else 0,
        problems=tuple(problems.first) if problems else (),
        notes=tuple(notes or ()),
        columns=("name", "type", "nullable"),
    )


class SchemaSip:
    """The plug-in."""

    feeds = "records"
    operation = Operation(
        "schema",
        "Tell the columns, or the paths of records, with their types.",
        (
            Param(
                "rows",
                "integer",
                "How many records are looked at; 0 for all.",
                ROWS_LOOKED_AT,
                minimum=0,
                below="default",
            ),
            *RECORD_PARAMS,
        ),
        (
            Example(
                b"name,n\na,1\nb,\n",
                {},
                (
                    {"name": "name", "type": "text", "nullable": False},
                    {"name": "n", "type": "integer", "nullable": True},
                ),
                "name,type,nullable\nname,text,false\nn,integer,true\n",
            ),
        ),
    )

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> SchemaRun:
        """Begin."""
        return SchemaRun(arguments, max_bytes=max_bytes)

    def from_stored(self, stored: str, arguments: Mapping[str, Any], *, max_bytes: int) -> Slice | None:
        """Answer from the schema that was stored with the object, where the file itself declares it.

        What is stored of other formats was found in the beginning, and is not what a scan of more would find.

        Args:
            stored: The attribute ``schema``.
            arguments: Checked arguments.
            max_bytes: Cap of the answer's text in bytes.

        Returns:
            The answer; None when the stored schema is not what was asked for.
        """
        told = json_in(stored)
        columns = tuple(found) if isinstance(told, dict) and isinstance(found := told.get("columns"), list) else ()
        known = {"name", "type", "nullable", "source_type"}
        if not columns or not all(isinstance(column, dict) and known <= set(column) for column in columns):
            return None
        return schema_slice(columns, max_bytes=max_bytes)


SIP = SchemaSip()
