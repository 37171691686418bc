"""Store a tool's result, and hand back what travels instead of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from kmnb.core.cards import spill_card
from kmnb.core.display import bundle, plain
from kmnb.core.keys import DiscussionKey, escape, join_key, numbered_name
from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.errors import AlreadyExists, ArtifactNotFound, StoreError
from kmnb.ops.claims import wait_for_claims
from kmnb.ops.content import Content, read_content
from kmnb.ops.context import Context
from kmnb.ops.events import tell_saved
from kmnb.ops.handle import Artifact
from kmnb.ops.handles import discussion_handle
from kmnb.ops.numbers import COUNTERS, reserve_number
from kmnb.ops.store import write_object
from kmnb.ops.threads import ThreadClosed, check_open, touch_thread
from kmnb.storage._protocols import Progress

_REOPENINGS = 5
STDERR_MAX_BYTES = 2048
"""Longest tail of a failed producer's stderr that travels with its result, in UTF-8 bytes."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made a result, and how it went."""

    tool: str
    """The tool."""
    agent: str
    """The agent that ran it."""
    thread: str
    """The discussion."""
    exit_code: int | None = None
    """Exit code of the producing program; None where there was none."""
    stderr: str = ""
    """End of its stderr."""
    arguments: Any = None
    """Arguments that the tool was called with; only their digest is kept."""
    filename: str | None = None
    """Name of the file that the result was; a hint for its format."""
    further: Mapping[str, str] = field(default_factory=dict)
    """Further attributes."""
    started_at: datetime | None = None
    """When its storing began, UTC."""

    def attributes(self) -> dict[str, str]:
        """The attributes that are stored with the object."""
        told: dict[str, str] = {
            **self.further,
            Attribute.TOOL: self.tool,
            Attribute.AGENT: self.agent,
            Attribute.THREAD: self.thread,
        }
        if self.exit_code is not None:
            told[Attribute.EXIT_CODE] = str(self.exit_code)
        if self.stderr:
            told[Attribute.STDERR] = tail_text(self.stderr, STDERR_MAX_BYTES)
        if self.arguments is not None:
            text = json.dumps(self.arguments, sort_keys=True, default=str)
            told[Attribute.ARGS_DIGEST] = "sha256:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        return told

    def failure(self) -> dict[str, Any]:
        """What a message tells of a failed producer; empty for one that did not fail."""
        if not self.exit_code and not self.stderr:
            return {}
        told: dict[str, Any] = {} if self.exit_code is None else {"exitCode": self.exit_code}
        return told | ({"stderr": tail_text(self.stderr, STDERR_MAX_BYTES)} if self.stderr else {})


@dataclass(frozen=True, slots=True)
class Spill:
    """What a tool publishes instead of its result."""

    message: dict[str, Any]
    """``content`` (the text, or the marker) and ``metadata`` (with ``artifact`` when something was stored)."""
    artifact: Artifact | None
    """Handle of what was stored; None when the result stayed inline."""

    def __repr__(self) -> str:
        return plain(spill_card(self.message, self.artifact))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(spill_card(self.message, self.artifact))


async def spill(context: Context, data: Any, *, origin: Origin, media_type: str | None = None) -> Spill:
    """Keep a small text result inline, store every other one.

    Args:
        context: The workspace.
        data: Text, bytes, None, a JSON value, a table, a path, a file, or an iterator of bytes or text.
        origin: Who made it.
        media_type: MIME type, where the producer knows it.

    Raises:
        ThreadClosed: The thread was closed.
        StoreError: It could not be stored; nothing of it is cut into a message.
    """
    content = await read_content(data, media_type=media_type, inline_max_bytes=context.settings.inline_max_bytes)
    if content.inline is not None:
        return Spill({"content": content.inline, "metadata": origin.failure()}, None)
    artifact = await put_result(context, content, origin=origin)
    envelope = artifact.envelope()
    marker = artifact.reference().marker()
    return Spill({"content": marker, "metadata": {"artifact": envelope, **origin.failure()}}, artifact)


