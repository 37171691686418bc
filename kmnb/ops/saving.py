"""Save named artifacts: the next version, an appended one, a kept copy. Numbers are reserved before bytes move."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from typing import Any

from kmnb.core.addresses import NamedAddress
from kmnb.core.arguments import as_integer
from kmnb.core.companion import custom_text, read_custom
from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.core.versions import Counter, split_pin
from kmnb.errors import AlreadyExists, BadRequest, StoreError, VersionConflict
from kmnb.ops.content import Content, read_content
from kmnb.ops.context import Context
from kmnb.ops.events import tell_saved
from kmnb.ops.handle import Artifact
from kmnb.ops.handles import named_handle
from kmnb.ops.named import counter_of, list_versions
from kmnb.ops.numbers import read_counter
from kmnb.ops.reservations import Reservation, predecessor, reserve, writing
from kmnb.ops.store import write_object
from kmnb.storage._source import blocks

_TRIES, _TRIES_WITH_PEERS = 3, 30
# Numbers that somebody else took: in a peer's layout the peer takes one with every save, without our counter.


def told_of(address: NamedAddress, metadata: Mapping[str, Any] | None, **named: Any) -> dict[str, str]:
    """Attributes that every version carries: its identity, and the caller's metadata as JSON.

    Raises:
        BadRequest: The metadata is no JSON object, or too large.
    """
    told: dict[str, str] = {}
    if not address.is_short:
        told[Attribute.IDENTITY] = json.dumps([address.app, address.user, address.session, address.filename])
    text = custom_text(metadata, **named)
    if text is not None:
        told[Attribute.METADATA] = text
    return told


async def save_version(
    context: Context,
    address: NamedAddress,
    data: Any,
    *,
    media_type: str | None = None,
    told: Mapping[str, str],
    expected_version: int | None = None,
) -> Artifact:
    """Store the next version of a name.

    Args:
        context: The workspace.
        address: The name.
        data: Text, bytes, a JSON value, a table, a path, a file, or an iterator of bytes or text.
        media_type: MIME type.
        told: Attributes that the caller knows.
        expected_version: Version that must be the latest; None for any.

    Raises:
        VersionConflict: Another version is the latest; names both.
        StoreError: The store failed; nothing is visible.
    """
    content = await read_content(data, media_type=media_type, inline_max_bytes=0, filename=address.filename)
    if expected_version is None:
        return await write_version(context, address, content, told=told)
    expected_version = as_integer("expected_version", expected_version)
    reserved = await _reserve_after(context, address, expected_version)
    return await _write(context, address, reserved, content=content, told=told)


async def _reserve(context: Context, address: NamedAddress, *, floor: int = 0) -> tuple[Counter, int]:
    """Reserve the next number of a name; gives also the name's record before.

    In a peer's layout numbers go on behind what the peer wrote.
    """
    await _refuse_pin(context, address)
    now, first = await context.now(), max(floor, await _floor(context, address))
    before = await reserve(context, address, lambda counter: _taken(counter, max(counter.following, first), now))
    return before, max(before.following, first)


def _taken(counter: Counter, number: int, now: datetime) -> Counter:
    return counter.reserved(number, counter.moved_at).written_by(number, now)


async def _write(
    context: Context,
    address: NamedAddress,
    reserved: tuple[Counter, int],
    *,
    content: Content,
    told: Mapping[str, str],
) -> Artifact:
    """Write the version of a reserved number."""
    async with writing(context, address, reserved) as held:
        info = await _put(context, address, held, content=content, told=told)
    return await _told(context, info, address=address, version=held.number)


async def _put(
    context: Context, address: NamedAddress, held: Reservation, *, content: Content, told: Mapping[str, str]
) -> ObjectInfo:
    key, area = address.version_key(held.number), context.backend.named
    return await write_object(area, key, content, told=told, name=address.filename, before_end=held.confirm)


async def _refuse_pin(context: Context, address: NamedAddress) -> None:
    """Refuse a new name that reads as a label of another one: whoever loads the label would get it instead.

    Raises:
        BadRequest: It does.
    """
    bare, pin = split_pin(address.filename)
    if pin is None:
        return
    counter, _ = await read_counter(context, counter_of(replace(address, filename=bare)))
    if pin in counter.labels and not await list_versions(context, address):
        reason = f"means version {counter.labels[pin]} of {bare!a:.200}, which has this label"
        raise BadRequest(f"artifact {address.name!a:.200}", reason, "Save under another name, or remove the label.")


async def _floor(context: Context, address: NamedAddress) -> int:
    """Number behind everything that is there; 0 in kmnb's own layout, where the counter knows."""
    if context.settings.layout == "kmnb":
        return 0
    return max(await list_versions(context, address), default=-1) + 1


