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

from kmnb.core.arguments import as_number, as_text
from kmnb.core.keys import crew_prefix, escape, unescape
from kmnb.core.metadata import Capability, ObjectInfo
from kmnb.core.references import read_time
from kmnb.errors import ArtifactNotFound, BadRequest, BoundExceeded, StoreUnavailable, VersionConflict
from kmnb.ops.claims import mark_of, wait_for_claims
from kmnb.ops.context import Context
from kmnb.ops.expiry import missing_error
from kmnb.ops.room import claimed_or_full
from kmnb.storage._protocols import ObjectArea

HOLDS = "holds"
"""First segment of the records of holds."""
HELD_KEY = "held-key"
"""Attribute of a held copy: the key of its original."""
_ATTEMPTS = 10
_LONG = "=long"
# Holds of artifacts whose first segments are too long for a record's key.
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
    return f"{HOLDS}/{start if len(start) < 900 else _LONG}/{_digest(key)}"


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
        ArtifactNotFound: It is gone, or went meanwhile; the reason says what is known.
        BadRequest: No reason, or no time.
        BoundExceeded: Longer than the setting ``hold_max_seconds``.
        StoreError: It could not be held.
    """
    settings = context.settings
    length = settings.hold_seconds if seconds is None else as_number("hold: seconds", seconds)
    if not as_text("hold: reason", reason).strip() or not length > 0:
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
    removes = {Capability.TTL, Capability.LIFECYCLE} & context.backend.capabilities
    if removes and area is not context.backend.named:
        hold = replace(hold, copy=f"{COPIES}/{_digest(info.key)}")
    try:
        await _secure(context, area, hold)
    except ArtifactNotFound:
        await context.backend.records.delete(hold_key(info.key))
        raise await missing_error(context, info.key, created_at=info.created_at) from None
    return hold


async def _secure(context: Context, area: ObjectArea, hold: Hold) -> None:
    """Write the hold down, then make sure that what it holds is there, and the record too.

    Raises:
        ArtifactNotFound: It is gone.
    """
    for _ in range(_ATTEMPTS):
        if hold.copy is None or await find_copy(context, hold.key) is None:
            # A listing tells no attributes, and the copy is to have them.
            info = await area.head(hold.key)
            if hold.copy is not None:
                told = {**info.attributes, HELD_KEY: hold.key}
                await context.backend.named.put(hold.copy, area.stream(hold.key, info=info), attributes=told)
        await _write_hold(context, hold)
        # A collection that read the holds before this one was written has told what it is about to delete.
        await wait_for_claims(context, hold.key)
        if hold.copy is None:
            await area.head(hold.key)
        there = hold.copy is None or await find_copy(context, hold.key) is not None
        if there and await find_hold(context, hold.key) is not None:
            return
    raise StoreUnavailable(f"hold of {hold.key!a:.1000}", "somebody else takes it away all the time", "Try again.")


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
    async with claimed_or_full(context, [mark_of(key)]):
        hold = await find_hold(context, key)
        # A copy without its record is collected one day; a record without its copy would promise what is not there.
        await context.backend.records.delete(hold_key(key))
        if hold is not None and hold.copy is not None:
            await context.backend.named.delete(hold.copy)


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
    if prefix:
        async for record in context.backend.records.list(f"{HOLDS}/{_LONG}"):
            hold = Hold.from_bytes(record.value)
            if hold is None or hold.key.startswith(f"{prefix}/"):
                yield record.key, hold


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
        told = {name: value for name, value in info.attributes.items() if name != HELD_KEY}
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
