"""Pins and labels: ``name@3``, ``name@latest`` and ``name@approved``, where a label is a name that people move."""

from __future__ import annotations

from dataclasses import replace

from kmnb.core.addresses import NamedAddress
from kmnb.core.companion import SUFFIX
from kmnb.core.versions import Counter, check_label, split_pin
from kmnb.errors import ArtifactNotFound, BadRequest
from kmnb.ops.companions import base_of, load_companion
from kmnb.ops.context import Context
from kmnb.ops.handle import Artifact
from kmnb.ops.named import (
    address_of,
    counter_of,
    latest_version,
    list_versions,
    load_version,
    remove_address,
    remove_version,
)
from kmnb.ops.numbers import change_counter, read_counter


async def load_pinned(context: Context, name: str, version: int | None = None) -> Artifact:
    """Load what people write: a name, a pinned one, or the companion of one.

    A name that exists as it stands wins over a pin and over a companion.

    Args:
        context: The workspace.
        name: ``report.csv``, ``report.csv@3``, ``report.csv@approved``, ``report.csv.metadata.json`` …
        version: Which one; None for what the name says, else the latest.

    Raises:
        ArtifactNotFound: No such name, version or label.
        BadRequest: A pin and another version.
    """
    return await load_address(context, address_of(context, name), version)


async def load_address(context: Context, address: NamedAddress, version: int | None = None) -> Artifact:
    """Load what an address means, whose file name may be pinned or that of a companion; see :func:`load_pinned`.

    Args:
        context: The workspace.
        address: The name in its scope.
        version: Which one; None for what the name says, else the latest.
    """
    bare, pin = split_pin(address.filename)
    if pin is not None and not await list_versions(context, address):
        given, address = address, replace(address, filename=bare)
        pinned = await _resolve(context, address, pin)
        if version is not None and version != pinned:
            raise BadRequest(f"{given.name!a:.200}", f"pins version {pinned}, and version={version} is asked for")
        version = pinned
    base = base_of(address)
    if base is not None and not await list_versions(context, address):
        return await load_companion(context, base, version)
    return await load_version(context, address, version)


async def _resolve(context: Context, address: NamedAddress, pin: str) -> int | None:
    if pin == "latest":
        return None
    if pin.isascii() and pin.isdigit():
        return int(pin)
    labels = await labels_of(context, address)
    if pin not in labels:
        known = f"Its labels are {', '.join(sorted(labels))}." if labels else "It has no labels."
        raise ArtifactNotFound(f"artifact {address.name!a:.200} label {pin!a}", "there is none", known)
    return labels[pin]


async def remove_target(context: Context, address: NamedAddress, version: int | None) -> None:
    """Remove the one version that an address or its file name pins; without a pin every one.

    Args:
        context: The workspace.
        address: The name in its scope, perhaps with a pin.
        version: Which one; None for what the name says.

    Raises:
        ArtifactNotFound: A label that the name does not have.
    """
    owner, pin = await _pin_of(context, address) if version is None else (address, None)
    if pin is not None:
        version = await _resolve(context, owner, pin)
        version = await latest_version(context, owner) if version is None else version
    if version is not None:
        await remove_version(context, owner, version)
    elif pin is None:
        await remove_address(context, address)


async def remove_whole(context: Context, address: NamedAddress) -> int:
    """Remove every version of a name; returns how many.

    Raises:
        BadRequest: The name pins one version.
    """
    await refuse_pin(context, address)
    return await remove_address(context, address)


async def refuse_pin(context: Context, address: NamedAddress) -> None:
    """Refuse a pinned name where every version would be removed.

    Raises:
        BadRequest: The name pins one version of a name that exists.
    """
    owner, pin = await _pin_of(context, address)
    if pin is not None:
        raise BadRequest(
            f"artifact {address.name!a:.200}",
            "pins one version, and this removes every version",
            f"Give {owner.name!a:.200} for all of them; delete(load({address.name!a:.200})) removes that one.",
        )


async def _pin_of(context: Context, address: NamedAddress) -> tuple[NamedAddress, str | None]:
    """Split an address whose name pins a version of one that exists; a name that exists as it stands pins nothing."""
    bare, pin = split_pin(address.filename)
    owner = replace(address, filename=bare)
    if pin is None or await list_versions(context, address) or not await list_versions(context, owner):
        return address, None
    return owner, pin


async def labels_of(context: Context, address: NamedAddress) -> dict[str, int]:
    """Tell the labels of a name and the versions they stand at; a companion has those of its artifact."""
    owner = base_of(address) if address.filename.endswith(SUFFIX) else None
    counter, _ = await read_counter(context, counter_of(owner or address))
    return dict(counter.labels)


async def move_label(context: Context, address: NamedAddress, label: str, *, version: int | None = None) -> int:
    """Put a label at a version, wherever it stood before.

    Args:
        context: The workspace.
        address: The name.
        label: The label.
        version: Where to; None for the latest.

    Returns:
        The version where it stands now.

    Raises:
        ArtifactNotFound: No such version.
    """
    check_label(label)
    number = (await load_version(context, address, version)).version or 0
    await change_counter(context, counter_of(address), lambda counter: counter.labelled(label, number))
    return number


async def drop_label(context: Context, address: NamedAddress, label: str) -> None:
    """Take a label away; silent when there is none."""

    def drop(counter: Counter) -> Counter:
        return counter.labelled(label, None)

    await change_counter(context, counter_of(address), drop)
