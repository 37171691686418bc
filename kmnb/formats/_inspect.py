"""Look at a result once while it is stored: what it is, how much, its shape, a preview and an index.

The digest is the store's business; everything here costs a small part of computing it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kmnb.core.index import Index
from kmnb.core.metadata import Attribute
from kmnb.core.preview import compose, names
from kmnb.core.records import Dialect, Schema
from kmnb.errors import KmnbError
from kmnb.formats._counting import LineCounter, RecordCounter
from kmnb.formats._csv_dialect import sniff_dialect
from kmnb.formats._describe import Description, describe_table, describe_text
from kmnb.formats._detect import HEAD_BYTES, Detection, detect, format_named

_TAIL_BYTES = 2048
_SCHEMA_MAX_BYTES = 12_288
_COLUMNS_MAX_BYTES = 2048


@dataclass(frozen=True, slots=True)
class Inspection:
    """What one pass over content found."""

    format: str
    """Name of the format."""
    content_type: str
    """MIME type of the decoded content."""
    encoding: str
    """Compression and text encoding, as :func:`kmnb.formats._detect.read_label` reads them."""
    size: int
    """Stored size in bytes."""
    lines: int | None
    """Lines of the decoded content; None for binary content and where it could not be decoded."""
    rows: int | None
    """Records as the format defines them; None where they were not counted."""
    columns: tuple[str, ...] | None
    """Column names of a table."""
    preview: str
    """Text that answers how many and which first; at most 2,048 bytes of UTF-8."""
    schema: Schema | None
    """Columns with their types, as far as a sample shows."""
    index: Index | None
    """Places of lines; None where stored bytes are not text."""

    def attributes(self) -> dict[str, str]:
        """Give the findings as attributes of the object, each bounded in size."""
        found: dict[Attribute, str | None] = {
            Attribute.CONTENT_TYPE: self.content_type,
            Attribute.ENCODING: self.encoding,
            Attribute.ROWS: None if self.rows is None else str(self.rows),
            Attribute.LINES: None if self.lines is None else str(self.lines),
            Attribute.COLUMNS: _bounded_json(list(self.columns) if self.columns else None, _COLUMNS_MAX_BYTES),
            Attribute.PREVIEW: self.preview,
            Attribute.SCHEMA: _bounded_json(_schema_facts(self.schema), _SCHEMA_MAX_BYTES),
            Attribute.INDEX: self.index.encode() if self.index else None,
        }
        return {str(name): value for name, value in found.items() if value is not None}


def _schema_facts(schema: Schema | None) -> Mapping[str, Any] | None:
    if schema is None or not schema.columns:
        return None
    return {"columns": [dict(column) for column in schema.columns], "rows": schema.rows}


def _bounded_json(value: Any, limit: int) -> str | None:
    """Write a value as JSON; None when it is nothing, or too large to travel with the object."""
    if value is None:
        return None
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if len(text.encode("utf-8", "replace")) <= limit else None


class Inspector:
    """Look at content while it passes by, in blocks of any size and bounded memory.

    Args:
        media_type: MIME type that the producer gave.
        name: File name or key.
    """

    def __init__(self, media_type: str | None = None, name: str | None = None) -> None:
        self._given = (media_type, name)
        self._pending: list[bytes] = []
        self._size = 0
        self._pass: _Pass | None = None

    def feed(self, block: bytes) -> None:
        """Take the next block of stored bytes. Never fails on content, whatever it holds."""
        self._size += len(block)
        if self._pass is not None:
            self._pass.feed(block)
            return
        self._pending.append(bytes(block))
        if self._size >= HEAD_BYTES:
            self._begin()

    def finish(self) -> Inspection:
        """Give what was found."""
        return self._begin().finish(self._size) if self._pass is None else self._pass.finish(self._size)

    def attributes(self) -> dict[str, str]:
        """Finish, and give the findings as attributes of the object."""
        return self.finish().attributes()

    def _begin(self) -> _Pass:
        data = b"".join(self._pending)
        self._pending = []
        media_type, name = self._given
        self._pass = _Pass(detect(data[:HEAD_BYTES], media_type=media_type, name=name))
        self._pass.feed(data)
        return self._pass


class _Pass:
    """The pass itself, once the beginning has told what the content is."""

    def __init__(self, found: Detection) -> None:
        self._found = found
        self._plugin = format_named(found.format)
        self._decoder = found.decoder() if found.encoding or found.codec else None
        self._lines = LineCounter(indexed=found.is_transparent)
        self._records: RecordCounter | None = None
        self._header = False
        self._head = bytearray()
        self._tail = b""
        self._fault: KmnbError | None = None

    def feed(self, block: bytes) -> None:
        if self._decoder is None:
            self._look_binary(block)
            return
        if self._fault is None:
            if self._found.is_transparent:
                self._lines.feed(block)
            self._decode(self._decoder.feed(block))

    def _decode(self, pieces: Iterator[bytes]) -> None:
        try:
            for piece in pieces:
                if not self._found.is_transparent:
                    self._lines.feed(piece)
                self._look(piece)
        except KmnbError as fault:
            self._fault = fault

    def _look_binary(self, block: bytes) -> None:
        if len(self._head) < HEAD_BYTES:
            self._head += block[: HEAD_BYTES - len(self._head)]

    def _look(self, piece: bytes) -> None:
        self._tail = piece[-_TAIL_BYTES:] if len(piece) >= _TAIL_BYTES else (self._tail + piece)[-_TAIL_BYTES:]
        if len(self._head) < HEAD_BYTES:
            self._head += piece[: HEAD_BYTES - len(self._head)]
        if self._found.format == "csv":
            if self._records is None:
                dialect = sniff_dialect(bytes(self._head), Dialect(), whole=False)
                self._header = dialect.header
                self._records = RecordCounter(dialect.delimiter, dialect.quote, dialect.newline)
            self._records.feed(piece)

    def finish(self, size: int) -> Inspection:
        if self._decoder is not None and self._fault is None:
            self._decode(self._decoder.finish())
        counted = self._decoder is not None and self._fault is None
        rows = self._rows() if counted else None
        about = self._describe(whole=counted and len(self._head) < HEAD_BYTES)
        lines = self._lines.lines if counted else None
        index = None
        if counted and self._found.is_transparent:
            index = Index(size, self._lines.lines, self._lines.entries, rows)
        return Inspection(
            format=self._found.format,
            content_type=self._found.content_type,
            encoding=self._found.label,
            size=size,
            lines=lines,
            rows=rows,
            columns=tuple(str(column["name"]) for column in about.columns) or None,
            preview=self._preview(about, rows, size),
            schema=Schema(about.columns, rows) if about.columns else None,
            index=index,
        )

    def _rows(self) -> int | None:
        if self._found.format == "csv":
            records = self._records.finish() if self._records else 0
            return max(0, records - (records > 0 and self._header))
        return self._lines.filled if self._plugin.kind in ("text", "table") else None

    def _describe(self, *, whole: bool) -> Description:
        head = bytes(self._head)
        if self._plugin.kind == "table":
            return describe_table(self._plugin, head, whole=whole)
        if self._plugin.kind == "binary":
            return Description("bytes", body=False)
        return describe_text(head)

    def _preview(self, about: Description, rows: int | None, size: int) -> str:
        facts = [] if rows is None else [f"{rows:,} {about.noun}"]
        if about.key:
            facts.append(f"{about.key}: {names(about.firsts, total=rows)}")
        facts += [f"{size:,} bytes", self._found.content_type]
        if self._fault:
            facts.append(str(self._fault))
        head = bytes(self._head[:4096]).decode("utf-8", "replace") if about.body else ""
        shown = len(self._head) > 4096 or size > len(self._head)
        tail = self._tail.decode("utf-8", "ignore") if shown and about.body else ""
        return compose(" · ".join(facts), parts=(about.outcome, about.shape), head=head, tail=tail)


def inspect(content: bytes, *, media_type: str | None = None, name: str | None = None) -> Inspection:
    """Inspect content that is at hand."""
    inspector = Inspector(media_type, name)
    for at in range(0, len(content), 1 << 20):
        inspector.feed(content[at : at + (1 << 20)])
    return inspector.finish()
