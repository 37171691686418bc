"""Parts of the Agent Development Kit as bytes and facts, and back, so that nothing of a part is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kmnb.core.metadata import Attribute
from kmnb.integrations._adk_checks import Scope, invalid, is_reference, kit, references_of

ATTRIBUTE = Attribute.ADK
"""Name of the attribute that holds what a part tells besides its bytes."""
_BYTES = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Packed:
    """A part on its way into the store, or what is left of it there."""

    frame: Mapping[str, Any]
    """The part as JSON, without its bytes or text."""
    mime_type: str | None = None
    """MIME type as the kit tells it."""
    create_time: float | None = None
    """When it was saved, by the kit's clock, in seconds."""

    def to_text(self) -> str:
        """Write the attribute."""
        return json.dumps({"part": self.frame, "mime": self.mime_type, "time": self.create_time}, ensure_ascii=False)

    @property
    def uri(self) -> str | None:
        """Where the content is, of a part that only points at it."""
        uri = (self.frame.get("file_data") or {}).get("file_uri")
        return uri if isinstance(uri, str) else None


def pack(artifact: Any, scope: Scope) -> tuple[bytes, str | None, Packed]:
    """Take a part apart.

    Args:
        artifact: A part, or a dict that can be made one.
        scope: The caller's scope, which a reference must not leave.

    Returns:
        The bytes to store, the MIME type to store with them (None: to be found out), and the rest.
    """
    part = kit().Part.model_validate(artifact) if isinstance(artifact, Mapping) else artifact
    try:
        hidden = {"text": True, "inline_data": {"data"}}
        frame = part.model_dump(mode="json", exclude_none=True, exclude=hidden)
    except ValueError as error:
        invalid(f"The artifact cannot be written as JSON: {error}")
    if part.inline_data is not None:
        frame.setdefault("inline_data", {})
        kind = part.inline_data.mime_type
        return part.inline_data.data or b"", kind, _now(Packed(frame, kind))
    if part.text is not None:
        frame["text"] = ""
        return _encode(part.text), None, _now(Packed(frame, "text/plain"))
    if part.file_data is not None:
        uri = part.file_data.file_uri or ""
        if is_reference(uri):
            references_of(uri, scope)
        kind = None if is_reference(uri) else part.file_data.mime_type
        return _encode(uri), "text/uri-list", _now(Packed(frame, kind))
    invalid("Not supported artifact type.")


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        invalid("The text holds a lone surrogate, which UTF-8 cannot write.")


def _now(packed: Packed) -> Packed:
    from google.adk.artifacts.base_artifact_service import ArtifactVersion

    # The kit's own clock, which its tests and its simulations replace.
    return replace(packed, create_time=ArtifactVersion(version=0, canonical_uri="-").create_time)


def unpack(told: Mapping[str, str]) -> Packed:
    """Read what a version's attributes tell; versions that others saved are parts with inline data."""
    try:
        kept = json.loads(told.get(ATTRIBUTE, ""))
        return Packed(dict(kept["part"]), kept["mime"], kept["time"])
    except (ValueError, TypeError, KeyError):
        media_type = told.get(Attribute.CONTENT_TYPE) or _BYTES
        return Packed({"inline_data": {"mime_type": media_type}}, media_type)


def assemble(packed: Packed, data: bytes) -> Any:
    """Make the part again; None for what a rewound session left, an empty part without a type of its own."""
    frame = dict(packed.frame)
    if "text" in frame:
        frame["text"] = data.decode("utf-8", "replace")
    part = kit().Part.model_validate(frame)
    if part.inline_data is not None:
        part.inline_data.data = data
        if not data and frame == {"inline_data": {"mime_type": _BYTES}}:
            return None
    return part