async def _reserve_after(context: Context, address: NamedAddress, expected: int) -> tuple[Counter, int]:
    """Reserve the next number if a version is the latest, as one step."""
    await _refuse_pin(context, address)
    while True:
        counter, _ = await read_counter(context, counter_of(address))
        following = max(counter.following, await _floor(context, address))
        before = await predecessor(context, address, following)
        latest = None if before is None else int(before.key.rpartition("/")[2])
        if latest != expected:
            raise VersionConflict(
                f"artifact {address.name!a:.200}",
                f"its latest version is {latest}, expected was {expected}",
                "Load the latest version and try again.",
                latest=latest,
                expected=expected,
            )

        now = await context.now()

        def take(present: Counter, seen: Counter = counter, *, number: int = following, at: datetime = now) -> Counter:
            if present.following != seen.following:
                raise _Moved
            return _taken(present, number, at)

        with contextlib.suppress(_Moved):
            return await reserve(context, address, take), following


class _Moved(Exception):
    """Somebody reserved a number meanwhile."""


async def write_version(
    context: Context, address: NamedAddress, content: Content, *, told: Mapping[str, str]
) -> Artifact:
    """Reserve the next number of a name and store content under it."""
    floor = 0
    for _ in range(_TRIES if context.settings.layout == "kmnb" else _TRIES_WITH_PEERS):
        reserved = await _reserve(context, address, floor=floor)
        try:
            return await _write(context, address, reserved, content=content, told=told)
        except AlreadyExists:
            # Somebody wrote there without our counter, the counter was lost, or others went past: go on behind them.
            if not content.can_repeat:
                raise
            floor = max(await list_versions(context, address), default=-1) + 1
    raise StoreError(f"artifact {address.name!a:.200}", "other writers take every number", "Try again.")


async def append_version(context: Context, address: NamedAddress, chunk: Any, *, whole: bool = True) -> Artifact:
    """Store a version that holds the previous bytes plus a chunk; version 0 on a missing name.

    Args:
        context: The workspace.
        address: The name.
        chunk: What is added.
        whole: Whether the previous bytes come first; otherwise the version is the chunk alone.
    """
    content = await read_content(chunk, media_type=None, inline_max_bytes=0)
    if not whole:
        return await write_version(context, address, content, told={})
    reserved = await _reserve(context, address)
    version = reserved[1]
    async with writing(context, address, reserved) as held:
        last = await predecessor(context, address, version)
        if last is None:
            joined, told = content, told_of(address, None)
        else:
            joined = Content(_joined(context, last, content), last.attributes.get(Attribute.CONTENT_TYPE), None)
            told = {
                name: last.attributes[name]
                for name in (Attribute.METADATA, Attribute.IDENTITY)
                if name in last.attributes
            }
        info = await _put(context, address, held, content=joined, told=told)
    return await _told(context, info, address=address, version=version)


async def _told(context: Context, info: ObjectInfo, *, address: NamedAddress, version: int) -> Artifact:
    """Make the handle of a new version, and tell of it."""
    artifact = named_handle(context, info, address=address, version=version)
    metadata = read_custom(info)
    facts = {name: metadata[name] for name in ("description", "tags", "function_call_id") if name in metadata}
    await tell_saved(context, artifact, address, **facts)
    return artifact


async def _joined(context: Context, before: ObjectInfo, content: Content) -> AsyncIterator[bytes]:
    async with aclosing(context.backend.named.stream(before.key, info=before)) as walk:  # type: ignore[type-var]
        async for block in walk:
            yield block
    async with aclosing(blocks(content.source)) as rest:
        async for piece in rest:
            yield bytes(piece)


async def keep_artifact(
    context: Context, artifact: Artifact, address: NamedAddress, *, metadata: Mapping[str, Any] | None = None
) -> Artifact:
    """Copy an artifact to the next version of a name, with its facts, its metadata and its lineage.

    Raises:
        ArtifactNotFound: It is no longer there.
    """
    area, info = await artifact.locate()
    lineage = {"source": artifact.uri, "source_digest": info.digest}
    told = {name: value for name, value in info.attributes.items() if name != Attribute.IDENTITY}
    told |= told_of(address, {**read_custom(info), **(metadata or {}), "lineage": lineage})
    reserved = await _reserve(context, address)
    version = reserved[1]
    key, source = address.version_key(version), area.stream(info.key, info=info)
    async with writing(context, address, reserved) as held:
        if Attribute.PREVIEW in told:
            copied = await context.backend.named.put(key, source, create_only=True, attributes=told)
        else:
            # Somebody else wrote it: what it holds is found out on the way.
            content = Content(source, told.get(Attribute.CONTENT_TYPE), None)
            copied = await _put(context, address, held, content=content, told=told)
    return await _told(context, copied, address=address, version=version)
