"""The part of a workspace that talks on the bus."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from kmnb._bridge import blocking, blocking_iter, bridged, bridged_iter
from kmnb.core.subjects import BROADCAST
from kmnb.ops.context import Context
from kmnb.ops.events import Events, OpeningEvents, open_events

if TYPE_CHECKING:
    from kmnb.ops.bus import Message


class BusFace:
    """Publish results, and walk discussions."""

    context: Context

    async def _publish(
        self, thing: Any, text: str | None = None, *, message_type: str = "agree", channel: str = BROADCAST
    ) -> str:
        """Publish a result to its discussion: the reference first, then the message.

        Args:
            thing: A spill, an Outcome, a handle, or text.
            text: What to say beside the reference.
            message_type: The signal.
            channel: The channel.

        Returns:
            The message's id.

        Raises:
            NotSupported: The store has no bus.
            ThreadClosed: The discussion was closed.
        """
        from kmnb.ops import bus

        return await bus.publish(self.context, thing, text, message_type=message_type, channel=channel)

    def _discussion(self, thread: str | None = None, *, follow: bool = False) -> AsyncIterator[Message]:
        """Walk the messages of a discussion, oldest first, with handles of what they refer to.

        Args:
            thread: The thread; the workspace's own.
            follow: Whether to wait for further messages after the stored ones, without end.

        Raises:
            NotSupported: The store has no bus.
        """
        from kmnb.ops import bus

        return bus.discussion(self.context, thread, follow=follow)

    async def _events(self, *, after: str | None = None) -> Events:
        """Follow what happens to artifacts of this session, this user and this crew, from now on, without end.

        Without a bus the events of this process are seen only.

        Args:
            after: Cursor of the last event that was seen: what was missed comes first, where the store keeps it.

        Returns:
            Something to walk with ``for`` or ``async for`` and to close; nothing that happens from now on is missed.
        """
        return await open_events(self.context, after)

    events = blocking(_events)

    def events_async(self, *, after: str | None = None) -> OpeningEvents:
        """Twin of :meth:`events`, safe on any loop: to await, or to walk with ``async for`` as it stands."""
        return OpeningEvents(self.context, after)

    publish, publish_async = blocking(_publish), bridged(_publish)
    discussion, discussion_async = blocking_iter(_discussion), bridged_iter(_discussion)
