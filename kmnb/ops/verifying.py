"""Whether a receipt still holds: its program is run again over the same bytes; what ``ws.verify`` does.

============== ==========================================================================================
verified       the same program over the same bytes gave the same output, exit code and numbers
differs        it gave others, or read other artifacts than the receipt says
cannot-verify  it was not run again, or what it gave proves nothing: see the reasons below
============== ==========================================================================================

A receipt that is none, or that was changed after it was made, is refused (``BadRequest``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kmnb.core.bounds import OUTPUT_MAX_BYTES, RUN_SECONDS
from kmnb.core.display import Card
from kmnb.core.numbers import Number, find_numbers
from kmnb.core.outcome import Outcome
from kmnb.core.receipt import Receipt, digest_of
from kmnb.core.shown import Shown
from kmnb.errors import ArtifactNotFound, BadRequest, BoundExceeded, SandboxUnavailable, StoreError
from kmnb.ops._asked import Asked
from kmnb.ops.compute import ComputeContext, run, run_cell
from kmnb.ops.whole import digest_of_object
from kmnb.sandbox._arguments import check_level_asked

ENDED_ITSELF = ("exit", "signal")
"""Reasons of an end that is the program's own; where a limit ends it, it stands elsewhere each time."""


@dataclass(frozen=True, slots=True)
class Verification(Shown):
    """Whether a receipt still holds."""

    status: Literal["verified", "differs", "cannot-verify"]
    """``cannot-verify`` whenever nothing was compared, or what was compared proves nothing."""
    reason: str
    """What was compared, or what is missing."""

    def card(self) -> Card:
        """Status and reason."""
        return Card(f"{self.status} · {self.reason}")


async def verify(context: ComputeContext, receipt: Any, *, required_level: int = 2) -> Verification:
    """Run the program of a receipt again over the same bytes and compare.

    Args:
        context: The workspace's context.
        receipt: A receipt, a dict, or JSON text.
        required_level: Isolation below which it is not run.

    Returns:
        ``verified`` only when the same program over the same digests gave the same stdout and exit code. Whatever keeps
        it from being run is ``cannot-verify``: a program or an artifact that is gone, expired, damaged or another one
        by now, a store that does not answer, a sandbox that does not isolate so well, a remote kernel, a session.

    Raises:
        BadRequest: The receipt is none, or was changed.
    """
    check_level_asked(required_level)
    known = Receipt.from_value(receipt)
    if known.engine == "gateway":
        return Verification("cannot-verify", "it ran on a remote kernel, which is not known any more")
    if known.session:
        return Verification("cannot-verify", f"it ran in the session {known.session!a:.300}, whose state is not kept")
    try:
        return await _verified(context, known, required_level)
    except (ArtifactNotFound, BadRequest, BoundExceeded, SandboxUnavailable, StoreError) as error:
        return Verification("cannot-verify", str(error))


async def _verified(context: ComputeContext, known: Receipt, required_level: int) -> Verification:
    raw = await context.get_program(known.program_digest)
    if digest_of(raw) != known.program_digest:
        return Verification("cannot-verify", "the text that is stored as its program is another one, or damaged")
    for one in _readable(known):
        area, info = await context.resolve(one["key"])
        if await digest_of_object(area, info) != one.get("digest"):
            return Verification("cannot-verify", f"artifact {one['key']!a:.1000} holds other bytes now")
    again = await _again(context, raw.decode("utf-8"), known, required_level=required_level)
    assert again.receipt is not None
    return _compared(known, again.receipt, again.stdout)


def _compared(known: Receipt, fresh: Receipt, stdout: str) -> Verification:
    """Judge a receipt by that of the same program, run again, and by what it printed."""
    other = (
        f"{known.interpreter} ran it then, {fresh.interpreter} now" if fresh.interpreter != known.interpreter else ""
    )
    if (fresh.stdout_digest, fresh.exit_code) != (known.stdout_digest, known.exit_code):
        limits = [one.reason for one in (known, fresh) if one.reason not in ENDED_ITSELF]
        if limits:
            return Verification("cannot-verify", f"a limit ended it: {limits[0]}; what it gave until then differs")
        if other:
            return Verification("cannot-verify", f"its output differs, and {other}")
        return Verification("differs", f"exit code {fresh.exit_code}, stdout {fresh.stdout_digest}")
    if (fresh.numbers, fresh.truncated) != (known.numbers, known.truncated):
        return _read_otherwise(known, fresh, stdout)
    if known.artifacts_are == fresh.artifacts_are == "opened" and _digests(known) - _digests(fresh):
        return Verification("differs", "it names artifacts that the program does not open")
    return Verification(
        "verified", "the same program over the same bytes gave the same output" + (other and f"; {other}")
    )


def _read_otherwise(known: Receipt, fresh: Receipt, stdout: str) -> Verification:
    """Judge a receipt that lists other numbers of the same output."""
    odd = [one for one in known.numbers if one not in set(fresh.numbers)]
    if fresh.truncated != known.truncated or not all(_stands(one, stdout) for one in odd):
        # Whoever writes a receipt can list other numbers than were printed, beside the right digest.
        return Verification("differs", "the numbers that it lists are not those of the output")
    read = f"{odd[0].text!a:.100} as {odd[0].value:.100} {odd[0].unit:.40}".rstrip() if odd else "fewer numbers"
    return Verification("cannot-verify", f"the same output, of which another version of kmnb read {read}")


def _stands(one: Number, stdout: str) -> bool:
    """Tell whether a number stands in an output where a receipt says, whole, even if it is read otherwise by now."""
    if not 0 <= one.start < one.end <= len(stdout):
        return False
    around = stdout[max(0, one.start - 1) : one.start] + stdout[one.end : one.end + 1]
    alone = find_numbers(one.text, most=1)
    same = stdout[one.start : one.end] == one.text and stdout.count("\n", 0, one.start) == one.line - 1
    return same and [each.value for each in alone] == [one.value] and not any(each.isdigit() for each in around)


def _digests(receipt: Receipt) -> set[Any]:
    return {one.get("digest") for one in receipt.artifacts}


def _readable(known: Receipt) -> tuple[Mapping[str, Any], ...]:
    """All that a run could see: also what it did not open, since it may have listed the names."""
    return (*known.artifacts, *known.unopened)


async def _again(context: ComputeContext, code: str, known: Receipt, *, required_level: int) -> Outcome:
    """Run a receipt's program as it was run, in a kernel or as a program."""
    limits = dict(known.limits)
    artifacts = [one["key"] for one in _readable(known)]
    asked = Asked(
        language=known.language,
        timeout_seconds=limits.pop("timeout_seconds", RUN_SECONDS),
        max_output_bytes=limits.pop("output_bytes", OUTPUT_MAX_BYTES),
        required_level=required_level,
        limits=limits,
    )
    again = run_cell if str(known.interpreter).endswith(", ipykernel") else run
    return await again(context, code, asked, artifacts=artifacts)
