"""What the bus tells of threads that another coordinator runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kmnb.core.keys import CREWLESS
from kmnb.core.messages import SOURCE
from kmnb.core.subjects import discussion_subject, parse_subject
from kmnb.errors import KeySyntaxError
from kmnb.ops.context import Context

ENDS = frozenset({"synthesis", "thread_close"})
"""Message types that end a thread."""
COORDINATES = frozenset({"thread_start", "advisory_ready", "triage_result", "review_ready", "synthesis"})
"""Message types that only a coordinator sends."""


async def foreign_threads(context: Context) -> dict[str, bool]:
    """Learn from the stored discussion messages which threads of the crew live.

    Returns:
        Threads with a message and without an end, each with whether others than this library spoke there; empty
        where there is no bus.

    Raises:
        StoreError: The bus could not be read.
    """
    live: dict[str, bool] = {}
    async for thread, message in crew_messages(context):
        if message.get("messageType") in ENDS:
            live.pop(thread, None)
        else:
            live[thread] = live.get(thread, False) or not _is_ours(message)
    return live


async def foreign_coordinator(context: Context) -> bool:
    """Whether another coordinator speaks to the workspace's crew."""
    async for _, message in crew_messages(context):
        if message.get("messageType") in COORDINATES and not _is_ours(message):
            return True
    return False


def _is_ours(message: Mapping[str, Any]) -> bool:
    metadata = message.get("metadata")
    return isinstance(metadata, Mapping) and metadata.get("source") == SOURCE


async def crew_messages(context: Context) -> Any:
    """Walk the stored discussion messages of the crew, oldest first, with their threads."""
    bus, names = context.backend.bus, context.names
    if bus is None:
        return
    try:
        subject = discussion_subject(names.namespace, names.crew, None, channel=None)
    except KeySyntaxError:
        return
    async for stored in bus.history(subject):
        place = parse_subject(stored.subject)
        if place is None or place.namespace != names.namespace or place.crew != (names.crew or CREWLESS):
            continue
        try:
            message = json.loads(stored.data)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, Mapping):
            yield place.thread, message
