"""Run and compile programs over artifacts; what ``ws.run``, ``ws.run_cell`` and ``ws.validate`` do.

``run(context, code, …)`` materialises the referenced artifacts, runs the program in the sandbox, stores the files
that it left in ``$KMNB_OUTPUT`` and a stdout that was too large for the message, and keeps the program's text under
its digest, so that ``verify`` can run it again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from kmnb._bridge import bridge
from kmnb.core.bounds import INLINE_MAX_BYTES
from kmnb.core.outcome import Outcome
from kmnb.errors import AlreadyExists, BadRequest, StoreError, shown
from kmnb.ops._asked import Asked
from kmnb.ops.materialise import Item, Manifest, materialise
from kmnb.sandbox import Verdict, run_async, validate_async
from kmnb.sandbox._threads import in_thread

FOLDER_PREFIX = "kmnb-compute-"
"""Beginning of the names of runs' temporary folders; the owner's process id follows."""
STDOUT_NAME = "stdout.txt"
"""Name of the file that a stdout is stored under which is too large for a message."""


class ComputeContext(Protocol):
    """What a workspace's context offers to runs."""

    async def resolve(self, reference: Any) -> Item:
        """Find the area and the facts of what a reference names; raises ArtifactNotFound."""

    def turn_manifest(self) -> Manifest | None:
        """Tell what the open turn materialised; None when no turn is open."""

    async def keep_file(self, name: str, path: Path, attributes: Mapping[str, str]) -> Any:
        """Store a file that a run left as an artifact of the tool ``run`` and give its handle."""

    async def put_program(self, digest: str, text: bytes) -> None:
        """Store a program under its digest in the thread; raises AlreadyExists, which is as good."""

    async def get_program(self, digest: str) -> bytes:
        """Read it back; raises ArtifactNotFound."""

    def owner(self) -> str:
        """Tell whose sessions the workspace's are, and have them ended with it."""


class Once(Protocol):
    """Runs one program over materialised artifacts."""

    async def __call__(self, manifest: Manifest, *, output: Path) -> Outcome:
        """Run it; what it leaves as files goes into the output folder."""


async def run(context: ComputeContext, code: str, asked: Asked, *, artifacts: Sequence[Any] | None = None) -> Outcome:
    """Run a program over artifacts.

    Args:
        context: The workspace's context.
        code: The program.
        asked: How.
        artifacts: References to what it may read; None is the open turn's, an empty list is nothing.

    Returns:
        What it gave; ``artifacts`` holds handles of what it left behind.

    Raises:
        ArtifactNotFound: A reference names nothing.
        SandboxUnavailable: That isolation is not to be had here.
    """
    if asked.remote is not None:
        return await run_cell(context, code, asked, artifacts=artifacts)

    async def once(manifest: Manifest, *, output: Path) -> Outcome:
        further: dict[str, Any] = {"language": asked.language, "limits": asked.limits, "packages": asked.packages}
        return await run_async(code, output_folder=output, **further, **asked.around(manifest))

    return await _around(context, code, artifacts, once=once)


async def run_cell(
    context: ComputeContext, code: str, asked: Asked, *, artifacts: Sequence[Any] | None = None
) -> Outcome:
    """Run a cell over artifacts, as ``%%compute`` does: Python in an isolated kernel, other languages as programs.

    Args:
        context: The workspace's context.
        code: The cell.
        asked: How.
        artifacts: References to what it may read; None is the open turn's, an empty list is nothing.

    Returns:
        What it gave; the value of its last expression stands in ``stdout`` as text.

    Raises:
        BadRequest: A session, or a remote kernel, of a language that has no kernels; a session on a remote kernel.
        ArtifactNotFound: A reference names nothing.
        SandboxUnavailable: No kernel can be had, or not at that level.
    """
    for name, value in (("session", asked.session), ("remote", asked.remote)):
        if value is not None and asked.language != "python":
            why = f"{shown(asked.language)} programs have none"
            raise BadRequest(f"{name} {shown(value)}", why, f"Leave the {name} out.")
    if asked.language != "python":
        return await run(context, code, asked, artifacts=artifacts)
    if asked.session is not None and asked.remote is not None:
        raise BadRequest(f"session {shown(asked.session)}", "a remote kernel keeps none", "Leave one of them out.")
    if asked.remote is not None:
        return await _around(context, code, artifacts, once=partial(_on_gateway, code, asked))
    owner = "" if asked.session is None else context.owner()
    return await _around(context, code, artifacts, once=partial(_in_kernel, code, asked, owner=owner))


