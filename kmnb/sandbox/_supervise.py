"""One run from the server's side: pipes, request, drained output, collected files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kmnb.errors import SandboxUnavailable
from kmnb.sandbox._collect import Taken, collect
from kmnb.sandbox._host import Answer, Host
from kmnb.sandbox._languages import Language
from kmnb.sandbox._limits import Limits
from kmnb.sandbox._pipes import Output, Pipes
from kmnb.sandbox._reasons import exit_code_of, reason_of
from kmnb.sandbox._receipts import Ending, Finished
from kmnb.sandbox._threads import in_thread


@dataclass(frozen=True, slots=True)
class Program:
    """What is to be run, checked."""

    source: bytes
    """Its text."""
    language: Language
    """Its language."""
    mode: str = "run"
    """``run`` or ``check``."""
    artifacts: Path | None = None
    """Folder that it may read."""
    parent: Path | None = None
    """Where its own folder is made; None is the system's temporary folder."""
    output: Path | None = None
    """Folder that receives what it leaves in ``$KMNB_OUTPUT``."""
    reads: Sequence[str] = field(default=())
    """Further paths that it may read."""
    library: Sequence[str] = field(default=())
    """Further folders of ``sys.path``."""

    def message(self, limits: Limits) -> dict[str, Any]:
        """Give the request to the spawner."""
        command = self.language.check if self.mode == "check" else self.language.command
        return {
            "op": "run",
            "mode": self.mode,
            "filename": self.language.filename,
            "command": list(command) if command is not None else None,
            "limits": limits.as_dict(),
            "artifacts": str(self.artifacts) if self.artifacts is not None else None,
            "parent": str(self.parent) if self.parent is not None else None,
            "output": self.output is not None,
            "reads": list(self.reads),
            "library": list(self.library),
        }


async def supervise(host: Host, program: Program, limits: Limits, *, on_output: Output | None = None) -> Finished:
    """Run a program to its end and take all that it gave; ``on_output`` is told of each piece of text as it comes.

    Raises:
        SandboxUnavailable: It could not be started.
    """
    async with host.turns:
        await host.start()
        numbers: list[int] = []
        pipes = Pipes(
            limits.output_bytes,
            most_bytes=limits.written_bytes,
            overflow=lambda: host.end(numbers[0], "output"),
            on_output=on_output,
        )
        code = _file_of(program.source)
        try:
            number, answer = host.submit(program.message(limits), [code, *pipes.writing])
            numbers.append(number)
            pipes.hand_over()
            ended, descriptors = await _answer(host, number, answer)
            await pipes.finish()
        finally:
            os.close(code)
            pipes.close()
        notes = await take_output(host, ended, descriptors, output=program.output, limits=limits)
    if ended["error"] or ended["reason"] == "setup":
        why = ended["error"] or "its program did not start in time"
        raise SandboxUnavailable("this run", why, "See kmnb.sandbox.doctor().")
    used = {"cpu_seconds": ended["cpu"], "cpu_limit": limits.cpu_seconds}
    reason, by = reason_of(exit_code_of(ended), ended["reason"], pipes.keepers[1].text()[0], **used)
    return Finished(Ending(exit_code_of(ended), reason, ended["seconds"], by), pipes.keepers, notes)


async def _answer(host: Host, number: int, answer: Answer) -> tuple[dict[str, Any], list[int]]:
    try:
        return await asyncio.shield(answer)
    except asyncio.CancelledError:
        # The answer stays awaited by the host, which lets go of what comes with it.
        answer.cancel()
        host.end(number, "interrupt")
        raise


async def take_output(
    host: Host,
    ended: dict[str, Any],
    descriptors: list[int],
    *,
    output: Path | None,
    limits: Limits,
    taken: Taken | None = None,
) -> tuple[str, ...]:
    """Copy the output folder, then have it removed."""
    notes: tuple[str, ...] = ()
    try:
        if descriptors and output is not None:
            notes = await in_thread(collect, descriptors[0], output, limits, taken=taken)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
        if ended["folder"]:
            _, released = host.submit({"op": "release", "folder": ended["folder"]})
            await released
    return notes


def _file_of(source: bytes) -> int:
    """Put the program's text into a file without a name; a message would be too small for it."""
    code = os.memfd_create("program", os.MFD_CLOEXEC)
    view = memoryview(source)
    while view:
        view = view[os.write(code, view) :]
    return code
