"""What the Agent Development Kit writes beside a version, from and to attributes of kmnb. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kmnb.core.metadata import Attribute
from kmnb.core.peer_names import header_text
from kmnb.errors import BadRequest

DEFAULT_TYPE = "application/octet-stream"
_INTERNAL = ("adkDisplayName", "adkIsText", "adkFileUri", "adkFileMimeType", "file_uri")
_HEADER_MAX = 1024


def _json(text: str | None) -> dict[str, Any]:
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def frame_of(attributes: Mapping[str, str]) -> dict[str, Any]:
    """The part that a version was saved as, without its bytes; empty where another door saved it."""
    frame = _json(attributes.get(Attribute.ADK)).get("part")
    return frame if isinstance(frame, dict) else {}


def is_text(attributes: Mapping[str, str]) -> bool:
    """Whether a version was saved as a part of text."""
    return "text" in frame_of(attributes)


def write_document(
    attributes: Mapping[str, str], *, name: str, version: int, uri: str, moment: float
) -> dict[str, Any]:
    """Make the ``metadata.json`` of a version in the kit's folders.

    Args:
        attributes: What kmnb knows.
        name: File name, ``user:`` included.
        version: The version.
        uri: Where the bytes lie.
        moment: When it was saved, in Unix seconds.

    Raises:
        BadRequest: A part that only points at a file, which these folders do not hold.
    """
    frame = frame_of(attributes)
    if "file_data" in frame:
        raise BadRequest(f"artifact {name!a:.200}", "only points at a file, which the kit's folders do not hold")
    blob = frame.get("inline_data") or {}
    media_type = attributes.get(Attribute.CONTENT_TYPE) or DEFAULT_TYPE
    return {
        "version": version,
        "canonicalUri": uri,
        "customMetadata": _json(attributes.get(Attribute.METADATA)),
        "createTime": _json(attributes.get(Attribute.ADK)).get("time") or moment,
        "mimeType": None if "text" in frame else blob.get("mime_type") or media_type,
        "fileName": name,
        "displayName": blob.get("display_name"),
    }


def read_document(document: Mapping[str, Any]) -> dict[str, str]:
    """Read a ``metadata.json`` of the kit as attributes."""
    kind, shown, made = document.get("mimeType"), document.get("displayName"), document.get("createTime")
    frame: dict[str, Any] = {"inline_data": {"mime_type": kind}} if isinstance(kind, str) else {"text": ""}
    if isinstance(kind, str) and isinstance(shown, str):
        frame["inline_data"]["display_name"] = shown
    custom = document.get("customMetadata")
    own = custom if isinstance(custom, dict) else {}
    return _told(frame, kind if isinstance(kind, str) else None, made=made, custom=own)


def write_headers(attributes: Mapping[str, str]) -> dict[str, str]:
    """Metadata that the kit keeps with an object in a bucket; what fits, in ASCII."""
    frame = frame_of(attributes)
    told = {
        name: header_text(value if isinstance(value, str) else str(value))
        for name, value in _json(attributes.get(Attribute.METADATA)).items()
        if name not in _INTERNAL and name.isascii() and name.replace("_", "").isalnum()
    }
    if "text" in frame:
        told["adkIsText"] = "true"
    elif shown := (frame.get("inline_data") or {}).get("display_name"):
        told["adkDisplayName"] = header_text(str(shown))
    elif pointer := frame.get("file_data") or {}:
        told["adkFileUri"] = header_text(str(pointer.get("file_uri")))
        if pointer.get("mime_type"):
            told["adkFileMimeType"] = header_text(str(pointer["mime_type"]))
    kept: dict[str, str] = {}
    for name in sorted(told, key=lambda name: name not in _INTERNAL):
        if sum(len(key) + len(value) for key, value in kept.items()) + len(name) + len(told[name]) <= _HEADER_MAX:
            kept[name] = told[name]
    return kept


def header_type(attributes: Mapping[str, str]) -> str:
    """Content type that the kit gives an object."""
    frame = frame_of(attributes)
    if "text" in frame:
        return "text/plain"
    blob = frame.get("inline_data") or {}
    return str(blob.get("mime_type") or attributes.get(Attribute.CONTENT_TYPE) or DEFAULT_TYPE)


def read_headers(headers: Mapping[str, str], kind: str | None) -> dict[str, str]:
    """Read what the kit keeps with an object in a bucket as attributes."""
    # Some roads to a bucket give names of metadata in small letters.
    small = {name.lower(): value for name, value in headers.items()}
    uri = small.get("adkfileuri") or small.get("file_uri")
    frame: dict[str, Any] = {"inline_data": {"mime_type": kind or DEFAULT_TYPE}}
    if uri:
        pointer = {"file_uri": uri, "mime_type": small.get("adkfilemimetype") or kind}
        frame = {"file_data": {name: value for name, value in pointer.items() if value}}
    elif small.get("adkistext") == "true":
        frame = {"text": ""}
    elif small.get("adkdisplayname"):
        frame["inline_data"]["display_name"] = small["adkdisplayname"]
    internal = {name.lower() for name in _INTERNAL}
    custom = {name: value for name, value in headers.items() if name.lower() not in internal}
    return _told(frame, kind, made=None, custom=custom)


def _told(frame: dict[str, Any], kind: str | None, *, made: Any, custom: Mapping[str, Any]) -> dict[str, str]:
    when = made if isinstance(made, int | float) else None
    told: dict[str, str] = {Attribute.ADK: json.dumps({"part": frame, "mime": kind, "time": when}, ensure_ascii=False)}
    told[Attribute.CONTENT_TYPE] = kind or ("text/plain" if "text" in frame else DEFAULT_TYPE)
    if custom:
        told[Attribute.METADATA] = json.dumps(dict(custom), ensure_ascii=False)
    return told
