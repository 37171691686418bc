"""Names with their versions and a summary of the latest one: one listing, then one look at each latest version."""

from __future__ import annotations

import asyncio
from typing import Any

from kmnb.core.addresses import NamedAddress, scope_prefix
from kmnb.core.agent_answers import NAMES_MAX, summary_of
from kmnb.core.companion import companion_of
from kmnb.errors import ArtifactNotFound
from kmnb.ops.context import Context
from kmnb.ops.named import address_of, address_of_key

VERSIONS_MAX = 1000
"""Most version numbers that are told of one name; the newest ones."""
_AT_ONCE = 16


async def summarise_names(context: Context) -> tuple[list[dict[str, Any]], bool]:
    """List the names of the workspace's session and of its user.

    Args:
        context: The workspace.

    Returns:
        Name, versions and summary of each, sorted by name; and whether these are all.
    """
    here = address_of(context, "x")
    numbers: dict[str, list[int]] = {}
    for session in (here.session, None):
        async for info in context.backend.named.list(scope_prefix(here.app, here.user, session)):
            start, _, number = info.key.rpartition("/")
            if number.isascii() and number.isdigit():
                numbers.setdefault(start, []).append(int(number))
    gate = asyncio.Semaphore(_AT_ONCE)
    chosen = list(numbers.items())[:NAMES_MAX]
    found = await asyncio.gather(*(_summary(context, start, sorted(versions), gate=gate) for start, versions in chosen))
    told = sorted((entry for entry in found if entry is not None), key=lambda entry: str(entry["filename"]))
    return told, len(chosen) == len(numbers)


async def _summary(
    context: Context, start: str, versions: list[int], *, gate: asyncio.Semaphore
) -> dict[str, Any] | None:
    key = f"{start}/{versions[-1]}"
    async with gate:
        try:
            address: NamedAddress | None = await address_of_key(context, key)
            info = await context.backend.named.head(key)
        except ArtifactNotFound:
            return None
    if address is None:
        return None
    told = companion_of(info, filename=address.name, version=versions[-1])
    return {"filename": address.name, "versions": versions[-VERSIONS_MAX:], "metadata_summary": summary_of(told)}
