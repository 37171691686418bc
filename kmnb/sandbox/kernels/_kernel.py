"""One isolated kernel: forked ready from a spawner, with one client and a folder for artifacts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kmnb.errors import SandboxUnavailable
from kmnb.sandbox._collect import Taken, collect
from kmnb.sandbox._host import Answer, Host
from kmnb.sandbox._limits import Limits
from kmnb.sandbox._supervise import take_output
from kmnb.sandbox._threads import in_thread
from kmnb.sandbox.kernels._client import CellClient

PORTS = {"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5}
"""Endings of the names of a kernel's sockets."""


Ended = tuple[dict[str, Any], tuple[str, ...]]
"""How a kernel ended, and remarks about files that were not taken."""


@dataclass(slots=True)
class Kernel:
    """A kernel that waits for cells."""

    host: Host
    """The spawner that forked it."""
    number: int
    """Its number there."""
    ended: Answer
    """Tells when and how it ended."""
    folder: str
    """Its folder on the host."""
    artifacts: Path
    """What appears in it as ``/artifacts``, or as ``$KMNB_ARTIFACTS``."""
    client: CellClient
    """Talks to it."""
    limits: Limits
    """Its limits."""
    cells: int = 0
    """Cells that it has run."""
    shown: dict[tuple[Any, Any], Mapping[str, Any]] = field(default_factory=dict)
    """Facts of all artifacts that its cells could read, by key and digest."""
    taken: Taken = field(default_factory=dict)
    """Files in its ``$KMNB_OUTPUT`` that earlier cells left."""
    ending: asyncio.Task[Ended] | None = None
    """Ends it, once; so that nothing is taken from it twice, and nothing left when a caller goes away."""

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return not self.ended.done()

    def note(self, artifacts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Note what a cell may read, and tell what all cells could: what one read, the next ones may still know."""
        self.shown.update({(one.get("key"), one.get("digest")): one for one in artifacts})
        return list(self.shown.values())

    def interrupt(self) -> None:
        """Send it what Ctrl-C sends."""
        self.host.signal(self.number, 2)

    async def take_files(self, output: Path | None) -> tuple[str, ...]:
        """Copy what a cell left in ``$KMNB_OUTPUT``, or changed there, while the kernel lives on.

        Args:
            output: Folder that receives it; None takes nothing.

        Returns:
            Remarks about files that were not taken.
        """
        if output is None:
            return ()
        _, answer = self.host.submit({"op": "output", "of": self.number})
        _, descriptors = await answer
        try:
            if not descriptors:
                return ()
            return await in_thread(collect, descriptors[0], output, self.limits, taken=self.taken, alive=True)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    async def end(self, reason: str, output: Path | None = None) -> Ended:
        """End it, take its output folder, and leave nothing.

        Args:
            reason: Why.
            output: Folder that receives what it left in ``$KMNB_OUTPUT``; None takes nothing.

        Returns:
            How it ended, and remarks about files that were not taken.
        """
        if self.ending is None:
            self.ending = asyncio.get_running_loop().create_task(self._end(reason, output))
        return await asyncio.shield(self.ending)

    async def _end(self, reason: str, output: Path | None) -> Ended:
        self.client.close()
        if self.alive:
            self.host.end(self.number, reason)
        try:
            try:
                message, descriptors = await self.ended
            except SandboxUnavailable:
                # The spawner is gone, and all of its runs with it.
                return {"status": -9, "reason": reason, "cpu": 0.0}, ()
            notes = await take_output(
                self.host, message, descriptors, output=output, limits=self.limits, taken=self.taken
            )
            return message, notes
        finally:
            await in_thread(shutil.rmtree, self.artifacts, ignore_errors=True)


async def start_kernel(host: Host, limits: Limits) -> Kernel:
    """Fork a kernel and wait until it answers.

    Raises:
        SandboxUnavailable: It could not be started.
    """
    await host.start()
    artifacts = Path(tempfile.mkdtemp(prefix=f"kmnb-cell-{os.getpid()}-", dir=short_parent()))
    try:
        return await _start(host, limits, artifacts)
    except BaseException:
        shutil.rmtree(artifacts, ignore_errors=True)
        raise


async def _start(host: Host, limits: Limits, artifacts: Path) -> Kernel:
    os.chmod(artifacts, 0o755)  # noqa: S103 - a kernel with a user of its own reads it
    key = secrets.token_hex(16)
    connection = {**PORTS, "key": key, "signature_scheme": "hmac-sha256", "kernel_name": "kmnb-sandbox"}
    message = {
        "op": "run", "mode": "kernel", "filename": "", "command": None, "limits": limits.as_dict(), "output": True,
        "artifacts": str(artifacts), "parent": short_parent(), "facts": {"connection": connection},
    }  # fmt: skip
    number, ended, folder = await submit_kernel(host, message)
    client = CellClient({**connection, "transport": "ipc", "ip": os.path.join(folder, "k", "s")})
    kernel = Kernel(host, number, ended, folder, artifacts, client, limits)
    try:
        await _until_ready(kernel)
    except BaseException:
        await kernel.end("setup")
        raise
    return kernel


async def submit_kernel(host: Host, message: dict[str, Any]) -> tuple[int, Answer, str]:
    """Have a kernel started, with its standard streams at nothing.

    Returns:
        Its number, what tells its end, and its folder on the host.

    Raises:
        SandboxUnavailable: It could not be started.
    """
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        number, ended = host.submit(message, [null, null, null])
    finally:
        os.close(null)
    begun = host.begun[number] = asyncio.get_running_loop().create_future()
    try:
        folder = await begun
    except BaseException:
        # The answer stays awaited by the host, which lets go of what comes with it.
        ended.cancel()
        host.end(number, "setup")
        raise
    if folder is None:
        raise SandboxUnavailable("this kernel", "has no folder for its sockets")
    return number, ended, folder


async def _until_ready(kernel: Kernel) -> None:
    ready = asyncio.ensure_future(kernel.client.ready())
    try:
        waiting: set[asyncio.Future[Any]] = {ready, kernel.ended}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done() or ready.exception() is not None:
            raise SandboxUnavailable("this kernel", "did not answer", "See kmnb.sandbox.doctor().")
    finally:
        ready.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await ready


def short_parent() -> str:
    """Where kernels' folders are made: the path of a Unix socket holds 107 bytes, a temporary folder's may be long."""
    return "/tmp" if os.access("/tmp", os.W_OK | os.X_OK) else tempfile.gettempdir()  # noqa: S108


def show_artifacts(source: Path | None, target: Path) -> None:
    """Make a folder hold exactly the files of another one, without copying where both lie on one file system.

    Args:
        source: Folder of materialised artifacts; None for nothing.
        target: The folder that a kernel sees.
    """
    for entry in list(target.iterdir()):
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    if source is not None:
        # Symbolic links stay links: what they lead to was not meant to be shown, and cannot be reached from inside.
        shutil.copytree(source, target, symlinks=True, copy_function=_link, dirs_exist_ok=True)
        for folder, _, _ in os.walk(target):
            os.chmod(folder, 0o755)  # noqa: S103 - as above


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copyfile(source, target)
        os.chmod(target, 0o444)
