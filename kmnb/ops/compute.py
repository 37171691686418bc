"""Run, compile and check programs over artifacts; what ``ws.run``, ``ws.validate`` and ``ws.verify`` do.

``run(context, code, …)`` materialises the referenced artifacts, runs the program in the sandbox, stores the files
that it left in ``$KMNB_OUTPUT`` and a stdout that was too large for the message, and keeps the program's text under
its digest, so that ``verify`` can run it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from kmnb.core.bounds import OUTPUT_MAX_BYTES, RUN_SECONDS
from kmnb.core.outcome import Outcome
from kmnb.core.receipt import Receipt
from kmnb.errors import AlreadyExists, ArtifactNotFound, BadRequest
from kmnb.ops.materialise import Item, Manifest, materialise
from kmnb.sandbox import Verdict, run_async, validate_async


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


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a receipt still holds."""

    status: Literal["verified", "differs", "cannot-verify"]
    """``cannot-verify`` when the program or an artifact is gone: never taken for verified."""
    reason: str
    """What was compared, or what is missing."""


async def run(
    context: ComputeContext,
    code: str,
    *,
    language: str = "python",
    artifacts: Sequence[Any] | None = None,
    timeout_seconds: float = RUN_SECONDS,
    max_output_bytes: int = OUTPUT_MAX_BYTES,
    required_level: int = 2,
    limits: Mapping[str, Any] | None = None,
) -> Outcome:
    """Run a program over artifacts.

    Args:
        context: The workspace's context.
        code: The program.
        language: ``python`` or ``bash``.
        artifacts: References to what it may read; None is the open turn's, an empty list is nothing.
        timeout_seconds: Wall-clock limit of the program.
        max_output_bytes: Bytes kept of stdout and of stderr each.
        required_level: Isolation below which it is not run.
        limits: Further limits of the run by name.

    Returns:
        What it gave; ``artifacts`` holds handles of what it left behind.

    Raises:
        ArtifactNotFound: A reference names nothing.
        SandboxUnavailable: That isolation is not to be had here.
    """
    turn = context.turn_manifest() if artifacts is None else None
    with tempfile.TemporaryDirectory(prefix="kmnb-compute-", ignore_cleanup_errors=True) as base:
        os.chmod(base, 0o711)  # noqa: S103 - a run with a user of its own must pass through
        manifest = turn or await _materialised(context, artifacts or (), Path(base) / "artifacts")
        output = Path(base) / "output"
        os.mkdir(output)
        outcome = await run_async(
            code,
            language=language,
            timeout_seconds=timeout_seconds,
            artifacts_folder=manifest.folder if manifest.entries else None,
            max_output_bytes=max_output_bytes,
            required_level=required_level,
            output_folder=output,
            artifacts=manifest.facts(),
            limits=limits,
        )
        with contextlib.suppress(AlreadyExists):
            await context.put_program(_digest(outcome), code.encode())
        return replace(outcome, artifacts=await _keep_outputs(context, outcome, output))


async def validate(code: str, *, language: str = "python") -> Verdict:
    """Compile a program without running it; see :func:`kmnb.sandbox.validate`."""
    return await validate_async(code, language=language)


async def verify(context: ComputeContext, receipt: Any, *, required_level: int = 2) -> Verification:
    """Run the program of a receipt again over the same bytes and compare.

    Args:
        context: The workspace's context.
        receipt: A receipt, a dict, or JSON text.
        required_level: Isolation below which it is not run.

    Returns:
        ``verified`` only when the same program over the same digests gave the same stdout and exit code.

    Raises:
        BadRequest: The receipt is none, or was changed.
    """
    known = Receipt.from_value(receipt)
    try:
        code = (await context.get_program(known.program_digest)).decode("utf-8")
        items = [await context.resolve(one["key"]) for one in known.artifacts]
    except ArtifactNotFound as gone:
        return Verification("cannot-verify", str(gone))
    changed = [
        one["key"] for one, (_, info) in zip(known.artifacts, items, strict=True) if info.digest != one["digest"]
    ]
    if changed:
        return Verification("cannot-verify", f"{changed[0]!r} holds other bytes now")
    limits = dict(known.limits)
    again = await run(
        context,
        code,
        language=known.language,
        artifacts=[one["key"] for one in known.artifacts],
        timeout_seconds=limits.pop("timeout_seconds", RUN_SECONDS),
        max_output_bytes=limits.pop("output_bytes", OUTPUT_MAX_BYTES),
        required_level=required_level,
        limits=limits,
    )
    fresh = again.receipt
    if fresh is None or fresh.program_digest != known.program_digest:
        raise BadRequest("this receipt", "its program is not the one that is stored")
    if (fresh.stdout_digest, fresh.exit_code) == (known.stdout_digest, known.exit_code):
        return Verification("verified", "the same program over the same bytes gave the same output")
    return Verification("differs", f"exit code {fresh.exit_code}, stdout {fresh.stdout_digest}")


async def _materialised(context: ComputeContext, references: Sequence[Any], folder: Path) -> Manifest:
    return await materialise([await context.resolve(one) for one in references], folder)


async def _keep_outputs(context: ComputeContext, outcome: Outcome, output: Path) -> tuple[Any, ...]:
    """Store what the run left, with its lineage."""
    receipt = outcome.receipt
    sources = sorted(str(one["digest"]) for one in receipt.artifacts) if receipt else []
    lineage = {"source_run": receipt.digest if receipt else "", "source_digests": ",".join(sources)}
    handles = []
    for path in sorted(await asyncio.to_thread(lambda: [one for one in output.rglob("*") if one.is_file()])):
        handles.append(await context.keep_file(path.relative_to(output).as_posix(), path, lineage))
    await asyncio.to_thread(shutil.rmtree, output, ignore_errors=True)
    return tuple(handles)


def _digest(outcome: Outcome) -> str:
    return outcome.receipt.program_digest if outcome.receipt else ""
