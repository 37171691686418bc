"""The server's side of the spawner: start it, hand out runs, take their output, start another when it dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kmnb._bridge import on_exit
from kmnb.errors import SandboxUnavailable
from kmnb.sandbox._receipts import Isolation
from kmnb.sandbox.inner import messages

END_SECONDS = 0.8
"""How long the spawner may take to end everything, before it is killed; less than what is left at exit."""
START_SECONDS = 20.0
"""Longest time that the spawner may take to judge its engines."""
AT_ONCE = max(4, 2 * (os.cpu_count() or 1))
"""Runs at the same time; the rest wait for their turn."""
ENGINES = ("ns", "flat", "plain")
"""Ways of isolating, strongest first."""
Answer = asyncio.Future[tuple[dict[str, Any], list[int]]]
"""What the spawner says to a request, with the descriptors that came along."""
_BOOT = "'kmnb-pool'; import sys; sys.path.insert(0, {home!r}); from kmnb.sandbox.inner.main import main; main()"


@dataclass(slots=True)
class Host:
    """One spawner, kept alive for one server process.

    All methods run on kmnb's own loop.
    """

    engines: Sequence[str] = ENGINES
    """Engines that may be used, in order."""
    landlock_abi: int | None = None
    """Keep to this version of Landlock, as if the kernel had no later one."""
    prepare: bool = True
    """Whether one isolated worker is kept ready for the next run."""
    kernel: bool = False
    """Whether it forks Jupyter kernels."""
    reads: Sequence[str] = ()
    """Further paths that every run may read."""
    library: Sequence[str] = ()
    """Further folders of every run's ``sys.path``."""
    isolation: Isolation | None = None
    """What runs get; None before the first start."""
    guarantees: frozenset[str] = frozenset()
    """Guarantees that were tried and held, by the names of the attack probes."""
    own_user: bool = False
    """Whether runs meet this machine's folders as a user of their own, with no more rights than everybody."""
    sees_descriptors: bool = True
    """Whether files without a name can be counted; else runs may hold fewer open."""
    interpreter: str = ""
    """Implementation and version of Python inside."""
    _process: subprocess.Popen[bytes] | None = None
    _control: socket.socket | None = None
    _waiting: dict[int, Answer] = field(default_factory=dict)
    begun: dict[int, asyncio.Future[str | None]] = field(default_factory=dict)
    """For requests by number: tells the run's folder once its program runs."""
    _groups: dict[int, int] = field(default_factory=dict)
    _launching: asyncio.Task[None] | None = None
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    """Lets so many runs through at once."""
    _count: int = 0

    async def start(self) -> Isolation:
        """Have a spawner running, and tell what isolation it gives.

        Raises:
            SandboxUnavailable: It cannot be started, or no engine works.
        """
        launching = self._launching
        if launching is None or (launching.done() and (self._process is None or self._process.poll() is not None)):
            # A task of its own: who waits for it may be cancelled, the spawner then begins all the same.
            launching = self._launching = asyncio.get_running_loop().create_task(self._launch())
            launching.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(launching)
        assert self.isolation is not None
        return self.isolation

    async def _launch(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        home = str(Path(__file__).parents[2])
        options = {
            "home": home, "control": theirs.fileno(), "server": os.getpid(), "engines": list(self.engines),
            "landlock_abi": self.landlock_abi, "kernel": self.kernel, "prepare": self.prepare,
            "reads": list(self.reads),
            "library": list(self.library),
        }  # fmt: skip
        flags = ["-I", "-S", "-u", *(["-B"] if sys.dont_write_bytecode else [])]
        command = [_interpreter(), *flags, "-c", _BOOT.format(home=home), json.dumps(options)]
        try:
            self._process = await asyncio.to_thread(self._popen, command, theirs.fileno())
        except OSError as error:
            ours.close()
            raise SandboxUnavailable("the spawner", f"cannot be started ({error})") from error
        finally:
            theirs.close()
        ours.setblocking(False)
        self._control = ours
        hello = asyncio.get_running_loop().create_future()
        self._waiting[0] = hello
        asyncio.get_running_loop().add_reader(ours, self._hear)
        on_exit(self.close)
        try:
            message, _ = await asyncio.wait_for(hello, START_SECONDS)
        except TimeoutError:
            await self.close()
            raise SandboxUnavailable("the spawner", f"did not answer in {START_SECONDS:.0f} s") from None
        if message["level"] < 0:
            await self.close()
            raise SandboxUnavailable("the sandbox", "; ".join(message["missing"]))
        self._understand(message)

    @staticmethod
    def _popen(command: list[str], control: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - this interpreter
            command,
            env={"LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "2"},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[control],
            start_new_session=True,
        )

    def _understand(self, message: dict[str, Any]) -> None:
        self.isolation = Isolation(
            message["level"], message["engine"], dict(message["layers"]), tuple(message["missing"])
        )
        self.guarantees = frozenset(message["guarantees"])
        self.interpreter = message["interpreter"]
        self.own_user, self.sees_descriptors = message["own_user"], message["sees_descriptors"]

    def _hear(self) -> None:
        """Take what the spawner says; called by the loop."""
        assert self._control is not None
        while True:
            try:
                told = messages.receive(self._control)
            except BlockingIOError:
                return
            if told is None:
                self._lost()
                return
            message, descriptors = told
            number = 0 if message["op"] == "hello" else message["id"]
            if message["op"] == "started":
                if message["group"]:
                    self._groups[number] = message["group"]
                begun = self.begun.pop(number, None)
                if begun is not None and not begun.done():
                    begun.set_result(message["folder"])
                continue
            self._groups.pop(number, None)
            begun = self.begun.pop(number, None)
            if begun is not None and not begun.done():
                begun.set_exception(SandboxUnavailable("this run", message.get("error") or "ended before it began"))
            waiting = self._waiting.pop(number, None)
            if waiting is not None and not waiting.done():
                waiting.set_result((message, descriptors))
            else:
                self._let_go(message, descriptors)

    def _let_go(self, message: dict[str, Any], descriptors: list[int]) -> None:
        """Deal with an answer that nobody waits for any more."""
        for descriptor in descriptors:
            os.close(descriptor)
        if message.get("folder"):
            with contextlib.suppress(SandboxUnavailable):
                self.submit({"op": "release", "folder": message["folder"]})

    def _lost(self) -> None:
        """The spawner is gone: end what it can no longer end, and fail what waits for it."""
        assert self._control is not None
        asyncio.get_running_loop().remove_reader(self._control)
        self._control.close()
        for group in self._groups.values():
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
        self._groups.clear()
        self._fail_waiting()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._control = None

    def _fail_waiting(self) -> None:
        gone = SandboxUnavailable("the spawner", "ended", "Run the program again.")
        everyone: list[asyncio.Future[Any]] = [*self._waiting.values(), *self.begun.values()]
        for waiting in everyone:
            if not waiting.done():
                waiting.set_exception(gone)
                # Nobody may be waiting any more, which is no fault.
                waiting.exception()
        self._waiting.clear()
        self.begun.clear()

    def submit(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> tuple[int, Answer]:
        """Send a request to a spawner that runs.

        Args:
            message: What is asked.
            descriptors: Files that go with it; they stay the caller's.

        Returns:
            The request's number, and its answer to wait for.

        Raises:
            SandboxUnavailable: The spawner is gone.
        """
        self._count += 1
        number = self._count
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            if self._control is None:
                raise BrokenPipeError
            messages.send(self._control, message | {"id": number}, descriptors)
        except OSError as error:
            del self._waiting[number]
            raise SandboxUnavailable("the spawner", f"takes no request ({error})", "Try again.") from error
        return number, answer

    def end(self, number: int, reason: str) -> None:
        """Have a run ended."""
        if self._control is not None:
            with contextlib.suppress(OSError):
                messages.send(self._control, {"op": "end", "of": number, "reason": reason})

    def signal(self, number: int, signal_number: int) -> None:
        """Send a signal to a run's program."""
        if self._control is not None:
            with contextlib.suppress(OSError):
                messages.send(self._control, {"op": "signal", "of": number, "signal": signal_number})

    async def close(self) -> None:
        """Let the spawner end everything and go."""
        process, control = self._process, self._control
        self._process = self._control = None
        if control is not None:
            asyncio.get_running_loop().remove_reader(control)
            control.close()
        if process is not None:
            await _wait_or_kill(process)
        self._fail_waiting()


def _interpreter() -> str:
    """The interpreter below any virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


async def _wait_or_kill(process: subprocess.Popen[bytes]) -> None:
    # No helper thread can be had any more when the interpreter ends, so the loop itself watches.
    if hasattr(os, "pidfd_open") and process.poll() is None:
        loop, descriptor = asyncio.get_running_loop(), os.pidfd_open(process.pid)
        ended = asyncio.Event()
        loop.add_reader(descriptor, ended.set)
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), END_SECONDS)
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
    if process.poll() is None:
        process.kill()
        process.wait()
