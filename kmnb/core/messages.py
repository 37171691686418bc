"""Discussion messages in the peer's shape: written exactly so, read tolerantly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kmnb.core.envelope import Envelope
from kmnb.core.keys import CREWLESS, DiscussionKey
from kmnb.core.references import read_form_a, read_message, read_time, strip_markers
from kmnb.core.subjects import Place

SOURCE = "kmnb"
"""What ``metadata.source`` says in the messages of this library."""
FORM_A_TYPE = "reference"
"""Type given to a bare reference message, which has none."""


@dataclass(frozen=True, slots=True)
class RawMessage:
    """One message of a discussion; fields that it does not have are empty or None."""

    message_id: str
    """Identity; a message that is published on two subjects has one."""
    thread: str
    """Thread of the subject."""
    agent: str
    """Who sent it."""
    message_type: str
    """The signal, for example ``agree``."""
    content: str
    """Its content as sent, markers included."""
    channel: str | None
    """Channel of the subject."""
    timestamp: datetime | None
    """When it was sent, UTC."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Further facts."""
    envelopes: tuple[Envelope, ...] = ()
    """References that belong to the place where the message was published."""

    @property
    def text(self) -> str:
        """The content without markers, as people may see it."""
        return strip_markers(self.content)


def write_message(message: Mapping[str, Any], *, names: Mapping[str, str], facts: Mapping[str, Any]) -> bytes:
    """Write a discussion message as the peer does.

    Args:
        message: ``content`` and ``metadata``, as a spill gives them.
        names: ``messageId``, ``threadId``, ``agentName``, ``messageType``, ``channel`` and ``timestamp``.
        facts: Further metadata.
    """
    metadata = {"signal": names["messageType"], **facts, **message.get("metadata", {}), "source": SOURCE}
    return json.dumps(
        {
            "messageId": names["messageId"],
            "threadId": names["threadId"],
            "agentName": names["agentName"],
            "messageType": names["messageType"],
            "content": message["content"],
            "channel": names["channel"],
            "timestamp": names["timestamp"],
            "metadata": metadata,
        },
        ensure_ascii=False,
        allow_nan=False,
    ).encode("utf-8", "replace")


def parse_message(data: bytes, place: Place) -> RawMessage | None:
    """Read a discussion message, or a reference message of form A.

    Args:
        data: The payload.
        place: What its subject says.

    Returns:
        The message with those references whose keys belong to the place; None for what is no message.
    """
    if place.channel is None:
        return _parse_form_a(data, place)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, Mapping):
        return None
    metadata = value.get("metadata")
    return RawMessage(
        message_id=_text(value, "messageId"),
        thread=place.thread,
        agent=_text(value, "agentName"),
        message_type=_text(value, "messageType"),
        content=_text(value, "content"),
        channel=place.channel,
        timestamp=read_time(value.get("timestamp")),
        metadata=metadata if isinstance(metadata, Mapping) else {},
        envelopes=tuple(found for found in read_message(value) if belongs(found.key, place)),
    )


def _parse_form_a(data: bytes, place: Place) -> RawMessage | None:
    found = read_form_a(data)
    if found is None or not belongs(found.key, place):
        return None
    return RawMessage("", place.thread, found.agent or "", FORM_A_TYPE, "", None, found.created_at, envelopes=(found,))


def belongs(key: str, place: Place) -> bool:
    """Whether a key's namespace, crew and thread agree with the subject of the message that names it."""
    parsed = DiscussionKey.parse(key)
    if parsed is not None:
        return (parsed.namespace, parsed.crew, parsed.thread) == (place.namespace, place.crew or CREWLESS, place.thread)
    # Older and deeper keys: what they begin with must be the place.
    segments = key.split("/")
    return segments[:2] in ([place.namespace, place.crew], [place.crew, place.thread])


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""
