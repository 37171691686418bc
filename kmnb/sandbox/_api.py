"""The public functions of the sandbox."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from kmnb._bridge import blocking, bridge, bridged
from kmnb._bridge import run as bridge_run
from kmnb.core.bounds import OUTPUT_MAX_BYTES, RUN_SECONDS
from kmnb.core.outcome import Outcome
from kmnb.errors import BadRequest, SandboxUnavailable
from kmnb.sandbox._arguments import (
    Listener,
    check_facts,
    check_folder,
    check_level_asked,
    check_names,
    check_shown_folder,
)
from kmnb.sandbox._host import Host
from kmnb.sandbox._languages import Language, find_language
from kmnb.sandbox._limits import Limits, check_code, within_sight
from kmnb.sandbox._observe import Observer
from kmnb.sandbox._packages import package_paths
from kmnb.sandbox._pipes import Output
from kmnb.sandbox._receipts import Isolation, make_outcome
from kmnb.sandbox._supervise import Program, supervise

LEVEL_MAX = 3
"""Strongest isolation that there is."""
VALIDATE_SECONDS = 5.0
"""Deadline of a compilation: a hostile text can keep a parser busy."""
_NAMED = re.compile(r"(?<![\w.])/artifacts(?:/|[\"'\s]|$)")


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
    packages: Sequence[str] = (),
    on_output: Output | None = None,
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
        packages: Installed packages that a Python program may import besides the standard library.
        on_output: Called with ``stdout`` or ``stderr`` and each piece of text as it comes, on kmnb's own thread.

    Returns:
        What it gave, also when it failed.

    Raises:
        BadRequest: An argument that cannot be meant.
        SandboxUnavailable: Isolation of that level is not to be had here; the message names the missing layers.
    """
    known = Limits.of(timeout_seconds, max_output_bytes, limits)
    source, kind, heard = check_code(code), find_language(language), Listener(on_output)
    folder, facts = check_shown_folder("artifacts_folder", artifacts_folder), check_facts(artifacts)
    parent, output = check_folder("run_parent", run_parent), check_folder("output_folder", output_folder)
    names = check_names("packages", packages, example='["pandas"]')
    host, isolation = await _admitted(code, folder, required_level)
    known = within_sight(known, host.sees_descriptors)
    reads, library = await asyncio.to_thread(package_paths, names) if names else ((), ())
    program = Program(source, kind, artifacts=folder, parent=parent, output=output, reads=reads, library=library)
    with Observer(folder, facts) as observer:
        finished = await supervise(host, program, known, on_output=heard if on_output is not None else None)
    return make_outcome(
        code,
        replace(finished, notes=(*finished.notes, *heard.notes)),
        language=language,
        interpreter=await interpreter_of(host, kind),
        limits=known,
        isolation=isolation,
        inputs=observer.inputs(),
    )


async def _admitted(code: str, folder: Path | None, required_level: int) -> tuple[Host, Isolation]:
    """Give the spawner and its isolation, when that is enough and the program will find its artifacts there."""
    host = default_host()
    isolation = await host.start()
    check_level(isolation, required_level)
    check_paths(code, isolation, folder)
    if host.own_user:
        check_reachable(folder)
    return host, isolation


async def _validate(code: str, *, language: str = "python") -> Verdict:
    """Compile a program without running it.

    Args:
        code: Its text.
        language: ``python`` or ``bash``.

    Returns:
        Whether its syntax is right, and what is wrong with it.
    """
    program = Program(check_code(code), find_language(language), mode="check")
    host = default_host()
    await host.start()
    finished = await supervise(host, program, Limits(timeout_seconds=VALIDATE_SECONDS))
    if finished.ending.exit_code == 0:
        return Verdict(True, "")
    complaint = finished.outputs[1].text()[0].strip()
    return Verdict(
        False, complaint or f"the compiler ended with {finished.ending.exit_code} ({finished.ending.reason})"
    )


async def _doctor() -> Report:
    """Tell what the sandbox can do here, and why it cannot do the rest."""
    try:
        one = await default_host().start()
    except SandboxUnavailable as error:
        return Report(-1, "none", {}, (str(error),))
    return Report(one.level, one.engine, one.layers, one.missing)


def check_level(isolation: Isolation, required: int) -> None:
    """Refuse a run below the level that it asks for.

    Raises:
        BadRequest: It is no level.
        SandboxUnavailable: With every missing layer named.
    """
    if isolation.level < check_level_asked(required):
        missing = "; ".join(isolation.missing) or f"a level above {LEVEL_MAX}"
        raise SandboxUnavailable(
            f"isolation of level {required}",
            f"this machine gives level {isolation.level}; missing: {missing}",
            f"Pass required_level={max(isolation.level, 0)} to run all the same.",
            level=isolation.level,
            missing=isolation.missing,
        )


def check_paths(code: str, isolation: Isolation, folder: Path | None) -> None:
    """Tell before the run when a program names ``/artifacts`` and will not find it.

    Raises:
        BadRequest: With the way out.
    """
    if isolation.level >= 3 or folder == Path("/artifacts") or not _NAMED.search(code):
        return
    step = "Open files below os.environ['KMNB_ARTIFACTS'] ($KMNB_ARTIFACTS in bash): the same layout."
    raise BadRequest("/artifacts", f"cannot be provided at isolation level {isolation.level}", step)


def check_reachable(folder: Path | None) -> None:
    """Tell before the run when its own user cannot get to the artifacts.

    Raises:
        BadRequest: With the folder that stands in the way.
    """
    for one in (folder, *folder.parents) if folder is not None else ():
        if not one.stat().st_mode & 0o001:
            step = f"Let others pass: chmod o+x {one}"
            raise BadRequest(f"folder {str(folder)!r}", f"cannot be reached by the run's own user through {one}", step)


@cache
def default_host() -> Host:
    """The process's own spawner."""
    return Host()


os.register_at_fork(after_in_child=default_host.cache_clear)


async def interpreter_of(host: Host, language: Language) -> str:
    """Name the interpreter and its version, as receipts do."""
    if language.command is None:
        return host.interpreter
    return await asyncio.to_thread(_version, language)


@cache
def _version(language: Language) -> str:
    try:
        answer = subprocess.run(language.version, capture_output=True, timeout=5, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return language.name
    return answer.stdout.decode("utf-8", "replace").partition("\n")[0].strip()


run = blocking(_run)
run_async = bridged(_run)
validate = blocking(_validate)
validate_async = bridged(_validate)


def doctor() -> Report:
    """Tell what the sandbox can do here, and why it cannot do the rest."""
    return bridge_run(_doctor())


async def doctor_async() -> Report:
    """Coroutine twin of :func:`doctor`, safe to await on any loop."""
    return await bridge(_doctor())
