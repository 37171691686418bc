"""Agent Mesh's companions: written beside every version, and matched with the version that they describe.

The peer numbers them separately, so after one that failed all later ones stand one number too low. Size and time in
the document itself tell which version it describes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kmnb.core.addresses import NamedAddress, Place
from kmnb.core.companion import SUFFIX, companion_of
from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.core.peer_names import companion_attributes
from kmnb.errors import AlreadyExists, ArtifactNotFound
from kmnb.storage.layouts._shelf import About, Shelf, Told

SHIFT_MAX = 8
"""How many numbers below its version a companion is looked for."""
NEAR_SECONDS = 60.0
"""A document of this age beside a version describes it even if its size was overwritten by a caller."""
DOCUMENT_MAX_BYTES = 1024 * 1024
"""Largest companion that is read."""


@dataclass(frozen=True, slots=True)
class Match:
    """The companion that describes a version."""

    number: int
    """Its own number."""
    document: Mapping[str, Any]
    """What it says."""


def companion_address(address: NamedAddress) -> NamedAddress:
    """Address of the companion of a name."""
    return replace(address, filename=address.filename + SUFFIX)


def described_by(address: NamedAddress) -> NamedAddress | None:
    """Address of what a companion describes; None for a name that is no companion's."""
    bare = address.filename.removesuffix(SUFFIX)
    return replace(address, filename=bare) if bare and bare != address.filename else None


async def find_companion(shelf: Shelf, address: NamedAddress, version: int, *, told: Told) -> Match | None:
    """Find the companion that describes a version.

    Args:
        shelf: Where.
        address: The name.
        version: Its version.
        told: What lies beside the version.

    Returns:
        The nearest one in time that has the version's size, of its own number or a lower one; None without any.
    """
    best: tuple[tuple[bool, float, int], Match] | None = None
    for number in range(version, max(version - SHIFT_MAX, 0) - 1, -1):
        document = await _read(shelf, companion_address(address), number)
        if document is None:
            continue
        same, away = document.get("size_bytes") == told.size, _away(document, told.modified)
        rank = (not same, away, version - number)
        if not same and (number != version or away > NEAR_SECONDS or await _has(shelf, address, document)):
            continue
        if best is None or rank < best[0]:
            best = rank, Match(number, document)
        if number == version and same and away <= 2.0:
            break
    return None if best is None else best[1]


async def _has(shelf: Shelf, address: NamedAddress, document: Mapping[str, Any]) -> bool:
    """Whether a version of the name has the size that a companion tells, which then describes that one."""
    place = Place(address.app, address.user, address.session, address.filename)
    return any([slot.size == document.get("size_bytes") async for slot in shelf.walk(place)])


def _away(document: Mapping[str, Any], modified: datetime) -> float:
    stamp = document.get("timestamp_utc")
    try:
        away = abs(float(stamp) - modified.timestamp()) if isinstance(stamp, int | float) else float("inf")
    except OverflowError:
        return float("inf")
    return float("inf") if math.isnan(away) else away


async def _read(shelf: Shelf, address: NamedAddress, number: int) -> dict[str, Any] | None:
    try:
        told = await shelf.head(address, number)
        if not 0 < told.size <= DOCUMENT_MAX_BYTES:
            return None
        raw, _ = await shelf.read(address, number, (0, told.size))
        value = json.loads(raw)
    except (ArtifactNotFound, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


async def explained(shelf: Shelf, address: NamedAddress, version: int, *, told: Told) -> Told:
    """Add what a companion says to what lies beside a version of the peer, and what is wrong with it."""
    if described_by(address) is not None:
        return told
    match = await find_companion(shelf, address, version, told=told)
    if match is None:
        return replace(told, faults=(*told.faults, "no companion describes it"))
    faults = list(told.faults)
    if match.number != version:
        faults.append(f"its companion has the number {match.number}; matched by size and time")
    wrong = {"size_bytes": told.size, "filename": match.document.get("filename")}
    if match.document.get("size_bytes") != wrong["size_bytes"]:
        faults.append("its companion tells another size; the stored one counts")
    return replace(told, attributes={**companion_attributes(match.document), **told.attributes}, faults=tuple(faults))


async def write_companion(shelf: Shelf, address: NamedAddress, version: int, *, about: About, digest: str) -> None:
    """Write the companion of a version under the same number, as the peer reads it."""
    info = ObjectInfo("-", about.size, digest, about.moment, None, about.attributes)
    document = companion_of(info, filename=address.name, version=version)
    raw = json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "replace")
    target = companion_address(address)
    kept = About({Attribute.CONTENT_TYPE: "application/json"}, about.mark, about.moment, len(raw))
    try:
        await shelf.write(target, version, raw, about=kept)
    except AlreadyExists:
        # It describes no version of this name, since this number was free.
        await shelf.delete(target, version)
        await shelf.write(target, version, raw, about=kept)


async def drop_companion(shelf: Shelf, address: NamedAddress, version: int) -> None:
    """Remove the companion that describes a version; silent when there is none."""
    try:
        match = await find_companion(shelf, address, version, told=await shelf.head(address, version))
    except ArtifactNotFound:
        return
    if match is not None:
        await shelf.delete(companion_address(address), match.number)


async def take_back(shelf: Shelf, address: NamedAddress, version: int, *, mark: str) -> None:
    """Remove the companion of one writing of a version that somebody deleted before the companion was there."""
    target = companion_address(address)
    with suppress(ArtifactNotFound):
        if (await shelf.head(target, version)).mark == mark:
            await shelf.delete(target, version)
