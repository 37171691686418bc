"""What a store tells about an object, and the names of the attributes that kmnb keeps with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

_NONE: Mapping[str, str] = MappingProxyType({})


class Attribute(StrEnum):
    """Names of the attributes that kmnb stores with an object; values are text."""

    CONTENT_TYPE = "content-type"
    ENCODING = "encoding"
    ROWS = "rows"
    LINES = "lines"
    LEFT_OUT = "left-out"
    COLUMNS = "columns"
    PREVIEW = "preview"
    SCHEMA = "schema"
    INDEX = "index"
    AGENT = "agent"
    TOOL = "tool"
    THREAD = "thread"
    EXIT_CODE = "exit-code"
    STDERR = "stderr"
    ARGS_DIGEST = "args-digest"
    IDENTITY = "identity"
    METADATA = "metadata"
    ADK = "adk"


def number_in(text: str | None) -> int | None:
    """Read an attribute that counts something; None where it holds no such number. Anybody may have written it."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


def json_in(text: str | None) -> Any:
    """Read an attribute that holds JSON; None where it does not. Anybody may have written it."""
    import json

    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


class Area(StrEnum):
    """The two areas of one store URL."""

    DISCUSSIONS = "discussions"
    """Temporary objects under discussion keys; closing, TTL and sweep see only these."""
    NAMED = "named"
    """Named artifacts and held copies; never swept without a policy."""


class Capability(StrEnum):
    """Optional powers of a backend, asked for by name and never half-emulated."""

    TTL = "ttl"
    """The store itself deletes what is older than a time."""
    LIFECYCLE = "lifecycle"
    """The store may have rules by which it deletes what is old; whether it has them is not known from here."""
    RANGE = "range"
    """A range read moves about the bytes asked for."""
    WATCH = "watch"
    """Changes can be followed live."""
    DURABLE = "durable"
    """What was written survives a crash of the machine."""
    CROSS_PROCESS = "cross_process"
    """A second process sees what the first wrote."""
    BUS = "bus"
    """Messages can be published and read next to the objects."""


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """Facts about one stored object. Fields that the store did not tell are None."""

    key: str
    """The object's key in its area."""
    size: int | None = None
    """Size in bytes."""
    digest: str | None = None
    """``sha256:`` and 64 hexadecimal digits."""
    created_at: datetime | None = None
    """When it was written, UTC, by the store's clock."""
    identity: str | None = None
    """Changes whenever the key is written again; caches are bound to it."""
    attributes: Mapping[str, str] = field(default_factory=lambda: _NONE)
    """Small texts stored with the object; see :class:`Attribute`. Empty in listings."""
