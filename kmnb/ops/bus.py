"""Publish results and follow discussions: forms A, B and C of references, in the peer's order."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from kmnb.core.bounds import MIB
from kmnb.core.display import Card, bundle, plain
from kmnb.core.envelope import Envelope, write_time
from kmnb.core.messages import FORM_A_TYPE, RawMessage, parse_message, write_message
from kmnb.core.references import read_reference
from kmnb.core.subjects import BROADCAST, artifact_subject, discussion_subject, parse_subject
from kmnb.errors import BadRequest, BoundExceeded, KmnbError, NotSupported
from kmnb.ops.context import Context
from kmnb.ops.follow import follow as follow_subject
from kmnb.ops.handle import Artifact
from kmnb.ops.handles import envelope_handle
from kmnb.ops.spill import Origin, Spill, spill
from kmnb.ops.threads import touch_thread
from kmnb.storage._protocols import Bus, BusMessage

MESSAGE_MAX_BYTES = MIB - 4096
"""Largest message that is published, in bytes; what is larger is spilled, not sent."""
_log = logging.getLogger("kmnb.bus")
SEEN_MAX = 10_000
"""How many identities a follower remembers to drop doubles."""


@dataclass(frozen=True)
class Message:
    """One message of a discussion, with handles of what it refers to."""

    raw: RawMessage
    """The message as it was read."""
    artifacts: tuple[Artifact, ...]
    """Handles of the references that belong to the discussion; nothing was fetched."""

    @property
    def text(self) -> str:
        """The content without markers."""
        return self.raw.text

    @property
    def content(self) -> str:
        """The content as sent."""
        return self.raw.content

    @property
    def agent(self) -> str:
        """Who sent it."""
        return self.raw.agent

    @property
    def message_type(self) -> str:
        """The signal, for example ``agree``."""
        return self.raw.message_type

    def __repr__(self) -> str:
        return plain(self._card())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self._card())

    def _card(self) -> Card:
        references = [(artifact.key, artifact.size) for artifact in self.artifacts]
        title = f"{self.agent} · {self.message_type}"
        return Card(title, body=self.text, columns=("artifact", "bytes") if references else (), rows=references)


async def publish(
    context: Context, thing: Any, text: str | None = None, *, message_type: str = "agree", channel: str = BROADCAST
) -> str:
    """Publish a result to its discussion.

    Args:
        context: The workspace.
        thing: A spill, an Outcome, a handle, or text.
        text: What to say beside the reference; None for nothing.
        message_type: The signal.
        channel: The channel.

    Returns:
        The message's id.

    Raises:
        NotSupported: The store has no bus.
        ThreadClosed: The discussion was closed.
        BoundExceeded: The text is too long for a message.
    """
    bus = bus_of(context)
    message, envelope, facts = await _message_of(context, thing, text)
    thread = (envelope.thread_id if envelope else None) or context.names.thread
    names = context.names
    subject = discussion_subject(names.namespace, names.crew, thread, channel=channel)
    told = {
        "messageId": str(uuid.uuid4()),
        "threadId": thread,
        "agentName": (envelope.agent if envelope else None) or names.agent,
        "messageType": message_type,
        "channel": channel,
        "timestamp": write_time(await context.now()) or "",
    }
    data = write_message(message, names=told, facts=facts)
    if len(data) > MESSAGE_MAX_BYTES:
        raise BoundExceeded(
            "message", f"{len(data)} bytes", "Spill the text.", limit="MESSAGE_MAX_BYTES", value=MESSAGE_MAX_BYTES
        )
    await touch_thread(context, thread)
    if envelope is not None:
        await bus.publish(artifact_subject(names.namespace, names.crew, thread), form_a(envelope), stored=False)
    await bus.publish(subject, data, stored=True)
    return told["messageId"]


def form_a(envelope: Envelope) -> bytes:
    """Write the reference message that materialisers wait for."""
    return json.dumps({"artifact": envelope.to_dict()}).encode()


def bus_of(context: Context) -> Bus:
    """The bus of a workspace's store.

    Raises:
        NotSupported: It has none.
    """
    if context.backend.bus is None:
        raise NotSupported(
            f"store {context.backend.url}", "has no bus (capability 'bus')", "Connect to nats:// or nats+embedded://."
        )
    return context.backend.bus


async def _message_of(
    context: Context, thing: Any, text: str | None
) -> tuple[dict[str, Any], Envelope | None, dict[str, Any]]:
    """Give content and metadata, the reference in it, and further metadata."""
    facts: dict[str, Any] = {}
    if isinstance(thing, str):
        thing = Spill({"content": thing, "metadata": {}}, None)
    elif isinstance(thing, Artifact):
        thing = Spill({"content": thing.reference().marker(), "metadata": {"artifact": thing.envelope()}}, thing)
    elif hasattr(thing, "stdout") and hasattr(thing, "receipt"):
        facts = _outcome_facts(thing)
        await _cite(context, thing)
        origin = Origin(
            "run", context.names.agent, context.names.thread, exit_code=thing.exit_code, stderr=thing.stderr
        )
        thing = await spill(context, thing.stdout, origin=origin)
    if not isinstance(thing, Spill):
        raise BadRequest(
            f"{type(thing).__name__}", "cannot be published", "Give a spill, an Outcome, a handle or text."
        )
    content = thing.message["content"]
    if text:
        content = f"{text} {content}" if content else text
    reference = thing.message["metadata"].get("artifact")
    envelope = read_reference(reference) if reference is not None else None
    return {**thing.message, "content": content}, envelope, facts


async def _cite(context: Context, outcome: Any) -> None:
    """Hold what a published number stands on; one whose evidence is gone is published all the same."""
    if outcome.receipt is None:
        return
    from kmnb.ops.citing import cite

    try:
        await cite(context, outcome)
    except (KmnbError, OSError, TimeoutError) as error:
        _log.warning("the receipt of a published outcome is not held: %s", error)


def _outcome_facts(outcome: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"exitCode": outcome.exit_code, "timedOut": outcome.timed_out}
    if outcome.receipt is not None:
        facts["receipt"] = outcome.receipt.digest
        facts["program"] = outcome.receipt.program_digest
    return facts


async def discussion(context: Context, thread: str | None = None, *, follow: bool = False) -> AsyncIterator[Message]:
    """Walk the messages of a discussion, oldest first.

    Args:
        context: The workspace.
        thread: The thread; the workspace's own.
        follow: Whether to wait for further messages after the stored ones, without end.

    Raises:
        NotSupported: The store has no bus.
    """
    bus, names = bus_of(context), context.names
    subject = discussion_subject(names.namespace, names.crew, names.thread if thread is None else thread, channel=None)
    seen = _Seen()
    if not follow:
        async for stored in bus.history(subject):
            if (message := _read(context, stored, seen)) is not None:
                yield message
        return
    async with aclosing(follow_subject(bus, subject)) as walk:  # type: ignore[type-var]
        async for found in walk:
            if found is not None and (message := _read(context, found, seen)) is not None:
                yield message


class _Seen:
    """Identities of the newest messages."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}

    def is_new(self, identity: str) -> bool:
        if identity in self._known:
            return False
        self._known[identity] = None
        if len(self._known) > SEEN_MAX:
            del self._known[next(iter(self._known))]
        return True


def _read(context: Context, stored: BusMessage, seen: _Seen) -> Message | None:
    place = parse_subject(stored.subject)
    raw = parse_message(stored.data, place) if place is not None else None
    if raw is None:
        return None
    identity = raw.message_id or (f"sequence {stored.sequence}" if stored.sequence is not None else "")
    if raw.message_type == FORM_A_TYPE:
        identity = raw.envelopes[0].key
    if identity and not seen.is_new(identity):
        return None
    return Message(raw, tuple(envelope_handle(context, envelope) for envelope in raw.envelopes))
