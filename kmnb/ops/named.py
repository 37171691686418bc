"""Find, list and remove named artifacts: latest by default, immutable versions, numbers never given out twice."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

from kmnb.core.addresses import NamedAddress, parse_uri, parse_version_key, scope_prefix
from kmnb.core.events import DELETED
from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.errors import ArtifactNotFound, BadRequest, StoreError
from kmnb.ops.context import Context
from kmnb.ops.events import tell
from kmnb.ops.handle import Artifact
from kmnb.ops.handles import named_handle
from kmnb.ops.numbers import change_counter, read_counter
from kmnb.ops.room import with_room

IDENTITIES_AT_ONCE = 32
"""Long names whose records are read at the same time: their keys hold digests."""
VERSIONS = "versions"
"""First segment of the records that count versions."""


def address_of(context: Context, name: str) -> NamedAddress:
    """Address of a name in the workspace's scope; ``user:`` before it means user scope.

    Raises:
        KeySyntaxError: The name leaves its place.
        BadRequest: Scope ``component`` without a component.
    """
    names = context.names
    if names.scope == "component" and not names.component:
        raise BadRequest("scope 'component'", "needs a component", "Give connect(component=…).")
    app = (names.component or names.app) if names.scope == "component" else names.app
    return NamedAddress.of(name, app=app, user=names.user, session=names.session)


def counter_of(address: NamedAddress) -> str:
    """Key of the record that counts the versions of a name."""
    return f"{VERSIONS}/{address.key}"


async def list_versions(context: Context, address: NamedAddress) -> list[int]:
    """List the versions of a name, ascending, in one listing that reads no bytes."""
    found = []
    async for info in context.backend.named.list(address.key):
        number = info.key.removeprefix(address.key + "/")
        if number.isascii() and number.isdigit():
            found.append(int(number))
    return sorted(found)


async def versions_beside(artifact: Any) -> list[int]:
    """List the versions of the name that a handle belongs to; none for discussion artifacts, and where that fails."""
    address = parse_uri(artifact.uri).address
    if address is None:
        return []
    with suppress(StoreError):
        return await list_versions(artifact._context, address)
    return []


async def latest_version(context: Context, address: NamedAddress) -> int | None:
    """The newest version of a name; None where there is none."""
    return max(await list_versions(context, address), default=None)


async def load_version(context: Context, address: NamedAddress, version: int | None = None) -> Artifact:
    """Get a handle of one version; only its facts are read.

    Args:
        context: The workspace.
        address: The name.
        version: Which one; None for the latest.

    Raises:
        ArtifactNotFound: No such name or version; the reason says what is known.
        BadRequest: The version is not a whole number.
    """
    if version is not None and type(version) is not int:
        raise BadRequest(f"version {version!a:.80}", "is not a whole number", "Take one of versions().")
    number = version if version is not None else await latest_version(context, address)
    if number is not None and number >= 0:
        try:
            info = await context.backend.named.head(address.version_key(number))
        except ArtifactNotFound:
            pass
        else:
            return named_handle(context, info, address=address, version=number)
    raise await _missing(context, address, version)


async def _missing(context: Context, address: NamedAddress, version: int | None) -> ArtifactNotFound:
    thing = f"artifact {address.name!a:.200}" + (f" version {version}" if version is not None else "")
    versions = await list_versions(context, address)
    counter, _ = await read_counter(context, counter_of(address))
    known = f"Its versions are {', '.join(map(str, versions[-20:]))}." if versions else "List names with filenames()."
    if version is None:
        return ArtifactNotFound(thing, "was removed" if counter.following else "there is none of that name", known)
    if version in counter.removed:
        return ArtifactNotFound(
            thing, f"was removed at {counter.removed[version].isoformat(timespec='seconds')}", known
        )
    if 0 <= version < counter.following:
        return ArtifactNotFound(thing, "was removed, or its writer never finished", known)
    return ArtifactNotFound(thing, "there is none", known)


async def list_filenames(context: Context) -> list[str]:
    """List the names of the workspace's session and of its user, sorted, ``user:`` included."""
    here = address_of(context, "x")
    return await list_names(context, app=here.app, user=here.user, session=here.session)


async def list_names(context: Context, *, app: str, user: str, session: str | None) -> list[str]:
    """List the names of a session and of its user, sorted, ``user:`` included.

    Args:
        context: The workspace.
        app: Application.
        user: User.
        session: Session; None for the names of the user alone.
    """
    found: list[str] = []
    for place in dict.fromkeys((session, None)):
        found += [address.name for address in await latest_of_names(context, app=app, user=user, session=place)]
    return sorted(found)


async def latest_of_names(
    context: Context, *, app: str, user: str, session: str | None
) -> dict[NamedAddress, ObjectInfo]:
    """Find the newest version of every name of a scope, in one listing.

    Args:
        context: The workspace.
        app: Application.
        user: User.
        session: Session; None for user scope.
    """
    newest: dict[str, tuple[int, ObjectInfo]] = {}
    async for info in context.backend.named.list(scope_prefix(app, user, session)):
        start, _, number = info.key.rpartition("/")
        if number.isascii() and number.isdigit() and int(number) >= newest.get(start, (0, info))[0]:
            newest[start] = (int(number), info)
    infos = [info for _, info in newest.values()]
    found: dict[NamedAddress, ObjectInfo] = {}
    for place in range(0, len(infos), IDENTITIES_AT_ONCE):
        some = infos[place : place + IDENTITIES_AT_ONCE]
        addresses = await asyncio.gather(*(address_of_key(context, info.key) for info in some))
        found |= {address: info for address, info in zip(addresses, some, strict=True) if address is not None}
    return found


async def address_of_key(context: Context, key: str) -> NamedAddress | None:
    """Address of a version's key; one call where an identifier stands there by its digest.

    None for another layout, and for what was removed meanwhile.
    """
    parsed = parse_version_key(key)
    if parsed is None or parsed[0] is not None:
        return None if parsed is None else parsed[0]
    try:
        info = await context.backend.named.head(key)
    except ArtifactNotFound:
        return None
    try:
        return NamedAddress(*json.loads(info.attributes.get(Attribute.IDENTITY, "")))
    except (ValueError, TypeError):
        return None


async def remove_address(context: Context, address: NamedAddress) -> int:
    """Remove every version of a name; returns how many. Their numbers are not given out again."""
    early: list[int] = []

    async def free() -> bool:
        """Delete the oldest version; the last one stays until its number is written down."""
        older = (await list_versions(context, address))[:-1][:1]
        for version in older:
            await context.backend.named.delete(address.version_key(version))
        early.extend(older)
        return bool(older)

    await with_room(lambda: change_counter(context, counter_of(address), lambda counter: counter.emptied()), free)
    versions = early + await list_versions(context, address)
    for version in versions[len(early) :]:
        await context.backend.named.delete(address.version_key(version))
    if versions:
        floor = versions[-1] + 1
        await change_counter(
            context, counter_of(address), lambda counter: counter.reserved(max(counter.following, floor) - 1).emptied()
        )
        await tell(context, DELETED, address, versions=versions[:1000])
    return len(versions)


async def remove_version(context: Context, address: NamedAddress, version: int) -> None:
    """Remove one version and leave a tombstone; silent when it is not there."""
    now = await context.now()
    if version not in await list_versions(context, address):
        return
    await change_counter(
        context,
        counter_of(address),
        lambda counter: counter.reserved(max(counter.following - 1, version)).without(version, now),
    )
    await context.backend.named.delete(address.version_key(version))
    await tell(context, DELETED, address, version=version)
