"""The part of a workspace that runs programs over artifacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kmnb._bridge import blocking, bridged
from kmnb.core.bounds import CODE_MAX_BYTES, OUTPUT_MAX_BYTES, RUN_SECONDS
from kmnb.ops.context import Context
from kmnb.ops.threads import touch_thread

if TYPE_CHECKING:
    from kmnb.core.answers import Answer
    from kmnb.core.outcome import Outcome
    from kmnb.ops.citing import Evidence
    from kmnb.ops.handle import Artifact
    from kmnb.ops.materialise import Item, Manifest
    from kmnb.ops.turn import Turn
    from kmnb.ops.verifying import Verification
    from kmnb.sandbox import Verdict


class _Runs:
    """What a workspace offers to runs; see ``compute.ComputeContext``.

    Args:
        context: The workspace.
        verified: What is run again, which leaves nothing in the store.
    """

    def __init__(self, context: Context, verified: Evidence | None = None) -> None:
        self._context, self._verified = context, verified

    async def resolve(self, reference: Any) -> Item:
        """Find the area and the facts of what a reference names."""
        from kmnb.ops.citing import locate

        return await locate(self._context, reference)

    def turn_manifest(self) -> Manifest | None:
        """Tell what the innermost open turn materialised."""
        turns = self._context.live.turns
        return turns[-1].manifest if turns else None

    def owner(self) -> str:
        """Tell whose sessions the workspace's are, and have them ended with it."""
        live = self._context.live
        if not live.closers:
            from kmnb.ops.compute import close_sessions

            live.closers.append(partial(close_sessions, live.identity))
        return live.identity

    async def keep_file(self, name: str, path: Path, attributes: Mapping[str, str]) -> Artifact | None:
        """Store a file that a run left as an artifact of the tool ``run``."""
        if self._verified is not None:
            return None
        from kmnb.ops.content import read_content
        from kmnb.ops.spill import Origin, put_result

        names = self._context.names
        content = await read_content(path, media_type=None, inline_max_bytes=0)
        origin = Origin("run", names.agent, names.thread, filename=name, further=attributes)
        return await put_result(self._context, content, origin=origin)

    async def put_program(self, digest: str, text: bytes) -> None:
        """Store a program under its digest in the thread."""
        from kmnb.ops.citing import program_key

        if self._verified is not None:
            return
        await touch_thread(self._context, self._context.names.thread)
        told, key = {"content-type": "text/plain", "tool": "program"}, program_key(self._context, digest)
        await self._context.backend.discussions.put(key, text, create_only=True, attributes=told)

    async def get_program(self, digest: str) -> bytes:
        """Read a program back."""
        from kmnb.ops.citing import find_program
        from kmnb.ops.whole import read_whole

        near = [key for key, _ in self._verified.artifacts] if self._verified is not None else []
        area, info = await find_program(self._context, digest, near=near)
        return await read_whole(area, info.key, max_bytes=CODE_MAX_BYTES)


