"""Look at a result once while it is stored: what it is, how much, its shape, a preview and an index.

The digest is the store's business; everything here costs a small part of computing it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kmnb.core.index import Index
from kmnb.core.metadata import Attribute
from kmnb.core.records import Schema
from kmnb.errors import KmnbError
from kmnb.formats._detect import HEAD_BYTES, detect, head_wanted
from kmnb.formats._pass import ContentPass
from kmnb.formats._previewing import write_preview

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
    left_out: Mapping[str, Any]
    """What ``rows`` leaves out, see :attr:`kmnb.formats._pass.ContentPass.left_out`."""
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
            Attribute.LEFT_OUT: _bounded_json(self.left_out or None, _COLUMNS_MAX_BYTES),
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
        self._wanted = HEAD_BYTES
        self._size = 0
        self._pass: ContentPass | None = None

    def feed(self, block: bytes) -> None:
        """Take the next block of stored bytes. Never fails on content, whatever it holds."""
        self._size += len(block)
        if self._pass is not None:
            self._pass.feed(block)
            return
        self._pending.append(bytes(block))
        if self._size >= self._wanted:
            self._pending = [b"".join(self._pending)]
            self._wanted = head_wanted(self._pending[0])
            if self._size >= self._wanted:
                self._begin()

    def leave(self, size: int, reason: KmnbError) -> None:
        """Hear that the content goes on up to a size, and that nobody looks at the rest.

        Args:
            size: Stored size in bytes.
            reason: Why; the preview tells.
        """
        left = self._pass or self._begin()
        left.fault, left.tail = left.fault or reason, b""
        self._size = size

    def finish(self) -> Inspection:
        """Give what was found."""
        ended = self._pass or self._begin()
        ended.finish()
        about = ended.describe()
        return Inspection(
            format=ended.found.format,
            content_type=ended.found.content_type,
            encoding=ended.found.label,
            size=self._size,
            lines=ended.lines,
            rows=ended.rows,
            left_out=ended.left_out,
            columns=tuple(str(column["name"]) for column in about.columns) if about.is_table else None,
            preview=write_preview(about, ended, self._size),
            schema=Schema(about.columns, ended.rows) if about.columns else None,
            index=ended.index(self._size),
        )

    def attributes(self) -> dict[str, str]:
        """Finish, and give the findings as attributes of the object."""
        return self.finish().attributes()

    def _begin(self) -> ContentPass:
        data = b"".join(self._pending)
        self._pending = []
        media_type, name = self._given
        self._pass = ContentPass(detect(data[: head_wanted(data)], media_type=media_type, name=name))
        self._pass.feed(data)
        return self._pass


def inspect(content: bytes, *, media_type: str | None = None, name: str | None = None) -> Inspection:
    """Inspect content that is at hand."""
    inspector = Inspector(media_type, name)
    for at in range(0, len(content), 1 << 20):
        inspector.feed(content[at : at + (1 << 20)])
    return inspector.finish()
