"""The public functions of the sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from kmnb._bridge import blocking, bridged
from kmnb.core.bounds import OUTPUT_MAX_BYTES, RUN_SECONDS
from kmnb.core.outcome import Outcome
from kmnb.errors import BadRequest, SandboxUnavailable
from kmnb.sandbox import _plain
from kmnb.sandbox._limits import Limits, check_code
from kmnb.sandbox._receipts import Isolation, make_outcome, python_version

LANGUAGES = ("bash", "python")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a program can be compiled."""

    valid: bool
    """Whether its syntax is right."""
    errors: str
    """What is wrong with it; empty when nothing is."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the sandbox can do on this machine."""

    level: int
    """Isolation that runs get: 3 to 0."""
    engine: str
    """How it is made."""
    layers: Mapping[str, str]
    """What stands in the way of what."""
    missing: tuple[str, ...]
    """Guarantees that runs do not have here, each with its reason."""


async def _run(
    code: str,
    *,
    language: str = "python",
    timeout_seconds: float = RUN_SECONDS,
    artifacts_folder: str | PathLike[str] | None = None,
    run_parent: str | PathLike[str] | None = None,
    max_output_bytes: int = OUTPUT_MAX_BYTES,
    required_level: int = 2,
    output_folder: str | PathLike[str] | None = None,
    artifacts: Sequence[Mapping[str, Any]] | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Outcome:
    """Run a program without stdin, credentials, network or leftovers.

    Args:
        code: Its text, at most 1 MiB of UTF-8.
        language: ``python`` (standard library only) or ``bash``.
        timeout_seconds: Wall-clock limit; above 0, at most 300.
        artifacts_folder: A folder that it may read, as ``$KMNB_ARTIFACTS`` and at level 3 as ``/artifacts``.
        run_parent: Where its own folder is made; None is the system's temporary folder.
        max_output_bytes: Bytes kept of stdout and of stderr each.
        required_level: Isolation below which it is not run.
        output_folder: An empty folder that receives what the program leaves in ``$KMNB_OUTPUT``.
        artifacts: Facts (``key``, ``digest``, ``size``) of what is in the folder, for the receipt.
        limits: Further limits by name, see ``kmnb.sandbox._limits.Limits``.

    Returns:
        What it gave, also when it failed.

    Raises:
        BadRequest: An argument that cannot be meant.
        SandboxUnavailable: Isolation of that level is not to be had here; the message names the missing layers.
    """
    known = Limits.of(timeout_seconds, max_output_bytes, limits)
    source = check_code(code)
    _check_language(language)
    _check_level(_plain.ISOLATION, required_level)
    ending, outputs = await _plain.run_plain(
        source,
        language,
        known,
        artifacts=_folder(artifacts_folder),
        parent=_folder(run_parent),
        output=_folder(output_folder),
    )
    return make_outcome(
        code,
        ending,
        language=language,
        interpreter=python_version(),
        limits=known,
        isolation=_plain.ISOLATION,
        outputs=outputs,
        artifacts=artifacts or (),
        artifacts_are="mounted",
    )


async def _validate(code: str, *, language: str = "python") -> Verdict:
    """Compile a program without running it.

    Args:
        code: Its text.
        language: ``python`` or ``bash``.

    Returns:
        Whether its syntax is right, and what is wrong with it.
    """
    source = check_code(code)
    _check_language(language)
    if language == "python":
        probe = f"import sys\ncompile({source.decode()!r}, 'main.py', 'exec', dont_inherit=True)\n"
    else:
        probe = f"import subprocess, sys\nsys.exit(subprocess.run(['bash', '-n', '-c', {code!r}]).returncode)\n"
    ending, outputs = await _plain.run_plain(
        probe.encode(), "python", Limits(timeout_seconds=5), artifacts=None, parent=None, output=None
    )
    return Verdict(ending.exit_code == 0, outputs[1].text()[0])


def doctor() -> Report:
    """Tell what the sandbox can do here, and why it cannot do the rest."""
    one = _plain.ISOLATION
    return Report(one.level, one.engine, one.layers, one.missing)


async def doctor_async() -> Report:
    """Coroutine twin of :func:`doctor`."""
    return doctor()


def _folder(path: str | PathLike[str] | None) -> Path | None:
    if path is None:
        return None
    folder = Path(path).absolute()
    if not folder.is_dir():
        raise BadRequest(f"folder {str(folder)!r}", "is not there")
    return folder


def _check_language(language: Any) -> None:
    if language not in LANGUAGES:
        raise BadRequest(f"language {language!r}", "is unsupported", f"Use one of: {', '.join(LANGUAGES)}.")


def _check_level(isolation: Isolation, required: int) -> None:
    if isolation.level < required:
        raise SandboxUnavailable(
            f"level {required}",
            f"this machine gives level {isolation.level}; missing: {'; '.join(isolation.missing)}",
            f"Pass required_level={isolation.level} to run all the same.",
            level=isolation.level,
        )


run = blocking(_run)
run_async = bridged(_run)
validate = blocking(_validate)
validate_async = bridged(_validate)
