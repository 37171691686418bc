"""Events of artifacts: saved, deleted, expired. The shape of a save is the peer's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kmnb.core.references import read_time

SAVED, DELETED, EXPIRED = "artifact_saved", "artifact_deleted", "artifact_expired"
"""Types of events."""
_KNOWN = frozenset({SAVED, DELETED, EXPIRED})


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to one artifact, or to several at once."""

    type: str
    """``artifact_saved``, ``artifact_deleted`` or ``artifact_expired``."""
    scope: tuple[str, str, str]
    """App, user and session of a named artifact; namespace, crew and thread of a discussion artifact."""
    named: bool
    """Whether it is about a named artifact."""
    filename: str
    """Name of a named artifact, ``user:`` included; key of a discussion artifact; prefix with a slash for many."""
    time: datetime | None = None
    """When it happened, UTC."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """``version mime_type size_bytes uri description tags reason detail objects``, where known."""
    identity: str = ""
    """Identity of the event."""

    @property
    def cursor(self) -> str:
        """Place among the events: ``events(after=cursor)`` goes on behind it, where the store keeps them."""
        return f"{'' if self.time is None else self.time.isoformat()}/{self.identity}"

    @property
    def version(self) -> int | None:
        """Version of a named artifact."""
        return self.facts.get("version")

    @property
    def uri(self) -> str | None:
        """Address of the artifact."""
        return self.facts.get("uri")

    def to_json(self) -> dict[str, Any]:
        """Give the event as plain JSON values."""
        names = ("app", "user", "session") if self.named else ("namespace", "crew", "thread")
        stamp = {} if self.time is None else {"timestamp": self.time.isoformat()}
        place = dict(zip(names, self.scope, strict=True))
        return {"type": self.type, "filename": self.filename, **self.facts, **place, **stamp, "id": self.identity}

    def to_bytes(self) -> bytes:
        """Write the event as a message."""
        return json.dumps(self.to_json(), ensure_ascii=False, default=str).encode("utf-8", "replace")


def read_event(data: bytes) -> Event | None:
    """Read a message; None for what is no event."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, Mapping) or value.get("type") not in _KNOWN or not isinstance(value.get("filename"), str):
        return None
    named = "app" in value
    names = ("app", "user", "session") if named else ("namespace", "crew", "thread")
    one, two, three = (str(value.get(name, "")) for name in names)
    left = {"type", "filename", "timestamp", "id", *names}
    facts = {name: item for name, item in value.items() if name not in left}
    moment, identity = read_time(value.get("timestamp")), str(value.get("id", ""))
    return Event(value["type"], (one, two, three), named, value["filename"], moment, facts, identity)


def missed(events: Sequence[Event], after: str) -> list[Event]:
    """Give the events behind a cursor.

    Args:
        events: What the store keeps, oldest first.
        after: The cursor of the last event that was seen.

    Returns:
        Everything behind that event; where it is no longer kept, everything of a later time.
    """
    moment, _, identity = after.rpartition("/")
    for place, event in enumerate(events):
        if identity and event.identity == identity:
            return list(events[place + 1 :])
    last = read_time(moment)
    return [event for event in events if last is None or event.time is None or event.time > last]
