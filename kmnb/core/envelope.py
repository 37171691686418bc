"""The envelope: the small JSON reference that travels instead of the bytes.

kmnb writes the peer's documented shape with every field truly filled and reads every shape found in the wild: form A
(``{"artifact": {…}}``), form B (``metadata.artifact`` of a message), form C (a text marker). See
``envelope.schema.json`` next to this file for the JSON Schema, and :mod:`kmnb.core.references` for reading.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kmnb.core.bounds import ENVELOPE_MAX_BYTES
from kmnb.core.metadata import Area
from kmnb.errors import EnvelopeError, clip

BUCKET = "kubemoot_discussion_artifacts"
"""Bucket that a written envelope names; readers ignore it and use their own."""
BUCKETS = {Area.DISCUSSIONS: BUCKET, Area.NAMED: "kmnb_named_artifacts"}
"""Bucket that a written envelope names, by area."""
SCHEMA_VERSION = 1
"""Version of the optional fields that kmnb adds."""
LABEL_MAX_BYTES = 200
"""Longest label (agent, tool, type …) that an envelope carries."""
CUT = "…"
"""Mark of a text that was cut."""

_LABELS = ("bucket", "contentType", "tool", "agent", "encoding", "threadId", "argsDigest", "digest")


@dataclass(frozen=True, slots=True)
class Envelope:
    """A reference to one artifact. Unknown facts are None."""

    key: str
    """Key in the store; never empty."""
    bucket: str = BUCKET
    """Bucket that the writer named."""
    content_type: str | None = None
    """MIME type."""
    bytes: int | None = None
    """Size in bytes."""
    rows: int | None = None
    """Number of records; None where it was not counted."""
    tool: str | None = None
    """Tool that made the content."""
    agent: str | None = None
    """Agent that ran the tool."""
    created_at: datetime | None = None
    """When it was stored, UTC."""
    preview: str | None = None
    """What can be told without a fetch; untrusted text."""
    schema_version: int | None = None
    """Version of the optional fields below; None in a peer's envelope."""
    digest: str | None = None
    """``sha256:`` and 64 hexadecimal digits."""
    lines: int | None = None
    """Number of lines."""
    columns: tuple[str, ...] | None = None
    """Names of the columns, where there are such."""
    encoding: str | None = None
    """Text encoding of the content."""
    thread_id: str | None = None
    """Thread that the artifact belongs to."""
    expires_at: datetime | None = None
    """When the store's TTL removes it, UTC."""
    exit_code: int | None = None
    """Exit code of the program that made it; None where there was none."""
    args_digest: str | None = None
    """Digest of the arguments that the tool was called with."""

    def to_dict(self) -> dict[str, Any]:
        """Write the documented shape; ``json.dumps`` of it has at most 4,096 bytes.

        Returns:
            A dict of JSON values. Too long previews, labels and column lists are cut and say so.

        Raises:
            EnvelopeError: The key alone is too long for an envelope.
        """
        return _fit(self._raw())

    def marker(self) -> str:
        """Write form C, the text that takes the place of the content in a message."""
        if re.search(r"[\s\]]", self.key):
            raise EnvelopeError(f"key {self.key!a:.80}", "cannot stand in a text marker", "Send the envelope.")
        size = f" bytes={self.bytes}" if self.bytes is not None else ""
        return f"[ARTIFACT key={self.key}{size} - read slices of it, or open /artifacts/{self.key} in a program]"

    def _raw(self) -> dict[str, Any]:
        raw = {
            "bucket": self.bucket,
            "key": self.key,
            "contentType": self.content_type,
            "bytes": self.bytes,
            "rows": self.rows,
            "tool": self.tool or "",
            "agent": self.agent or "",
            "createdAt": write_time(self.created_at) or "",
            "preview": self.preview or "",
            "schemaVersion": self.schema_version,
            "digest": self.digest,
            "lines": self.lines,
            "columns": None if self.columns is None else list(self.columns),
            "encoding": self.encoding,
            "threadId": self.thread_id,
            "expiresAt": write_time(self.expires_at),
            "exitCode": self.exit_code,
            "argsDigest": self.args_digest,
        }
        return {name: value for name, value in raw.items() if value is not None}


def _size(value: Any) -> int:
    # json.dumps as everybody calls it is the longest usual form: ASCII only, blanks after separators.
    return len(json.dumps(value))


def _fit(raw: dict[str, Any]) -> dict[str, Any]:
    for name in _LABELS:
        if isinstance(raw.get(name), str):
            raw[name] = _clean(clip_text(raw[name], LABEL_MAX_BYTES))
    raw["preview"] = _clean(raw["preview"])
    columns, preview = raw.get("columns"), raw["preview"]
    if columns is not None:
        raw["preview"] = ""
        room = ENVELOPE_MAX_BYTES - _size(raw) + _size(columns)
        raw["columns"] = _fit_columns([_clean(name) for name in columns], max(2, room // 2 if preview else room))
    raw["preview"] = ""
    room = ENVELOPE_MAX_BYTES - _size(raw)
    if room < 0:
        raise EnvelopeError(f"key {clip(ascii(raw['key']), 80)}", "is too long for an envelope of 4,096 bytes")
    raw["preview"] = _fit_text(preview, room)
    return raw


def _fit_columns(columns: list[str], room: int) -> list[str]:
    columns = [clip_text(name, LABEL_MAX_BYTES) for name in columns]
    total = len(columns)
    if _size(columns) <= room:
        return columns
    kept: list[str] = []
    size = 2 + _size(f"{CUT} {total} columns in all") + 2
    for name in columns:
        size += _size(name) + 2
        if size > room:
            break
        kept.append(name)
    last = f"{CUT} {total} columns in all"
    return [*kept, last] if _size([*kept, last]) <= room else []


def _fit_text(text: str, room: int) -> str:
    if _size(text) - 2 <= room:
        return text
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        if _size(text[:middle] + CUT) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low] + CUT if _size(CUT) - 2 <= room else ""


def clip_text(text: str, limit_bytes: int) -> str:
    """Cut a text at a character boundary to a number of UTF-8 bytes, the mark of the cut included."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit_bytes:
        return text
    return raw[: max(0, limit_bytes - len(CUT.encode()))].decode("utf-8", "ignore") + CUT


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def write_time(moment: datetime | None) -> str | None:
    """Write a time as RFC 3339 in UTC with ``Z``; None stays None."""
    if moment is None:
        return None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat().replace("+00:00", "Z")
