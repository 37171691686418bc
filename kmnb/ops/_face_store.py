"""The part of a workspace that stores, finds and deletes discussion artifacts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from kmnb._bridge import blocking, blocking_iter, bridged, bridged_iter
from kmnb.core.bounds import LISTED_AT_ONCE
from kmnb.ops.artifacts import delete_artifact, get_artifact, list_artifacts
from kmnb.ops.context import Context
from kmnb.ops.handle import Artifact

if TYPE_CHECKING:
    from kmnb.ops.spill import Origin, Spill


class StoreFace:
    """Spill, put, get, list and delete."""

    context: Context

    async def _spill(
        self,
        data: Any,
        *,
        tool: str,
        agent: str | None = None,
        thread: str | None = None,
        media_type: str | None = None,
        exit_code: int | None = None,
        stderr: str = "",
        arguments: Any = None,
    ) -> Spill:
        """Store a tool's result when it is too large for a message; text up to 4,096 UTF-8 bytes stays inline.

        Args:
            data: Text, bytes, None (nothing), a JSON value, a table, a path, a file, or an iterator of bytes or text.
            tool: The tool that made it.
            agent: The agent that ran the tool; the workspace's own.
            thread: The discussion; the workspace's own.
            media_type: MIME type, where the producer knows it.
            exit_code: Exit code of the producing program; another one than 0 marks the result as incomplete.
            stderr: What the program wrote to stderr; the last 2 KiB travel along.
            arguments: Arguments of the tool's call; only their digest is kept.

        Returns:
            The message to publish, and the handle of what was stored, None when it stayed inline.

        Raises:
            BadRequest: The data cannot be stored as it is.
            ThreadClosed: The thread was closed.
            StoreError: It could not be stored; it is never cut into the message instead.
        """
        from kmnb.ops.spill import spill

        origin = self._origin(tool, agent, thread, exit_code=exit_code, stderr=stderr, arguments=arguments)
        return await spill(self.context, data, origin=origin, media_type=media_type)

    async def _put(
        self,
        data: Any,
        *,
        tool: str,
        agent: str | None = None,
        thread: str | None = None,
        media_type: str | None = None,
        exit_code: int | None = None,
        stderr: str = "",
        arguments: Any = None,
        progress: Any = None,
    ) -> Artifact:
        """Store a tool's result whatever its size; see :meth:`spill` for the arguments.

        Args:
            data: As for :meth:`spill`.
            tool: The tool that made it.
            agent: The agent that ran the tool.
            thread: The discussion.
            media_type: MIME type.
            exit_code: Exit code of the producing program.
            stderr: What it wrote to stderr.
            arguments: Arguments of the tool's call.
            progress: Called with bytes done and, where known, bytes in all.

        Raises:
            BadRequest: The data cannot be stored as it is.
            ThreadClosed: The thread was closed.
            StoreError: It could not be stored.
        """
        from kmnb.ops.content import read_content
        from kmnb.ops.spill import put_result

        origin = self._origin(tool, agent, thread, exit_code=exit_code, stderr=stderr, arguments=arguments)
        content = await read_content(data, media_type=media_type, inline_max_bytes=0)
        return await put_result(self.context, content, origin=origin, progress=progress)

    def _origin(self, tool: str, agent: str | None, thread: str | None, **facts: Any) -> Origin:
        from kmnb.ops.spill import Origin

        names = self.context.names
        return Origin(
            tool, agent if agent is not None else names.agent, thread if thread is not None else names.thread, **facts
        )

    async def _get(self, reference: Any) -> Artifact:
        """Get a handle.

        Args:
            reference: A key or an ``artifact://`` URI, which cost one call; an envelope as dict or JSON, marker text
                or a handle, which cost none.

        Raises:
            ArtifactNotFound: The key or URI names nothing.
            EnvelopeError: It is no reference.
        """
        return await get_artifact(self.context, reference)

    def _list(self, prefix: str = "") -> AsyncIterator[Artifact]:
        """Walk handles, sorted by key, reading the listing as they are asked for.

        Args:
            prefix: Whole segments from the top, trailing slash optional; empty for the workspace's own thread.
        """
        return list_artifacts(self.context, prefix)

    async def _delete(self, reference: Any) -> None:
        """Delete what a reference names; silent when it is not there.

        Args:
            reference: A key, a URI, an envelope or a handle.

        Raises:
            EnvelopeError: It is no reference.
        """
        await delete_artifact(self.context, reference)

    spill, spill_async = blocking(_spill), bridged(_spill)
    put, put_async = blocking(_put), bridged(_put)
    get, get_async = blocking(_get), bridged(_get)
    list, list_async = blocking_iter(_list, LISTED_AT_ONCE), bridged_iter(_list, LISTED_AT_ONCE)
    delete, delete_async = blocking(_delete), bridged(_delete)
