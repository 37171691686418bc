"""Make the Outcome of a finished run, with its receipt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kmnb.core.outcome import By, Outcome, Reason
from kmnb.core.receipt import Receipt, digest_of, listed_numbers
from kmnb.sandbox._limits import Limits
from kmnb.sandbox._output import Keeper


@dataclass(frozen=True, slots=True)
class Isolation:
    """What stood around a run."""

    level: int
    """3 to 0."""
    engine: str
    """``ns``, ``bwrap``, ``flat`` or ``plain``."""
    layers: Mapping[str, str] = field(default_factory=dict)
    """What stood in the way of what."""
    missing: tuple[str, ...] = ()
    """Guarantees that were not there, each with its reason."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a program ended."""

    exit_code: int
    """As the Outcome tells it."""
    reason: Reason
    """Why."""
    seconds: float
    """Wall-clock seconds that it ran."""
    reason_by: By = "supervisor"
    """Who says so."""


Facts = tuple[Mapping[str, Any], ...]
"""Artifacts as receipts list them."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a run could read."""

    artifacts: Facts = ()
    """What its receipt names."""
    unopened: Facts = ()
    """What it could have opened and did not."""
    are: str = "mounted"
    """``opened`` or ``mounted``."""


@dataclass(frozen=True, slots=True)
class Finished:
    """What came of a run."""

    ending: Ending
    """How it ended."""
    outputs: tuple[Keeper, Keeper]
    """What it printed."""
    notes: tuple[str, ...] = ()
    """Remarks."""
    displays: tuple[Mapping[str, str], ...] = ()
    """Rich results by type."""


def make_outcome(
    code: str,
    finished: Finished,
    *,
    language: str,
    interpreter: str,
    limits: Limits,
    isolation: Isolation,
    inputs: Inputs,
    session: str = "",
) -> Outcome:
    """Put together what a run gave; the receipt covers the kept stdout."""
    ending, outputs = finished.ending, finished.outputs
    (stdout, bad), (stderr, more) = outputs[0].text(), outputs[1].text()
    truncated = outputs[0].truncated or outputs[1].truncated
    numbers, complete = listed_numbers(stdout)
    receipt = Receipt(
        program_digest=digest_of(code),
        language=language,
        interpreter=interpreter,
        artifacts=inputs.artifacts,
        artifacts_are=inputs.are,
        unopened=inputs.unopened,
        limits=limits.as_dict(),
        exit_code=ending.exit_code,
        reason=ending.reason,
        reason_by=ending.reason_by,
        layers=dict(isolation.layers),
        missing=isolation.missing,
        stdout_digest=digest_of(stdout),
        truncated=outputs[0].truncated,
        numbers=numbers,
        numbers_complete=complete,
        session=session,
        level=isolation.level,
        engine=isolation.engine,
    )
    return Outcome(
        stdout=stdout,
        stderr=stderr,
        exit_code=ending.exit_code,
        timed_out=ending.reason == "timeout",
        truncated=truncated,
        seconds=round(ending.seconds, 4),
        reason=ending.reason,
        reason_by=ending.reason_by,
        layers=dict(isolation.layers),
        missing=isolation.missing,
        stdout_bytes=outputs[0].written,
        stderr_bytes=outputs[1].written,
        replaced=bad + more,
        notes=finished.notes,
        displays=finished.displays,
        receipt=receipt,
        level=isolation.level,
        engine=isolation.engine,
    )
