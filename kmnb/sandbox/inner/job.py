"""What a worker is told to run."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from kmnb.sandbox.inner import messages


@dataclass(slots=True)
class Job:
    """One program with everything around it."""

    source: bytes
    """The program's text."""
    filename: str
    """Name of the file that holds it in the run's folder."""
    command: list[str] | None
    """What is executed in that folder; None is this interpreter, already running."""
    mode: str
    """``run``, ``check`` (compile only) or ``self-test``."""
    limits: dict[str, Any]
    """Limits by name."""
    stdout: int
    """Descriptor that takes its output."""
    stderr: int
    """Descriptor that takes its errors."""
    folder: str | None = None
    """The run's folder on the host, where there is one."""
    artifacts: str | None = None
    """Folder that it may read."""
    output: bool = False
    """Whether what it leaves in ``$KMNB_OUTPUT`` is wanted."""
    reads: list[str] = field(default_factory=list)
    """Further paths that it may read: packages that were asked for."""
    library: list[str] = field(default_factory=list)
    """Further folders of ``sys.path``."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What the self-test has to try."""

    @classmethod
    def take(cls, message: dict[str, Any], descriptors: list[int]) -> Job:
        """Read a job from a message; the source comes as a file."""
        code, stdout, stderr = descriptors
        known = {name: message[name] for name in cls.__slots__ if name in message}
        return cls(**known, source=messages.read_all(code), stdout=stdout, stderr=stderr)

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
        if self.library:
            found |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        return found
