"""One worker as the spawner sees it: from its fork to the moment when nothing of it is left."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import time
from collections.abc import Callable

from kmnb.sandbox.inner.folders import make_folder
from kmnb.sandbox.inner.job import SOCKETS
from kmnb.sandbox.inner.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol
else:
    Protocol = object

SETUP_SECONDS = 10.0
"""Longest time from handing a job out to its program's start."""


class Become(BaseException):
    """Unwinds a fresh child to the top of the stack, where its worker's life begins."""

    def __init__(self, life: Callable[[], None]) -> None:
        self.life = life


class Engine(Protocol):
    """A way of isolating."""

    contained: bool
    """Whether one process's end ends them all."""

    @property
    def name(self) -> str:
        """Its name in Outcomes."""

    def fork(self) -> int:
        """Make a fresh child: 0 in it, else its number. Raises OSError where that is refused."""

    def work(self, sock: socket.socket, user: int | None) -> None:
        """Prepare in a fresh child, wait for a job, and become its program. Never returns."""


@record(slots=True)
class Run:
    """A worker, and the job that it has or is waiting for."""

    sock: socket.socket
    """Our end of its socket."""
    engine: Engine
    """What isolates it."""
    user: int | None
    """Its own user, where the spawner is root."""
    child: int
    """The child that was forked, and that stands for all: the namespaces' init, or the leader of the group."""
    leads: bool = False
    """Whether it is that already: a child without namespaces has to begin its group first."""
    number: int | None = None
    """The server's number of the job; None while it waits for one."""
    limits: dict[str, Any] = field(default_factory=dict)
    """The job's limits."""
    folder: str | None = None
    """The run's folder on the host."""
    sockets: str | None = None
    """Folder of its sockets, where that outlives it."""
    output: int | None = None
    """Descriptor of what it leaves in ``$KMNB_OUTPUT``."""
    program: int | None = None
    """Descriptor of the program's process, where it is not the one that stands for all."""
    endless: bool = False
    """Whether the server keeps the time, since it serves one request after the other."""
    shared_before: int = 0
    """Bytes of memory that processes of the machine shared when the job was handed out."""
    is_set: bool = False
    """Whether all that stands around the program is in place; until then its process may be hidden."""
    hidden: bool = False
    """Whether one of its processes was hidden at the last look."""
    given_at: float = 0.0
    """When the job was handed out, by the monotonic clock."""
    started_at: float | None = None
    """When its program began."""
    ended_at: float | None = None
    """When it was seen to have ended, or was ended."""
    status: int | None = None
    """Exit code of the program, or minus its signal."""
    cpu: float = 0.0
    """Processor seconds that the program took, with those of its children that it waited for."""
    reason: str | None = None
    """Why it was ended by force."""
    error: str | None = None
    """Why its program could not be started."""
    gone: bool = False
    """Whether the process that stands for all was waited for."""

    def deadline(self) -> float:
        """When it is to be ended, by the monotonic clock."""
        if self.started_at is None:
            return self.given_at + SETUP_SECONDS
        if self.endless:
            return math.inf
        return float(self.started_at + self.limits["timeout_seconds"])

    def end(self, reason: str) -> None:
        """Kill everything that belongs to it, for this reason."""
        if self.reason is None and self.status is None:
            self.reason = reason
        self.ended_at = self.ended_at or time.monotonic()
        self.kill()

    def kill(self) -> bool:
        """Send SIGKILL to all of it, and tell whether anything was there to take it."""
        if self.gone and self.engine.contained:
            return False
        try:
            if self.engine.contained or not self.leads:
                os.kill(self.child, signal.SIGKILL)
            else:
                os.killpg(self.child, signal.SIGKILL)
        except ProcessLookupError:
            return False
        except PermissionError:
            # Only zombies are left that changed their user; they take no signals any more.
            return False
        return True

    def make_folder(self, message: dict[str, Any]) -> None:
        """Make the run's folder on the host, with the folders in it that the job needs."""
        self.folder = make_folder(f"kmnb-run-{os.getpid()}-", message["parent"])
        folders = [self.folder]
        if self.endless:
            folders.append(os.path.join(self.folder, SOCKETS))
        if message["output"] and not self.engine.contained:
            folders.append(os.path.join(self.folder, "out"))
        for folder in folders[1:]:
            os.mkdir(folder, 0o700)
        if message["output"] and not self.engine.contained:
            self.output = os.open(folders[-1], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.sockets = message.get("sockets")
        if self.user is not None:
            for folder in (*folders, *([self.sockets] if self.sockets else [])):
                os.chown(folder, self.user, self.user)

    def signal(self, number: int) -> None:
        """Send a signal to the program alone."""
        with contextlib.suppress(ProcessLookupError):
            if self.program is not None:
                signal.pidfd_send_signal(self.program, number)
            elif self.leads and not self.gone and not self.engine.contained:
                os.kill(self.child, number)

    def told(self) -> dict[str, Any]:
        """What the server is told of its end. Only the setting up can tell an error, the program has no way to."""
        begin = self.started_at if self.started_at is not None else self.given_at
        return {
            "op": "ended",
            "id": self.number,
            "status": self.status,
            "reason": self.reason,
            "error": self.error,
            "cpu": self.cpu,
            "folder": self.folder if self.output is not None else None,
            "seconds": (self.ended_at or begin) - begin,
        }

    def close(self) -> None:
        """Close what the spawner holds of it."""
        self.sock.close()
        for descriptor in (self.output, self.program):
            if descriptor is not None:
                os.close(descriptor)
        self.output = self.program = None
