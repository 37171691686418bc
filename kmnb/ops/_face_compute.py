"""The part of a workspace that runs programs over artifacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kmnb._bridge import blocking, bridged
from kmnb.core.bounds import CODE_MAX_BYTES, OUTPUT_MAX_BYTES, RUN_SECONDS
from kmnb.core.keys import join_key
from kmnb.ops.artifacts import get_artifact
from kmnb.ops.context import Context
from kmnb.ops.threads import touch_thread

if TYPE_CHECKING:
    from kmnb.core.outcome import Outcome
    from kmnb.ops.compute import Verification
    from kmnb.ops.handle import Artifact
    from kmnb.ops.materialise import Item, Manifest
    from kmnb.ops.turn import Turn
    from kmnb.sandbox import Verdict

PROGRAMS = "programs"
"""Agent segment of stored programs."""


class _Runs:
    """What a workspace offers to runs; see ``compute.ComputeContext``."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def resolve(self, reference: Any) -> Item:
        """Find the area and the facts of what a reference names."""
        return await (await get_artifact(self._context, reference)).locate()

    def turn_manifest(self) -> Manifest | None:
        """Tell what the innermost open turn materialised."""
        turns = self._context.live.turns
        return turns[-1].manifest if turns else None

    async def keep_file(self, name: str, path: Path, attributes: Mapping[str, str]) -> Artifact:
        """Store a file that a run left as an artifact of the tool ``run``."""
        from kmnb.ops.content import read_content
        from kmnb.ops.spill import Origin, put_result

        names = self._context.names
        content = await read_content(path, media_type=None, inline_max_bytes=0)
        origin = Origin("run", names.agent, names.thread, filename=name, further=attributes)
        return await put_result(self._context, content, origin=origin)

    async def put_program(self, digest: str, text: bytes) -> None:
        """Store a program under its digest in the thread."""
        await touch_thread(self._context, self._context.names.thread)
        told = {"content-type": "text/plain", "tool": "program"}
        await self._context.backend.discussions.put(self._program(digest), text, create_only=True, attributes=told)

    async def get_program(self, digest: str) -> bytes:
        """Read a program back."""
        from kmnb.ops.whole import read_whole

        return await read_whole(self._context.backend.discussions, self._program(digest), max_bytes=CODE_MAX_BYTES)

    def _program(self, digest: str) -> str:
        names = self._context.names
        return join_key(names.namespace, names.crew, names.thread, PROGRAMS, digest.replace(":", "-"))


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

        Returns:
            What it gave. A program that fails is an Outcome too.

        Raises:
            ArtifactNotFound: A reference names nothing.
            SandboxUnavailable: That isolation is not to be had here.
        """
        from kmnb.ops import compute

        return await compute.run(
            _Runs(self.context),
            code,
            language=language,
            artifacts=artifacts,
            timeout_seconds=timeout_seconds,
            max_output_bytes=max_output_bytes,
            required_level=required_level,
            limits=limits,
        )

    async def _run_cell(
        self,
        code: str,
        *,
        language: str = "python",
        artifacts: Sequence[Any] | None = None,
        session: str | None = None,
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

        return await compute.run_cell(
            _Runs(self.context),
            code,
            language=language,
            artifacts=artifacts,
            session=session,
            timeout_seconds=timeout_seconds,
            max_output_bytes=max_output_bytes,
            required_level=required_level,
            on_output=on_output,
            mimes=mimes,
        )

    async def _close_session(self, name: str) -> bool:
        """End a session of cells with its kernel; tells whether there was one."""
        from kmnb.ops import compute

        return await compute.close_session(name)

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
            ``status`` is ``verified``, ``differs`` or ``cannot-verify``, with a reason.

        Raises:
            BadRequest: It is no receipt, or was changed.
        """
        from kmnb.ops import compute

        return await compute.verify(_Runs(self.context), receipt, required_level=required_level)

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
