"""Settings: what can be set, its kinds and defaults. Where a value comes from is the front end's business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from kmnb.core.bounds import (
    GRACE_SECONDS,
    HOLD_SECONDS,
    INLINE_MAX_BYTES,
    SWEEP_SECONDS,
    TTL_SECONDS,
)
from kmnb.core.describe import Operation, Param
from kmnb.core.keys import CREWLESS
from kmnb.core.layouts import LAYOUTS

LEASE_SECONDS = 2 * 3600
"""How long a thread stays active after the last sign of life of a workspace that uses it."""
HEARTBEAT_SECONDS = 10 * 60
"""How often an open workspace renews the leases of its threads."""
HOLD_MAX_SECONDS = 90 * 24 * 3600
"""Longest hold that may be asked for."""
EMBED_MAX_BYTES = 10_000_000
"""Largest artifact that an embed inlines, in bytes; a larger one becomes a typed reference."""

SETTINGS = Operation(
    "setting",
    "What can be set by call, environment or file.",
    (
        Param("url", "text", "Address of the store; without one a store in the user's data folder."),
        Param("namespace", "text", "Namespace of the keys.", "default"),
        Param("crew", "text", "Crew of the keys.", CREWLESS),
        Param("thread", "text", "Discussion thread; without one the notebook's path, else 'default'."),
        Param("agent", "text", "Producing agent; without one the login name."),
        Param(
            "app", "text", "Application of named artifacts in scope namespace; without one a given namespace.", "kmnb"
        ),
        Param("user", "text", "User of named artifacts; without one the login name."),
        Param("session", "text", "Session of named artifacts; without one the thread."),
        Param("component", "text", "Component that owns the named artifacts in scope component."),
        Param("scope", "text", "Who shares named artifacts.", "namespace", choices=("namespace", "component")),
        Param(
            "handling_mode",
            "text",
            "What of a tool's artifacts reaches a model.",
            "ignore",
            choices=("ignore", "reference", "embed"),
        ),
        Param("layout", "text", "Layout of named artifacts.", "kmnb", choices=LAYOUTS),
        Param("inline_max_bytes", "integer", "Largest result that stays in the message.", INLINE_MAX_BYTES, minimum=0),
        Param("embed_max_bytes", "integer", "Largest artifact that an embed inlines.", EMBED_MAX_BYTES, minimum=0),
        Param("ttl_seconds", "number", "Age at which discussion artifacts expire.", float(TTL_SECONDS), minimum=1),
        Param("grace_seconds", "number", "Age below which the sweep spares objects.", float(GRACE_SECONDS), minimum=0),
        Param("lease_seconds", "number", "Life of a thread without a sign of life.", float(LEASE_SECONDS), minimum=1),
        Param("sweep_seconds", "number", "Pause between two sweeps.", float(SWEEP_SECONDS), minimum=1),
        Param("sweep_on_connect", "flag", "Whether connecting sweeps in the background when it is due.", True),
        Param("hold_seconds", "number", "How long a hold lasts.", float(HOLD_SECONDS), minimum=1),
        Param("hold_max_seconds", "number", "Longest hold.", float(HOLD_MAX_SECONDS), minimum=1),
        Param(
            "late_spill",
            "text",
            "What a spill into a closed thread does.",
            "refuse",
            choices=("refuse", "reopen"),
        ),
    ),
)
"""Every setting with kind, default and one line of help."""


@dataclass(frozen=True, slots=True)
class Names:
    """Who works where: what keys and addresses are made of."""

    namespace: str = "default"
    """Namespace of discussion keys."""
    crew: str = CREWLESS
    """Crew of discussion keys."""
    thread: str = "default"
    """Discussion thread."""
    agent: str = "agent"
    """Producing agent."""
    app: str = "kmnb"
    """Application of named artifacts."""
    user: str = "agent"
    """User of named artifacts."""
    session: str = "default"
    """Session of named artifacts."""
    component: str | None = None
    """Component, where one was named."""
    scope: str = "namespace"
    """``namespace`` or ``component``."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything else that can be set; see :data:`SETTINGS` for the meaning of each."""

    handling_mode: str = "ignore"
    """``ignore``, ``reference`` or ``embed``."""
    layout: str = "kmnb"
    """Layout of named artifacts."""
    inline_max_bytes: int = INLINE_MAX_BYTES
    """Largest result that stays in the message, in UTF-8 bytes, inclusive."""
    embed_max_bytes: int = EMBED_MAX_BYTES
    """Largest artifact that an embed inlines, in bytes, inclusive."""
    ttl_seconds: float = float(TTL_SECONDS)
    """Age at which a discussion artifact expires."""
    grace_seconds: float = float(GRACE_SECONDS)
    """Age up to which the sweep spares an object of a dead thread, inclusive."""
    lease_seconds: float = float(LEASE_SECONDS)
    """How long a thread stays active without a sign of life."""
    sweep_seconds: float = float(SWEEP_SECONDS)
    """Pause between two sweeps."""
    sweep_on_connect: bool = True
    """Whether connecting sweeps in the background when a sweep is due."""
    hold_seconds: float = float(HOLD_SECONDS)
    """How long a hold lasts unless it says otherwise."""
    hold_max_seconds: float = float(HOLD_MAX_SECONDS)
    """Longest hold that may be asked for."""
    late_spill: str = "refuse"
    """``refuse`` or ``reopen``: what a spill into a closed thread does."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One value and where it comes from."""

    name: str
    """Name of the setting."""
    value: Any
    """Its value; never a secret."""
    origin: str
    """``call``, ``environment KMNB_…``, the file's path, or ``default``."""


def pick(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Make :class:`Names` or :class:`Settings` of the values that belong to it."""
    return kind(**{field.name: values[field.name] for field in fields(kind) if field.name in values})
