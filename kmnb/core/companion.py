"""The companion of a version: everything about it that is not its bytes, as Agent Mesh's ``.metadata.json``. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kmnb.core.metadata import Attribute, ObjectInfo, json_in, number_in
from kmnb.errors import BadRequest, clip

SUFFIX = ".metadata.json"
"""What a companion's name ends with."""
CUSTOM_MAX_BYTES = 32 * 1024
"""Largest custom metadata of one version as JSON, in bytes."""
CORE = ("filename", "mime_type", "size_bytes", "timestamp_utc", "version", "digest", "schema")
"""Fields that a caller cannot set: they are what the store knows."""


def custom_text(metadata: Mapping[str, Any] | None, **named: Any) -> str | None:
    """Write custom metadata as it is stored.

    Args:
        metadata: What the caller gave.
        named: Well-known fields, for example ``source``, ``tags`` and ``description``; None means "not given".

    Returns:
        JSON text, or None where there is nothing.

    Raises:
        BadRequest: It is no JSON object, or too large.
    """
    if metadata is not None and not isinstance(metadata, Mapping):
        raise BadRequest("metadata", f"is a {type(metadata).__name__}", "Give a dict of names and JSON values.")
    whole = {**(metadata or {}), **{name: value for name, value in named.items() if value is not None}}
    if not whole:
        return None
    try:
        text = json.dumps(whole, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest("metadata", f"is no JSON object: {clip(str(error), 200)}") from error
    if len(text.encode("utf-8", "replace")) > CUSTOM_MAX_BYTES:
        raise BadRequest("metadata", f"has more than {CUSTOM_MAX_BYTES} bytes as JSON", "Store it as data.")
    return text


def read_custom(info: ObjectInfo) -> dict[str, Any]:
    """Read the custom metadata of a version; empty where there is none."""
    return _object(info.attributes.get(Attribute.METADATA))


def companion_of(info: ObjectInfo, *, filename: str, version: int) -> dict[str, Any]:
    """Make the companion document of a version.

    Args:
        info: What the store told of the version, attributes included.
        filename: The name, ``user:`` included.
        version: The version.

    Returns:
        The caller's metadata, with the fields of :data:`CORE` as the store knows them.
    """
    told = info.attributes
    media_type = told.get(Attribute.CONTENT_TYPE) or "application/octet-stream"
    return {
        **read_custom(info),
        "filename": filename,
        "mime_type": media_type,
        "size_bytes": info.size,
        "timestamp_utc": _stamp(info.created_at),
        "version": version,
        "digest": info.digest,
        "schema": _schema(told, media_type),
    }


def _schema(told: Mapping[str, str], media_type: str) -> dict[str, Any]:
    found = _object(told.get(Attribute.SCHEMA))
    columns = found.get("columns")
    schema: dict[str, Any] = {"type": media_type, "inferred": bool(columns), "error": None}
    if isinstance(columns, list):
        schema["columns"] = [column.get("name") for column in columns if isinstance(column, Mapping)]
        schema["fields"] = columns
    rows = number_in(told.get(Attribute.ROWS))
    return schema | ({"rows": rows} if rows is not None else {})


def _stamp(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def _object(text: str | None) -> dict[str, Any]:
    value = json_in(text)
    return value if isinstance(value, dict) else {}
