"""Evidence: what a cited receipt stands on is held, so that it can be verified later.

Cited is a receipt that was published with its Outcome, or that somebody cites by name. Held are the artifacts that it
names, the program's text, and the receipt itself, which is stored beside the program.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kmnb.core.keys import join_key
from kmnb.core.metadata import ObjectInfo
from kmnb.core.receipt import Receipt, canonical, digest_of
from kmnb.errors import AlreadyExists, ArtifactNotFound, BadRequest
from kmnb.ops.artifacts import get_artifact
from kmnb.ops.context import Context
from kmnb.ops.holds import Hold, find_copy, find_hold, hold_artifact
from kmnb.ops.threads import touch_thread
from kmnb.ops.whole import digest_of_object
from kmnb.storage._protocols import ObjectArea

PROGRAMS = "programs"
"""Agent segment of stored programs and receipts."""
Place = tuple[ObjectArea, ObjectInfo]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a receipt stands on."""

    digest: str
    """Digest of the receipt."""
    text: bytes
    """The receipt as canonical JSON."""
    artifacts: tuple[tuple[str, str | None], ...]
    """Keys and digests of the artifacts."""
    program: str | None = None
    """Digest of the program; None for the receipt of a sip."""


def evidence_of(thing: Any) -> Evidence:
    """Read what is cited.

    Args:
        thing: An Outcome, a Slice, or the receipt of one, also as a dict or as JSON.

    Raises:
        BadRequest: It is none of these, or was changed after it was made.
    """
    value = thing if isinstance(thing, Receipt) else getattr(thing, "receipt", thing)
    if isinstance(value, str | bytes):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise BadRequest("this receipt", "is no JSON", "Pass what outcome.receipt or slice.receipt gave.") from None
    if isinstance(value, Mapping) and "op" in value and isinstance(value.get("key"), str):
        text = canonical(dict(value))
        return Evidence(digest_of(text), text, ((value["key"], value.get("artifactDigest")),))
    receipt = Receipt.from_value(value)
    facts = [*receipt.artifacts, *receipt.unopened]
    if not all(isinstance(one, Mapping) and isinstance(one.get("key"), str) for one in facts):
        raise BadRequest("this receipt", "names artifacts without keys", "Pass what outcome.receipt gave.")
    artifacts = tuple((one["key"], one.get("digest")) for one in facts)
    return Evidence(receipt.digest, receipt.to_json().encode(), artifacts, receipt.program_digest)


async def cite(context: Context, thing: Any, *, seconds: float | None = None) -> list[Hold]:
    """Hold everything that a receipt stands on.

    Args:
        context: The workspace.
        thing: See :func:`evidence_of`.
        seconds: How long; the setting ``hold_seconds``. A hold that lasts longer already is not made shorter.

    Returns:
        The holds: artifacts, program, receipt.

    Raises:
        ArtifactNotFound: A part of it is gone; nothing is held.
        BadRequest: It is no receipt, or an artifact holds other bytes now.
        ThreadClosed: The receipt cannot be stored in the workspace's thread.
    """
    evidence = evidence_of(thing)
    places = [await locate(context, key) for key, _ in evidence.artifacts]
    for (key, digest), (area, info) in zip(evidence.artifacts, places, strict=True):
        if digest is not None and await digest_of_object(area, info) != digest:
            raise BadRequest(f"artifact {key!a:.1000}", "holds other bytes than the receipt says", "Run it again.")
    if evidence.program is not None:
        places.append(await find_program(context, evidence.program, near=[key for key, _ in evidence.artifacts]))
    places.append(await _put_receipt(context, evidence))
    reason = f"cited by receipt {evidence.digest}"
    return [await _held(context, area, info, reason=reason, seconds=seconds) for area, info in places]


async def locate(context: Context, reference: Any) -> Place:
    """Find the area and the facts of what a receipt names; named artifacts stand there by their keys.

    Raises:
        ArtifactNotFound: It is gone.
    """
    try:
        return await (await get_artifact(context, reference)).locate()
    except ArtifactNotFound:
        if not isinstance(reference, str):
            raise
        try:
            return context.backend.named, await context.backend.named.head(reference)
        except ArtifactNotFound:
            pass
        raise


def program_key(context: Context, digest: str, thread: str | None = None) -> str:
    """Key of a stored program, in the workspace's thread unless another is named."""
    names = context.names
    thread = names.thread if thread is None else thread
    return join_key(names.namespace, names.crew, thread, PROGRAMS, digest.replace(":", "-"))


async def find_program(context: Context, digest: str, *, near: Sequence[str] = ()) -> Place:
    """Find the text of a program, or its held copy: in the workspace's thread, else beside what it read.

    Raises:
        ArtifactNotFound: It is gone.
    """
    name = digest.replace(":", "-")
    beside = ["/".join([*key.split("/")[:3], PROGRAMS, name]) for key in near if key.count("/") >= 3]
    for key in dict.fromkeys([program_key(context, digest), *beside]):
        try:
            return context.backend.discussions, await context.backend.discussions.head(key)
        except ArtifactNotFound:
            copy = await find_copy(context, key)
        if copy is not None:
            return copy
    raise ArtifactNotFound(f"program {digest}", "it was never stored, or is gone", "Run it again.")


async def _put_receipt(context: Context, evidence: Evidence) -> Place:
    await touch_thread(context, context.names.thread)
    area, key = context.backend.discussions, program_key(context, f"receipt-{evidence.digest}")
    told = {"content-type": "application/json", "tool": "receipt"}
    try:
        return area, await area.put(key, evidence.text, create_only=True, attributes=told)
    except AlreadyExists:
        return area, await area.head(key)


async def _held(context: Context, area: ObjectArea, info: ObjectInfo, *, reason: str, seconds: float | None) -> Hold:
    """Hold one thing; what it is held for already stays true."""
    length = context.settings.hold_seconds if seconds is None else seconds
    present, now = await find_hold(context, info.key), await context.now()
    if present is not None and now < present.until:
        length = max(length, (present.until - now).total_seconds())
        reason = present.reason if reason in present.reason else f"{present.reason}; {reason}"
    return await hold_artifact(context, area, info, reason=reason, seconds=min(length, _longest(context, seconds)))


def _longest(context: Context, seconds: float | None) -> float:
    """A hold that is only taken over never passes the limit, one that is asked for is refused above it."""
    return max(context.settings.hold_max_seconds, seconds or 0.0)