class ComputeFace:
    """Run, validate and verify programs; open turns."""

    context: Context

    async def _run(
        self,
        code: str,
        *,
        language: str = "python",
        artifacts: Sequence[Any] | None = None,
        timeout_seconds: float = RUN_SECONDS,
        max_output_bytes: int = OUTPUT_MAX_BYTES,
        required_level: int = 2,
        limits: Mapping[str, Any] | None = None,
        remote: str | None = None,
    ) -> Outcome:
        """Run a program over artifacts in the sandbox.

        Args:
            code: The program.
            language: ``python`` or ``bash``.
            artifacts: References to what it may read; None is the open turn's, an empty list is nothing.
            timeout_seconds: Wall-clock limit of the program.
            max_output_bytes: Bytes kept of stdout and of stderr each.
            required_level: Isolation below which it is not run.
            limits: Further limits of the run by name.
            remote: Address of a kernel gateway that runs it instead; needs ``required_level=0``. Its token is read from
                ``KMNB_REMOTE_TOKEN``.

        Returns:
            What it gave. A program that fails is an Outcome too.

        Raises:
            ArtifactNotFound: A reference names nothing.
            SandboxUnavailable: That isolation is not to be had here.
        """
        from kmnb.ops import compute
        from kmnb.ops._asked import Asked

        asked = Asked(
            language=language,
            timeout_seconds=timeout_seconds,
            max_output_bytes=max_output_bytes,
            required_level=required_level,
            limits=limits,
            remote=remote,
        )
        return await compute.run(_Runs(self.context), code, asked, artifacts=artifacts)

    async def _run_cell(
        self,
        code: str,
        *,
        language: str = "python",
        artifacts: Sequence[Any] | None = None,
        session: str | None = None,
        remote: str | None = None,
        timeout_seconds: float = RUN_SECONDS,
        max_output_bytes: int = OUTPUT_MAX_BYTES,
        required_level: int = 2,
        on_output: Callable[[str, str], None] | None = None,
        mimes: Sequence[str] = ("text/plain",),
    ) -> Outcome:
        """Run a cell over artifacts as ``%%compute`` does: Python in a fresh isolated kernel, or in a session's.

        Args:
            code: The cell.
            language: ``python`` or ``bash``.
            artifacts: References to what it may read; None is the open turn's, an empty list is nothing.
            session: Name of the session whose kernel is kept; None is a fresh one.
            remote: Address of a kernel gateway that runs it instead; needs ``required_level=0``. Its token is read from
                ``KMNB_REMOTE_TOKEN``.
            timeout_seconds: Wall-clock limit of the cell.
            max_output_bytes: Bytes kept of stdout and of stderr each.
            required_level: Isolation below which it is not run.
            on_output: Called with ``stdout`` or ``stderr`` and a piece of text as it comes, on kmnb's own thread.
            mimes: Types of rich results that pass into ``displays`` of the Outcome.

        Returns:
            What it gave; the value of the last expression stands in ``stdout`` as text.

        Raises:
            ArtifactNotFound: A reference names nothing.
            SandboxUnavailable: That isolation, or a kernel, is not to be had here.
        """
        from kmnb.ops import compute
        from kmnb.ops._asked import Asked

        asked = Asked(
            language=language,
            timeout_seconds=timeout_seconds,
            max_output_bytes=max_output_bytes,
            required_level=required_level,
            session=session,
            remote=remote,
            on_output=on_output,
            mimes=mimes,
        )
        return await compute.run_cell(_Runs(self.context), code, asked, artifacts=artifacts)

    async def _close_session(self, name: str) -> bool:
        """End a session of this workspace's cells with its kernel; tells whether there was one.

        Closing the workspace ends all of them.
        """
        from kmnb.ops import compute

        return await compute.close_session(_Runs(self.context), name)

    async def _validate(self, code: str, language: str = "python") -> Verdict:
        """Compile a program without running it.

        Args:
            code: The program.
            language: ``python`` or ``bash``.
        """
        from kmnb.ops import compute

        return await compute.validate(code, language=language)

    async def _verify(self, receipt: Any, *, required_level: int = 2) -> Verification:
        """Run the program of a receipt again over the same bytes and compare.

        Args:
            receipt: A receipt, its dict or its JSON.
            required_level: Isolation below which it is not run.

        Returns:
            ``status`` is ``verified``, ``differs`` or ``cannot-verify``, with a reason. Whatever keeps the program from
            being run again, a damaged artifact or a refusing sandbox too, is ``cannot-verify``.

        Raises:
            BadRequest: It is no receipt, or was changed.
        """
        from kmnb.core.receipt import Receipt
        from kmnb.ops.citing import evidence_of
        from kmnb.ops.verifying import verify

        known = Receipt.from_value(receipt)
        return await verify(_Runs(self.context, evidence_of(known)), known, required_level=required_level)

    async def _cite(self, receipt: Any, *, seconds: float | None = None) -> Answer:
        """Hold what a receipt stands on: its artifacts, the program's text, and the receipt itself.

        ``publish`` does it for the Outcome that it publishes.

        Args:
            receipt: An Outcome, a Slice, or the receipt of one, also as a dict or as JSON.
            seconds: How long; the setting ``hold_seconds``. A hold that lasts longer already is not made shorter.

        Returns:
            A table of the holds; walking it gives each :class:`~kmnb.ops.holds.Hold`.

        Raises:
            ArtifactNotFound: A part of it is gone; nothing is held.
            BadRequest: It is no receipt, or an artifact holds other bytes now.
        """
        from kmnb.core.answers import table
        from kmnb.ops.citing import cite

        held = await cite(self.context, receipt, seconds=seconds)
        rows = [(hold.key, hold.until.isoformat(timespec="seconds"), hold.by, hold.reason) for hold in held]
        return table(f"{len(held)} things are held as evidence", ("key", "until", "by", "reason"), rows, items=held)

    def turn(self, things: Any) -> Turn:
        """Materialise exactly the artifacts of some messages or envelopes while a ``with`` block runs.

        Args:
            things: Messages, spills, envelopes, handles, keys or marker texts; one of them or several.
        """
        from kmnb.ops.turn import Turn

        return Turn(self.context, things)

    run_cell, run_cell_async = blocking(_run_cell), bridged(_run_cell)
    close_session, close_session_async = blocking(_close_session), bridged(_close_session)
    run, run_async = blocking(_run), bridged(_run)
    validate, validate_async = blocking(_validate), bridged(_validate)
    verify, verify_async = blocking(_verify), bridged(_verify)
    cite, cite_async = blocking(_cite), bridged(_cite)
