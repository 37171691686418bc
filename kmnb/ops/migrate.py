"""Copy named artifacts to another store, another layout, or both: every version, its metadata, tombstones and labels.

A version keeps its number. It appears in the target whole or not at all, so a run that was killed is simply run again:
what is there with the same bytes is passed over, and what is there with others is told and never overwritten.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, cast

from kmnb._bridge import blocking, bridged
from kmnb.core.addresses import NamedAddress, parse_version_key, scope_prefix
from kmnb.core.answers import Answer, facts
from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.core.progress import tally
from kmnb.core.versions import Counter
from kmnb.errors import AlreadyExists, ArtifactNotFound, BadRequest, DigestMismatch, KmnbError, clip
from kmnb.ops.content import Content
from kmnb.ops.context import Context
from kmnb.ops.named import VERSIONS, address_of_key, counter_of
from kmnb.ops.numbers import change_counter, read_counter
from kmnb.ops.store import write_object
from kmnb.ops.whole import digest_of_object
from kmnb.storage import open_backend
from kmnb.storage._protocols import Backend, ObjectArea, PeerBackend

AT_ONCE = 4
"""Versions that are copied at the same time."""
FAILURES_SHOWN = 50
"""Most failures that a report spells out."""


@dataclass(slots=True)
class Migration:
    """What a run did."""

    copied: int = 0
    """Versions that were copied and read back."""
    present: int = 0
    """Versions that were there with the same bytes."""
    removed: int = 0
    """Versions that were removed in the target and stay so."""
    names: int = 0
    """Names that have versions."""
    emptied: int = 0
    """Names whose versions were all removed; their numbers stay used up."""
    labels: int = 0
    """Labels that stand in the target."""
    size: int = 0
    """Bytes that were copied."""
    failures: list[str] = field(default_factory=list)
    """What was not copied, and why."""

    def answer(self) -> Answer:
        """Show it."""
        title = f"{self.copied} versions of {self.names} names copied, {self.present} were there already"
        if self.failures:
            title += f", {len(self.failures)} not copied"
        told = {
            "copied": self.copied, "present": self.present, "removed": self.removed,
            "names": self.names, "emptied": self.emptied, "labels": self.labels,
            "bytes": self.size, "failed": len(self.failures),
        }  # fmt: skip
        shown = facts(title, told, notes=self.failures[:FAILURES_SHOWN])
        data = {**told, "failures": self.failures}
        return Answer(
            shown.card, data, shown.text + "".join(f"failed\t{line}\n" for line in self.failures), ok=not self.failures
        )


async def _migrate_stores(
    source: str, target: str, *, layout_from: str = "kmnb", layout_to: str = "kmnb", prefix: str = ""
) -> Migration:
    """Copy all named artifacts of a store into another one.

    Args:
        source: Address of the store that is read.
        target: Address of the store that is written.
        layout_from: Layout of the source: ``kmnb``, ``agent-mesh`` or ``adk``.
        layout_to: Layout of the target.
        prefix: Whole segments that the keys begin with; empty for everything.

    Raises:
        StoreError: One of the stores cannot be opened or listed.
        BadRequest: An unknown layout.
    """
    reading = await open_backend(source, layout=layout_from)
    try:
        writing = await open_backend(target, layout=layout_to)
        try:
            return await migrate(reading, writing, prefix=prefix)
        finally:
            await writing.close()
    finally:
        await reading.close()


migrate_stores, migrate_stores_async = blocking(_migrate_stores), bridged(_migrate_stores)


async def migrate(source: Backend, target: Backend, *, prefix: str = "") -> Migration:
    """Copy all named artifacts of an opened store into another one; see :func:`migrate_stores`."""
    done, reading, writing = Migration(), Context(source), Context(target)
    groups, total = await _names(reading, prefix, done)
    gate = asyncio.Semaphore(AT_ONCE)
    with tally("migrate", total):
        for address, infos in groups.items():
            done.names += 1
            mine = await _count(reading, writing, address, following=_number(infos[-1]) + 1)
            left = [info for info in infos if not mine.is_gone(_number(info))]
            done.removed += len(infos) - len(left)
            work = [_version(reading, writing, info, address=address, done=done, gate=gate) for info in left]
            await asyncio.gather(*work)
    await _counters(reading, writing, done, prefix=prefix)
    if isinstance(source, PeerBackend):
        count, paths = source.unplaced
        done.failures += [f"{path}: could belong to several names; copy its scope alone" for path in paths]
        if count > len(paths):
            done.failures.append(f"{count - len(paths)} more paths that could belong to several names")
    return done


async def _names(context: Context, prefix: str, done: Migration) -> tuple[dict[NamedAddress, list[ObjectInfo]], int]:
    """Find the versions of every name, in one listing, with the bytes of all."""
    keys: dict[str, list[ObjectInfo]] = {}
    async for info in context.backend.named.list(prefix):
        if parse_version_key(info.key) is not None:
            keys.setdefault(info.key.rpartition("/")[0], []).append(info)
    groups: dict[NamedAddress, list[ObjectInfo]] = {}
    for name, infos in keys.items():
        address = await address_of_key(context, infos[0].key)
        if address is None:
            done.failures.append(f"{name}: its identifiers are not known")
        else:
            groups[address] = sorted(infos, key=_number)
    return groups, sum(info.size or 0 for infos in groups.values() for info in infos)


def _number(info: ObjectInfo) -> int:
    return int(info.key.rpartition("/")[2])


async def _count(reading: Context, writing: Context, address: NamedAddress, *, following: int) -> Counter:
    """Use up the numbers in the target before anything is written there; gives what its counter said before."""
    counter, _ = await read_counter(reading, counter_of(address))
    used = max(counter.following, following)
    return await change_counter(writing, counter_of(address), lambda mine: mine.joined(Counter(used)))


async def _version(
    reading: Context,
    writing: Context,
    info: ObjectInfo,
    *,
    address: NamedAddress,
    done: Migration,
    gate: asyncio.Semaphore,
) -> None:
    async with gate:
        try:
            size = await _copy(reading.backend.named, writing.backend.named, info, address=address)
        except (KmnbError, OSError, TimeoutError, ValueError) as error:
            done.failures.append(f"{address.name!a:.200} version {_number(info)} of {address.user!a}: {error}")
            return
    if size is None:
        done.present += 1
    else:
        done.copied, done.size = done.copied + 1, done.size + size


async def _copy(source: ObjectArea, target: ObjectArea, info: ObjectInfo, *, address: NamedAddress) -> int | None:
    """Copy one version and read it back; None when it was there with the same bytes."""
    key = address.version_key(_number(info))
    known = await source.head(info.key)
    try:
        there = await target.head(key)
    except ArtifactNotFound:
        pass
    else:
        if await digest_of_object(target, there) != await digest_of_object(source, known):
            raise AlreadyExists(f"artifact {address.name!a:.200}", "the target has that version with other bytes")
        return None
    told = {name: value for name, value in known.attributes.items() if name != Attribute.IDENTITY}
    if not address.is_short:
        told[Attribute.IDENTITY] = json.dumps([address.app, address.user, address.session, address.filename])
    seen = hashlib.sha256()
    content = Content(_seen(source, known, seen), known.attributes.get(Attribute.CONTENT_TYPE), None)
    stored = await write_object(target, key, content, told=told, name=address.filename)
    if await digest_of_object(target, replace(stored, digest=None)) != f"sha256:{seen.hexdigest()}":
        await target.delete(key)
        raise DigestMismatch(f"artifact {address.name!a:.200}", "what was read back differs", "Run it again.")
    return stored.size or 0


async def _seen(area: ObjectArea, info: ObjectInfo, seen: Any) -> AsyncIterator[bytes]:
    async with aclosing(cast("Any", area.stream(info.key, info=info))) as windows:
        async for window in windows:
            seen.update(window)
            yield window


async def _counters(reading: Context, writing: Context, done: Migration, *, prefix: str) -> None:
    """Carry over what was removed and where labels stand, also of names without any version."""
    async for record in reading.backend.records.list(f"{VERSIONS}/{prefix}".rstrip("/")):
        theirs = Counter.from_bytes(record.value)
        if theirs is None:
            done.failures.append(f"counter {clip(record.key, 200)}: its record is damaged")
            continue

        def join(mine: Counter, theirs: Counter = theirs) -> Counter:
            return mine.joined(theirs)

        await change_counter(writing, record.key, join)
        done.labels += len(theirs.labels)
        done.emptied += theirs.following > 0 and theirs.floor == theirs.following


def scope_of(app: str | None, user: str | None = None, session: str | None = None) -> str:
    """Prefix of the keys of an application, of a user of it, or of one session; empty for everything.

    Raises:
        BadRequest: A user without an application, or a session without a user.
    """
    if (user is not None and app is None) or (session is not None and user is None):
        raise BadRequest("the scope", "a user needs its application, a session its user", "Give those too.")
    if app is None:
        return ""
    prefix = scope_prefix(app, user or "-", session)
    return prefix if session is not None else "/".join(prefix.split("/")[: 1 if user is None else 2])
