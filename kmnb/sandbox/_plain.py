"""Level 0: a process group in a folder of its own, with an empty environment."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from kmnb.core.outcome import Reason
from kmnb.sandbox._limits import Limits
from kmnb.sandbox._output import Keeper
from kmnb.sandbox._receipts import Ending, Isolation

MISSING = tuple(f"{what}: isolation is not on" for what in ("network", "files", "processes", "memory"))
ISOLATION = Isolation(0, "plain", {"environment": "emptied", "deadline": "process group"}, MISSING)


def command(language: str, folder: Path) -> list[str]:
    """Give the command line that runs ``main`` in a folder."""
    if language == "python":
        return [sys.executable, "-I", "-S", "-B", "-u", str(folder / "main.py")]
    return ["bash", "--norc", "--noprofile", str(folder / "main.sh")]


async def run_plain(
    source: bytes, language: str, limits: Limits, *, artifacts: Path | None, parent: Path | None, output: Path | None
) -> tuple[Ending, tuple[Keeper, Keeper]]:
    """Run a program and kill its process group at the end or at the deadline."""
    folder = Path(tempfile.mkdtemp(prefix="kmnb-run-", dir=parent))
    try:
        (folder / ("main.py" if language == "python" else "main.sh")).write_bytes(source)
        variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
        variables |= dict.fromkeys(("HOME", "TMPDIR"), str(folder))
        if artifacts is not None:
            variables["KMNB_ARTIFACTS"] = str(artifacts)
        if output is not None:
            variables["KMNB_OUTPUT"] = str(output)
        return await _supervise(command(language, folder), folder, variables, limits)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _supervise(
    argv: list[str], folder: Path, variables: dict[str, str], limits: Limits
) -> tuple[Ending, tuple[Keeper, Keeper]]:
    started = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=folder,
        env=variables,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    outputs = Keeper(limits.output_bytes), Keeper(limits.output_bytes)
    drains = [
        asyncio.ensure_future(_drain(pipe, keeper))
        for pipe, keeper in zip((process.stdout, process.stderr), outputs, strict=True)
    ]
    reason: Reason = "exit"
    try:
        await asyncio.wait_for(process.wait(), limits.timeout_seconds)
    except TimeoutError:
        reason = "timeout"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    code = await process.wait()
    await asyncio.wait(drains, timeout=0.25)
    for drain in drains:
        drain.cancel()
    if reason == "exit" and code < 0:
        reason = "signal"
    return Ending(-1 if reason == "timeout" else code, reason, time.monotonic() - started), outputs


async def _drain(pipe: asyncio.StreamReader | None, keeper: Keeper) -> None:
    while pipe is not None and (block := await pipe.read(65_536)):
        keeper.feed(block)
