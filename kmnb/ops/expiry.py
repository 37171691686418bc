"""Say why something is not there, as far as anybody can know."""

from __future__ import annotations

from datetime import datetime, timedelta

from kmnb.core.keys import DiscussionKey
from kmnb.core.registry import record_key
from kmnb.errors import ArtifactNotFound
from kmnb.ops.context import Context
from kmnb.ops.threads import read_entry


async def missing_error(
    context: Context, key: str, *, created_at: datetime | None = None, expires_at: datetime | None = None
) -> ArtifactNotFound:
    """Make the error for an artifact that the store does not have.

    Args:
        context: The workspace.
        key: The artifact's key.
        created_at: When it was stored, where a reference tells; it tells an expiry from a deletion.
        expires_at: When its TTL ends, where a reference tells.
    """
    expires = expires_at or (created_at + timedelta(seconds=context.ttl_seconds) if created_at else None)
    if expires is not None and await context.now() >= expires:
        hours = f"{(expires - created_at).total_seconds() / 3600:g} h after" if created_at else "some time after"
        return _error(key, f"expired {hours} it was stored", expires_at=expires)
    closed = await _closed_at(context, key)
    if closed is not None:
        when = closed.isoformat(timespec="seconds")
        return _error(key, f"its thread was closed at {when}, and everything of it was deleted", closed_at=closed)
    known = "was deleted before it expired" if expires else "never existed, was deleted or has expired"
    return _error(key, known)


async def _closed_at(context: Context, key: str) -> datetime | None:
    parts = DiscussionKey.parse(key)
    if parts is None:
        return None
    entry, _, _ = await read_entry(context, record_key(parts.namespace, parts.crew, parts.thread))
    return entry.closed_at if entry is not None else None


def _error(key: str, reason: str, **facts: object) -> ArtifactNotFound:
    step = "Ask its producer for it again, or list what there is."
    if "/" not in key:
        # Keys have slashes: this is what a person writes who means a name.
        step = "If it is the name of a named artifact, load() opens it; else list what there is."
    return ArtifactNotFound(f"artifact {key!a:.1100}", reason, step, **facts)
