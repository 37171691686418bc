"""The part of a workspace that talks on the bus."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from kmnb._bridge import blocking, blocking_iter, bridged, bridged_iter
from kmnb.core.subjects import BROADCAST
from kmnb.ops import bus
from kmnb.ops.bus import Message
from kmnb.ops.context import Context


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
        return await bus.publish(self.context, thing, text, message_type=message_type, channel=channel)

    def _discussion(self, thread: str | None = None, *, follow: bool = False) -> AsyncIterator[Message]:
        """Walk the messages of a discussion, oldest first, with handles of what they refer to.

        Args:
            thread: The thread; the workspace's own.
            follow: Whether to wait for further messages after the stored ones, without end.

        Raises:
            NotSupported: The store has no bus.
        """
        return bus.discussion(self.context, thread, follow=follow)

    publish, publish_async = blocking(_publish), bridged(_publish)
    discussion, discussion_async = blocking_iter(_discussion), bridged_iter(_discussion)