async def _in_kernel(code: str, asked: Asked, manifest: Manifest, *, owner: str, output: Path) -> Outcome:
    # The kernels' client imports jupyter_client and zmq; programs need neither.
    from kmnb.sandbox import kernels

    given: dict[str, Any] = {"session": asked.session, "owner": owner, "mimes": asked.mimes, "output_folder": output}
    return await bridge(kernels.run_cell(code, **given, **asked.around(manifest)))


async def _on_gateway(code: str, asked: Asked, manifest: Manifest, *, output: Path) -> Outcome:
    from kmnb.sandbox import kernels

    given: dict[str, Any] = {"url": asked.remote, "mimes": asked.mimes}
    return await bridge(kernels.run_remote(code, **given, **asked.around(manifest)))


async def close_session(context: ComputeContext, name: str) -> bool:
    """End a session of the workspace's cells with its kernel; tells whether there was one."""
    from kmnb.sandbox import kernels

    return await bridge(kernels.close_session(name, owner=context.owner()))


async def close_sessions(owner: str) -> None:
    """End all sessions of a workspace."""
    from kmnb.sandbox import kernels

    await bridge(kernels.close_sessions(owner))


async def _around(
    context: ComputeContext,
    code: str,
    artifacts: Sequence[Any] | None,
    *,
    once: Once,
) -> Outcome:
    """Materialise, run once, store what was left and the program's text."""
    turn = context.turn_manifest() if artifacts is None else None
    with tempfile.TemporaryDirectory(prefix=f"{FOLDER_PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as base:
        os.chmod(base, 0o711)  # noqa: S103 - a run with a user of its own must pass through
        manifest = turn or await _materialised(context, artifacts or (), Path(base) / "artifacts")
        output = Path(base) / "output"
        os.mkdir(output)
        outcome = await once(manifest, output=output)
        notes = list(outcome.notes)
        try:
            await context.put_program(_digest(outcome), code.encode())
        except AlreadyExists:
            pass
        except StoreError as error:
            # The run is done and its numbers stand; only verifying it later is lost.
            notes.append(f"the program was not stored, so this run cannot be verified: {error}")
        kept = await _keep_outputs(context, outcome, output)
        return replace(outcome, artifacts=kept, notes=tuple(notes))


async def validate(code: str, *, language: str = "python") -> Verdict:
    """Compile a program without running it; see :func:`kmnb.sandbox.validate`."""
    return await validate_async(code, language=language)


async def _materialised(context: ComputeContext, references: Sequence[Any], folder: Path) -> Manifest:
    if isinstance(references, str | bytes) or not isinstance(references, Iterable):
        raise BadRequest(f"artifacts {shown(references)}", "is no list", "Give a list of handles or references.")
    return await materialise([await context.resolve(one) for one in references], folder)


async def _keep_outputs(context: ComputeContext, outcome: Outcome, output: Path) -> tuple[Any, ...]:
    """Store what the run left, with its lineage."""
    receipt = outcome.receipt
    sources = sorted(str(one["digest"]) for one in receipt.artifacts) if receipt else []
    lineage = {"source_run": receipt.digest if receipt else "", "source_digests": ",".join(sources)}
    handles = []
    if len(outcome.stdout.encode("utf-8", "replace")) > INLINE_MAX_BYTES:
        await in_thread(_write_stdout, output, outcome.stdout)
    for path in sorted(await in_thread(lambda: [one for one in output.rglob("*") if one.is_file()])):
        handles.append(await context.keep_file(path.relative_to(output).as_posix(), path, lineage))
    await in_thread(shutil.rmtree, output, ignore_errors=True)
    return tuple(handles)


def _write_stdout(output: Path, text: str) -> None:
    """Put a large stdout beside the files that the program left, under a name that none of them has."""
    path = output / STDOUT_NAME
    while path.exists():
        path = path.with_name("_" + path.name)
    path.write_text(text, encoding="utf-8", errors="replace")


def _digest(outcome: Outcome) -> str:
    return outcome.receipt.program_digest if outcome.receipt else ""
