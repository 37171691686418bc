"""What a worker is told to run."""

from __future__ import annotations

import json
import os

from kmnb.sandbox.inner import messages
from kmnb.sandbox.inner.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SOCKETS = "k"
"""Folder of a kernel's folder that holds its sockets, which the server connects to."""


@record(slots=True)
class Job:
    """One program with everything around it."""

    source: bytes
    """The program's text."""
    filename: str
    """Name of the file that holds it in the run's folder."""
    command: list[str] | None
    """What is executed in that folder; None is this interpreter, already running."""
    mode: str
    """``run``, ``check`` (compile only), ``self-test``, ``kernel``, or ``command`` (the command as it stands)."""
    limits: dict[str, Any]
    """Limits by name."""
    stdout: int
    """Descriptor that takes its output."""
    stderr: int
    """Descriptor that takes its errors."""
    folder: str | None = None
    """The run's folder on the host, where there is one."""
    sockets: str | None = None
    """Folder on the host that a kernel's sockets are made in; None is one in its own folder."""
    artifacts: str | None = None
    """Folder that it may read."""
    output: bool = False
    """Whether what it leaves in ``$KMNB_OUTPUT`` is wanted."""
    reads: list[str] = field(default_factory=list)
    """Further paths that it may read: packages that were asked for."""
    library: list[str] = field(default_factory=list)
    """Further folders of ``sys.path``."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What the self-test has to try; a kernel's connection; a command's further variables."""

    @property
    def is_kernel(self) -> bool:
        """Whether it waits for a client on Unix sockets."""
        return self.mode in ("kernel", "command")

    @classmethod
    def take(cls, message: dict[str, Any], descriptors: list[int]) -> Job:
        """Read a job from a message; the source comes as a file."""
        code, stdout, stderr = descriptors
        known = {name: message[name] for name in cls.__annotations__ if name in message}
        return cls(**known, source=messages.read_all(code), stdout=stdout, stderr=stderr)

    def socket_folder(self) -> str:
        """Folder on the host that a kernel's sockets are made in."""
        return self.sockets or os.path.join(self.folder or "", SOCKETS)

    def text(self, sockets: str) -> bytes:
        """Give what stands in the program's file: its source, or a connection for a kernel that is executed."""
        if self.mode != "command":
            return self.source
        address = {"transport": "ipc", "ip": os.path.join(sockets, "s")}
        return json.dumps(self.facts["connection"] | address).encode()

    def variables(self, home: str, artifacts: str | None, search: str) -> dict[str, str]:
        """Build the program's environment from nothing."""
        found = {
            "PATH": search,
            "HOME": home,
            "TMPDIR": home,
            "PWD": home,
            "LANG": "C.UTF-8",
            # Each arena of the C library takes address space that the limit counts.
            "MALLOC_ARENA_MAX": "2",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
        }
        if artifacts is not None:
            found["KMNB_ARTIFACTS"] = artifacts
        if self.output:
            found["KMNB_OUTPUT"] = os.path.join(home, "out")
        found |= self.facts.get("variables", {})
        if self.library:
            found |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        return found
