"""Read references in every form that is found in the wild.

Form A is ``{"artifact": {…}}`` on its own, form B the same object under ``metadata.artifact`` of a message, form C a
text marker ``[ARTIFACT key=… bytes=… - …]`` in a message's content. Readers are tolerant: unknown fields and values
of a wrong type are left out, only the key has to be there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from kmnb.core.envelope import Envelope
from kmnb.core.keys import check_key
from kmnb.errors import EnvelopeError, KeySyntaxError, clip

JSON_INPUT_MAX_CHARS = 1024 * 1024
"""Longest text that is parsed as JSON to find a reference in it, in characters."""

_OPENING = "[ARTIFACT key="
_MARKER = re.compile(r"\[ARTIFACT key=(?P<key>[^\s\]]+)(?: bytes=(?P<bytes>[0-9]{1,12})(?![0-9]))?")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_TEXTS = {
    "contentType": "content_type",
    "tool": "tool",
    "agent": "agent",
    "preview": "preview",
    "encoding": "encoding",
    "threadId": "thread_id",
    "argsDigest": "args_digest",
}
_NUMBERS = {"bytes": "bytes", "rows": "rows", "lines": "lines", "schemaVersion": "schema_version"}
_TIMES = {"createdAt": "created_at", "expiresAt": "expires_at"}


def read_reference(value: object) -> Envelope:
    """Read one reference.

    Args:
        value: An envelope as a dict, form A or a whole message as a dict, any of them as JSON text, or text with a
            marker.

    Returns:
        The envelope; facts that the reference does not tell are None.

    Raises:
        EnvelopeError: No reference, or several different ones.
        KeySyntaxError: The reference names a key that no object can have.
    """
    if isinstance(value, Envelope):
        return value
    if isinstance(value, bytes | bytearray):
        value = bytes(value).decode("utf-8", "replace")
    found = _of_text(value) if isinstance(value, str) else _of_mapping(value)
    keys = {envelope.key for envelope in found}
    if not found:
        raise EnvelopeError(
            f"{clip(ascii(value), 200)}", "is not a reference to an artifact", "Give a key, a URI or an envelope."
        )
    if len(keys) > 1:
        names = clip(", ".join(sorted(keys)), 600)
        raise EnvelopeError("the text", f"names {len(keys)} artifacts: {names}", "Ask for one of them by its key.")
    return found[0]


def read_message(message: Mapping[str, Any]) -> tuple[Envelope, ...]:
    """Find the references of a discussion message, tolerantly.

    Args:
        message: The message as parsed from JSON.

    Returns:
        The reference at ``metadata.artifact``, else one in ``content`` as JSON, else the markers in ``content``, each
        key once. Malformed keys are left out.
    """
    metadata = message.get("metadata")
    direct = _envelope(metadata.get("artifact")) if isinstance(metadata, Mapping) else None
    if direct is not None:
        return (direct,)
    content = message.get("content")
    if not isinstance(content, str):
        return ()
    wrapped = _parse_json(content)
    inner = _envelope(wrapped.get("artifact")) if isinstance(wrapped, Mapping) else None
    return (inner,) if inner is not None else find_markers(content)


def read_form_a(text: str | bytes) -> Envelope | None:
    """Read exactly the peer's reference message, ``{"artifact": {…}}`` with a key; None for everything else."""
    value = _parse_json(text.decode("utf-8", "replace") if isinstance(text, bytes) else text)
    return _envelope(value.get("artifact")) if isinstance(value, Mapping) else None


def find_markers(text: str) -> tuple[Envelope, ...]:
    """Find the text markers in a text, each key once, in order. Malformed keys are left out."""
    found: dict[str, Envelope] = {}
    for match, _ in _markers(text):
        size = match["bytes"]
        envelope = _envelope({"key": match["key"], "bytes": None if size is None else int(size)})
        if envelope is not None:
            found.setdefault(envelope.key, envelope)
    return tuple(found.values())


def _markers(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Walk the markers with the place after each; linear also for a text full of unclosed ones."""
    start = text.find(_OPENING)
    while start >= 0 and (end := text.find("]", start)) >= 0:
        match = _MARKER.match(text, start, end + 1)
        if match is not None:
            yield match, end + 1
        start = text.find(_OPENING, end + 1)


def strip_markers(text: str) -> str:
    """Remove every marker and the blanks before it, as the peer does for the final answer."""
    pieces: list[str] = []
    start = 0
    for match, end in _markers(text):
        pieces.append(text[start : match.start()].rstrip())
        start = end
    return "".join([*pieces, text[start:]])


def has_marker(text: str) -> bool:
    """Whether a text holds at least one marker."""
    return next(_markers(text), None) is not None


def _of_text(text: str) -> tuple[Envelope, ...]:
    value = _parse_json(text)
    if isinstance(value, Mapping):
        return _of_mapping(value)
    return find_markers(text)


def _of_mapping(value: object) -> tuple[Envelope, ...]:
    if not isinstance(value, Mapping):
        return ()
    wrapped = value.get("artifact")
    if isinstance(wrapped, Mapping):
        value = wrapped
    elif "key" not in value and ("metadata" in value or "content" in value):
        return read_message(value)
    key = value.get("key")
    if not isinstance(key, str) or not key:
        return ()
    check_key(key)
    envelope = _envelope(value)
    return () if envelope is None else (envelope,)


def _parse_json(text: str) -> Any:
    if len(text) > JSON_INPUT_MAX_CHARS or text.lstrip()[:1] != "{":
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _envelope(value: object) -> Envelope | None:
    if not isinstance(value, Mapping) or not isinstance(value.get("key"), str) or not value["key"]:
        return None
    try:
        facts: dict[str, Any] = {"key": check_key(value["key"])}
    except KeySyntaxError:
        return None
    if isinstance(value.get("bucket"), str) and value["bucket"]:
        facts["bucket"] = value["bucket"]
    facts |= {field: value[name] for name, field in _TEXTS.items() if isinstance(value.get(name), str) and value[name]}
    facts |= {field: value[name] for name, field in _NUMBERS.items() if _is_count(value.get(name))}
    facts |= {field: read_time(value.get(name)) for name, field in _TIMES.items()}
    if isinstance(value.get("digest"), str) and _DIGEST.fullmatch(value["digest"]):
        facts["digest"] = value["digest"]
    if isinstance(value.get("exitCode"), int) and not isinstance(value["exitCode"], bool):
        facts["exit_code"] = value["exitCode"]
    columns = value.get("columns")
    if isinstance(columns, list) and all(isinstance(name, str) for name in columns):
        facts["columns"] = tuple(columns)
    return Envelope(**facts)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def read_time(value: object) -> datetime | None:
    """Read an RFC 3339 time of up to nanoseconds as UTC; None for anything else.

    Args:
        value: Usually text; a time without a zone is taken as UTC.
    """
    if not isinstance(value, str) or not value:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
