"""What an embed works on: text, JSON values and rows, converted as needed, and written at the end. Pure."""

from __future__ import annotations

import base64
import csv
import io
import json
from dataclasses import dataclass
from typing import Any

from kmnb.core.finite import exact, finite, refuse
from kmnb.errors import ExpressionError

_TEXT_TYPES = (
    "json", "yaml", "yml", "xml", "csv", "javascript", "ecmascript", "typescript", "toml", "x-sh", "sql", "graphql",
    "x-ndjson", "jsonl",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """What stands between two steps of a chain."""

    kind: str
    """``text``, ``json`` or ``rows``."""
    data: Any
    """A text, a JSON value, or a list of dicts."""
    media_type: str
    """MIME type of the artifact, without parameters."""


def bare_type(media_type: str | None) -> str:
    """MIME type in small letters without parameters."""
    return (media_type or "application/octet-stream").partition(";")[0].strip().lower()


def is_text_type(media_type: str | None) -> bool:
    """Whether content of a MIME type is text."""
    bare = bare_type(media_type)
    return bare.startswith("text/") or any(bare.partition("/")[2].endswith(name) for name in _TEXT_TYPES)


def decode_text(raw: bytes) -> str:
    """Decode text: UTF-8, UTF-16 where a mark says so, else Latin-1 of Windows."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def data_uri(raw: bytes, media_type: str | None) -> str:
    """Write bytes as a data URI."""
    return f"data:{bare_type(media_type)};base64,{base64.b64encode(raw).decode()}"


def to_text(value: Value) -> str:
    """Write a value as text: JSON compact, rows as CSV with CRLF and no end of the last line."""
    if value.kind == "text":
        return str(value.data)
    return _csv_text(value.data) if value.kind == "rows" else _compact(value.data)


def to_json(value: Value) -> Any:
    """Give a value as JSON.

    Args:
        value: Text of JSON or CSV, or a parsed value; YAML is parsed by whoever calls.

    Raises:
        ExpressionError: It cannot be read.
    """
    if value.kind != "text":
        return value.data
    if "csv" in value.media_type:
        return _csv_rows(value.data)
    try:
        return json.loads(value.data.removeprefix("\ufeff"), parse_int=exact, parse_float=finite, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise ExpressionError("text", "cannot be read as JSON") from error


def to_lines(text: str) -> list[str]:
    """Cut a text after each LF, which nothing else does; the ends stay."""
    return list(io.StringIO(text, newline="\n"))


def to_rows(value: Value) -> list[dict[str, Any]]:
    """Give a value as a list of dicts; see :func:`to_json`.

    Raises:
        ExpressionError: It is no list of dicts.
    """
    data = to_json(value)
    if isinstance(data, dict):
        data = [data]
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise ExpressionError(f"{value.media_type or 'content'}", "is not a list of rows")
    return data


def write_value(value: Value, form: str | None) -> str:
    """Write the result of a chain.

    Args:
        value: The result.
        form: ``text``, ``json``, ``json_pretty``, ``csv`` or ``datauri``; any other name is ``text``.

    Raises:
        ExpressionError: It cannot be written so.
    """
    form = (form or "text").lower()
    if form == "json":
        return _compact(to_json(value))
    if form == "json_pretty":
        return _json(to_json(value), indent=2)
    if form == "csv":
        return _csv_text(to_rows(value))
    text = to_text(value)
    return data_uri(text.encode("utf-8", "replace"), value.media_type) if form == "datauri" else text


def _compact(data: Any) -> str:
    return _json(data, separators=(",", ":"))


def _json(data: Any, **layout: Any) -> str:
    try:
        return json.dumps(data, allow_nan=False, **layout)
    except ValueError as error:
        # YAML has such numbers.
        raise ExpressionError("a value", "has NaN or an infinity, which JSON cannot write") from error


def _csv_rows(text: str) -> list[dict[str, Any]]:
    try:
        rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    except csv.Error as error:
        raise ExpressionError("text", f"cannot be read as CSV: {error}") from error
    # Cells beyond the header stand under None, which no JSON object can have.
    return [{str(name): cell for name, cell in row.items() if name is not None} for row in rows]


def _csv_text(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    names = list(dict.fromkeys(name for row in rows for name in row))
    sink = io.StringIO()
    writer = csv.DictWriter(sink, names)
    writer.writeheader()
    writer.writerows(rows)
    return sink.getvalue().rstrip("\r\n")
