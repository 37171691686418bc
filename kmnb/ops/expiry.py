"""Say why something is not there, as far as anybody can know."""

from __future__ import annotations

from datetime import datetime, timedelta

from kmnb.core.keys import DiscussionKey
from kmnb.core.registry import record_key
from kmnb.errors import ArtifactNotFound
from kmnb.ops.context import Context
from kmnb.ops.facts import Facts
from kmnb.ops.threads import read_entry


async def missing_error(context: Context, key: str, facts: Facts | None = None) -> ArtifactNotFound:
    """Make the error for an artifact that the store does not have.

    Args:
        context: The workspace.
        key: The artifact's key.
        facts: What a reference told of it; its times tell an expiry from a deletion.
    """
    ttl = context.settings.ttl_seconds
    if facts is not None and (facts.created_at or facts.expires_at):
        created = facts.created_at
        expires = facts.expires_at or (created + timedelta(seconds=ttl) if created else None)
        if expires is not None and await context.now() >= expires:
            hours = f"{(expires - created).total_seconds() / 3600:g} h after" if created else "after"
            return _error(key, f"expired {hours} it was stored", expires_at=expires)
        return _error(key, "was deleted before it expired")
    closed = await _closed_at(context, key)
    if closed is not None:
        when = closed.isoformat(timespec="seconds")
        return _error(key, f"its thread was closed at {when}, and everything of it was deleted", closed_at=closed)
    return _error(key, "never existed, was deleted or has expired")


async def _closed_at(context: Context, key: str) -> datetime | None:
    parts = DiscussionKey.parse(key)
    if parts is None:
        return None
    entry, _, _ = await read_entry(context, record_key(parts.namespace, parts.crew, parts.thread))
    return entry.closed_at if entry is not None else None


def _error(key: str, reason: str, **facts: object) -> ArtifactNotFound:
    return ArtifactNotFound(
        f"artifact {key!a:.1100}", reason, "Ask its producer for it again, or list what there is.", **facts
    )
