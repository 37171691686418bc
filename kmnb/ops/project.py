"""Projection: what of an artifact enters a model's history. Nothing, a typed reference, or a typed content part."""

from __future__ import annotations

import base64
from typing import Any

from kmnb.core.companion import companion_of
from kmnb.core.embed_values import bare_type, is_text_type
from kmnb.core.metadata import ObjectInfo
from kmnb.errors import BadRequest, BoundExceeded, clip
from kmnb.ops.context import Context
from kmnb.ops.handle import Artifact
from kmnb.ops.handles import address_of_handle
from kmnb.ops.whole import read_whole

MODES = ("ignore", "reference", "embed")
"""The handling modes."""
REFERENCE = "artifact_reference"
"""Type of the part that stands for an artifact."""
_COLUMNS_MAX = 50


async def project_artifact(context: Context, artifact: Artifact, mode: str | None = None) -> dict[str, Any] | None:
    """Make what enters a model's history; see :meth:`kmnb.ops._face_project.ProjectFace.project`."""
    chosen = context.settings.handling_mode if mode is None else mode
    if chosen not in MODES:
        raise BadRequest(f"handling mode {chosen!a:.80}", "is not known", f"Known: {', '.join(MODES)}.")
    if chosen == "ignore":
        return None
    area, info = await artifact.locate()
    name = name_of(artifact)
    cap = context.settings.embed_max_bytes
    if chosen == "reference" or (info.size is not None and info.size > cap):
        return reference_of(info, name=name, version=artifact.version)
    try:
        raw = await read_whole(area, info.key, max_bytes=cap, info=info)
    except BoundExceeded:
        return reference_of(info, name=name, version=artifact.version)
    return content_part(raw, info, name=name, version=artifact.version)


def name_of(artifact: Artifact) -> str:
    """Name of an artifact for a model: the file name, or the key of a discussion artifact."""
    address = address_of_handle(artifact)
    return artifact.key if address is None else address.name


def reference_of(info: ObjectInfo, *, name: str, version: int | None) -> dict[str, Any]:
    """Make the typed reference: the same JSON every time, without a URL.

    Args:
        info: What the store told of the artifact.
        name: Its name.
        version: Its version; None for a discussion artifact.
    """
    told = companion_of(info, filename=name, version=version or 0)
    return {
        "type": REFERENCE,
        "name": clip(name, 1024),
        "version": version,
        "mime_type": clip(str(told["mime_type"]), 200),
        "size_bytes": info.size,
        "schema": _summary(told["schema"]),
    }


def _summary(schema: dict[str, Any]) -> dict[str, Any]:
    fields = schema.get("fields") or []
    columns = [
        {"name": clip(str(field.get("name")), 60), "type": clip(str(field.get("type") or "text"), 20)}
        for field in fields[:_COLUMNS_MAX]
        if isinstance(field, dict)
    ]
    summary: dict[str, Any] = {"columns": columns} if columns else {}
    if len(fields) > _COLUMNS_MAX:
        summary["more_columns"] = len(fields) - _COLUMNS_MAX
    return summary | ({"rows": schema["rows"]} if "rows" in schema else {})


def content_part(raw: bytes, info: ObjectInfo, *, name: str, version: int | None) -> dict[str, Any]:
    """Make the typed content part that holds the bytes: text, image, or file in base64.

    Args:
        raw: The bytes.
        info: What the store told of the artifact.
        name: Its name.
        version: Its version; None for a discussion artifact.
    """
    told = companion_of(info, filename=name, version=version or 0)
    media_type = str(told["mime_type"])
    facts = {"name": name, "version": version, "mime_type": media_type}
    if is_text_type(media_type):
        try:
            return {"type": "text", **facts, "text": raw.decode()}
        except UnicodeDecodeError:
            pass
    kind = "image" if bare_type(media_type).startswith("image/") else "file"
    return {"type": kind, **facts, "data": base64.b64encode(raw).decode()}
