"""Holds: keep garbage collection away from an artifact until a time.

A hold is a small record. Where the store itself removes what is old, nobody can hold it back, so the bytes are copied
to the named area first and read from there once the original is gone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from kmnb.core.keys import crew_prefix, escape, unescape
from kmnb.core.metadata import Capability, ObjectInfo
from kmnb.core.references import read_time
from kmnb.errors import ArtifactNotFound, BadRequest, BoundExceeded, VersionConflict
from kmnb.ops.context import Context
from kmnb.storage._protocols import ObjectArea

HOLDS = "holds"
"""First segment of the records of holds."""
COPIES = "=held"
"""First segment of held copies in the named area; no identifier is written like that."""
REASON_MAX_CHARS = 500
"""Longest reason of a hold, in characters."""


@dataclass(frozen=True, slots=True)
class Hold:
    """One artifact that is held."""

    key: str
    """The artifact's key."""
    reason: str
    """Why it is held."""
    until: datetime
    """When the hold ends, UTC."""
    by: str = ""
    """Who holds it."""
    copy: str | None = None
    """Key of the held copy in the named area; None where the original is safe by itself."""

    def to_bytes(self) -> bytes:
        """Write the hold as a record."""
        raw = {"key": self.key, "reason": self.reason, "until": self.until.isoformat(), "by": self.by}
        return json.dumps(raw | ({"copy": self.copy} if self.copy else {})).encode()

    @classmethod
    def from_bytes(cls, raw: bytes) -> Hold | None:
        """Read a record; None where it is damaged."""
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            return None
        until = read_time(value.get("until")) if isinstance(value, Mapping) else None
        if until is None or not isinstance(value.get("key"), str):
            return None
        copy = value.get("copy")
        return cls(
            value["key"], str(value.get("reason", "")), until, str(value.get("by", "")), str(copy) if copy else None
        )


def hold_key(key: str) -> str:
    """Key of the record that holds an artifact; below its thread, and short whatever the key is."""
    start = "/".join(escape(unescape(segment)) for segment in key.split("/")[:3])
    return f"{HOLDS}/{start if len(start) < 900 else '=long'}/{_digest(key)}"


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


async def hold_artifact(
    context: Context, area: ObjectArea, info: ObjectInfo, *, reason: str, seconds: float | None = None
) -> Hold:
    """Hold an artifact; holding it again changes reason and end.

    Args:
        context: The workspace.
        area: Where the artifact is.
        info: The artifact.
        reason: Why.
        seconds: How long; the setting ``hold_seconds``.

    Raises:
        BadRequest: No reason, or no time.
        BoundExceeded: Longer than the setting ``hold_max_seconds``.
        StoreError: It could not be held.
    """
    settings = context.settings
    length = settings.hold_seconds if seconds is None else seconds
    if not reason.strip() or not length > 0:
        raise BadRequest(f"hold of {info.key!a:.1000}", "needs a reason and a time above 0")
    if length > settings.hold_max_seconds:
        raise BoundExceeded(
            f"hold of {length:g} s",
            f"the longest is {settings.hold_max_seconds:g} s",
            "Use keep() for what must stay for good.",
            limit="hold_max_seconds",
            value=settings.hold_max_seconds,
            unit="seconds",
        )
    until = await context.now() + timedelta(seconds=length)
    hold = Hold(info.key, reason[:REASON_MAX_CHARS], until, context.names.user)
    if Capability.TTL in context.backend.capabilities:
        hold = replace(hold, copy=f"{COPIES}/{_digest(info.key)}")
        await _copy(context, area, info)
    await _write_hold(context, hold)
    return hold


async def _copy(context: Context, area: ObjectArea, info: ObjectInfo) -> None:
    if await find_copy(context, info.key) is None:
        told = {**info.attributes, "held-key": info.key}
        target = f"{COPIES}/{_digest(info.key)}"
        await context.backend.named.put(target, area.stream(info.key, info=info), attributes=told)


async def find_copy(context: Context, key: str) -> tuple[ObjectArea, ObjectInfo] | None:
    """Find the held copy of an artifact; None where there is none."""
    area = HeldArea(context.backend.named)
    try:
        return area, await area.head(key)
    except ArtifactNotFound:
        return None


async def _write_hold(context: Context, hold: Hold) -> None:
    name = hold_key(hold.key)
    while True:
        try:
            revision = (await context.backend.records.get(name)).revision
        except ArtifactNotFound:
            revision = None
        with contextlib.suppress(VersionConflict):
            await context.backend.records.put(name, hold.to_bytes(), expected=revision)
            return


async def release_hold(context: Context, key: str) -> None:
    """Take a hold back; silent when there is none."""
    hold = await find_hold(context, key)
    if hold is not None and hold.copy is not None:
        await context.backend.named.delete(hold.copy)
    await context.backend.records.delete(hold_key(key))


async def find_hold(context: Context, key: str) -> Hold | None:
    """Find the hold of an artifact; None where there is none, or a damaged one."""
    try:
        record = await context.backend.records.get(hold_key(key))
    except ArtifactNotFound:
        return None
    return Hold.from_bytes(record.value)


async def list_holds(context: Context, start: str | None = None) -> AsyncIterator[tuple[str, Hold | None]]:
    """Walk holds, with the keys of their records.

    Args:
        context: The workspace.
        start: Prefix of the artifacts' keys, at most three segments; the workspace's crew.
    """
    prefix = start if start is not None else crew_prefix(context.names.namespace, context.names.crew)
    async for record in context.backend.records.list(f"{HOLDS}/{prefix}"):
        yield record.key, Hold.from_bytes(record.value)


async def active_holds(context: Context, now: datetime, start: str | None = None) -> dict[str, Hold | None]:
    """Find the holds that run, by record key; a damaged record counts as a hold."""
    return {key: hold async for key, hold in list_holds(context, start) if hold is None or now < hold.until}


class HeldArea:
    """The held copies, read under the keys of their originals.

    Args:
        named: The named area.
    """

    def __init__(self, named: ObjectArea) -> None:
        self._named = named

    async def head(self, key: str) -> ObjectInfo:
        """Tell the facts of a held copy, under the original's key."""
        info = await self._named.head(f"{COPIES}/{_digest(key)}")
        told = {name: value for name, value in info.attributes.items() if name != "held-key"}
        return replace(info, key=key, attributes=told)

    async def get_range(self, key: str, start: int, end: int, *, info: ObjectInfo | None = None) -> bytes:
        """Read some bytes of a held copy."""
        return await self._named.get_range(f"{COPIES}/{_digest(key)}", start, end, info=info)

    def stream(self, key: str, *, info: ObjectInfo | None = None) -> AsyncIterator[bytes]:
        """Read all of a held copy."""
        return self._named.stream(f"{COPIES}/{_digest(key)}", info=info)

    async def put(self, key: str, source: Any, **options: Any) -> ObjectInfo:
        """Refused: held copies are read only."""
        raise BadRequest(f"artifact {key!a:.1000}", "is a held copy", "Held copies are read only.")

    def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        """Refused: held copies are listed by their records."""
        raise BadRequest("held copies", "are listed by their records")

    async def delete(self, key: str) -> None:
        """Refused: release the hold."""
        raise BadRequest(f"artifact {key!a:.1000}", "is a held copy", "Release the hold.")