async def put_result(
    context: Context, content: Content, *, origin: Origin, progress: Progress | None = None
) -> Artifact:
    """Store a result under the next free ``{tool}-{seq}`` of its thread, agent and tool.

    Raises:
        KeySyntaxError: No key can be made of the names.
        ThreadClosed: The thread was closed, before or meanwhile; nothing stays stored.
        StoreError: The store failed; nothing is visible.
    """
    result_key(context, origin, 10**12)
    now = await touch_thread(context, origin.thread, reopen=context.settings.late_spill == "reopen")
    info = await _put_numbered(context, content, origin=replace(origin, started_at=now), progress=progress)
    try:
        await check_open(context, origin.thread)
    except ThreadClosed as closed:
        if context.settings.late_spill != "reopen":
            await context.backend.discussions.delete(info.key)
            raise
        info = await _reopened(context, content, info, origin=origin, closed=closed)
    artifact = discussion_handle(context, info)
    await tell_saved(context, artifact, info.key)
    return artifact


async def _reopened(
    context: Context, content: Content, info: ObjectInfo, *, origin: Origin, closed: ThreadClosed
) -> ObjectInfo:
    """Open a thread again that was closed while a result was stored, and make sure that the result did not go along.

    Raises:
        ThreadClosed: It went along, and its source can be read only once.
    """
    for _ in range(_REOPENINGS):
        await touch_thread(context, origin.thread, reopen=True)
        # A closing that has not seen the thread open again has told what it is about to delete.
        await wait_for_claims(context, info.key)
        try:
            return await context.backend.discussions.head(info.key)
        except ArtifactNotFound:
            if not content.can_repeat:
                break
        info = await _put_numbered(context, content, origin=origin)
    raise closed


def result_key(context: Context, origin: Origin, number: int) -> str:
    """Key of the n-th result of a tool."""
    names = context.names
    escape(origin.tool, what="tool")
    name = numbered_name(origin.tool, number)
    return DiscussionKey(names.namespace, names.crew, origin.thread, origin.agent, name).text


async def _put_numbered(
    context: Context, content: Content, *, origin: Origin, progress: Progress | None = None
) -> ObjectInfo:
    names, area = context.names, context.backend.discussions
    counter = f"{COUNTERS}/" + join_key(names.namespace, names.crew, origin.thread, origin.agent, origin.tool)
    floor = 0
    for _ in range(3):
        number = await reserve_number(context, counter, floor=floor, moment=origin.started_at)
        key = result_key(context, origin, number)
        if content.can_repeat or await _is_free(context, key):
            try:
                return await write_object(
                    area, key, content, told=origin.attributes(), name=origin.filename, progress=progress
                )
            except AlreadyExists:
                if not content.can_repeat:
                    raise
        # Somebody wrote there without our counter, or the counter was lost: go on behind what is there.
        floor = await _highest(context, origin) + 1
    raise StoreError(f"results of tool {origin.tool!a:.80}", "other writers take every number", "Try again.")


async def _is_free(context: Context, key: str) -> bool:
    try:
        await context.backend.discussions.head(key)
    except ArtifactNotFound:
        return True
    return False


async def _highest(context: Context, origin: Origin) -> int:
    prefix = result_key(context, origin, 0).rpartition("/")[0]
    highest = -1
    async for info in context.backend.discussions.list(prefix):
        parsed = DiscussionKey.parse(info.key)
        if parsed is not None and parsed.tool == origin.tool and parsed.sequence is not None:
            highest = max(highest, parsed.sequence)
    return highest


def tail_text(text: str, limit_bytes: int) -> str:
    """Give the end of a text in at most a number of UTF-8 bytes, with a mark where something is missing."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit_bytes:
        return raw.decode("utf-8")
    return "…" + raw[-(limit_bytes - 3) :].decode("utf-8", "ignore")
