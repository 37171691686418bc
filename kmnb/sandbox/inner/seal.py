"""The last steps before a program: descriptors, limits, identity, capabilities and the filter."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterable, Mapping

from kmnb.sandbox.inner import linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_DESCRIPTORS = 4096
"""Descriptors up to this number are closed; the spawner's own limit keeps it below."""
PENDING_SIGNALS = 1024
"""Signals that may wait and timers that may run."""


def take_descriptors(stdout: int, stderr: int, *, keep: Iterable[int]) -> None:
    """Connect the standard streams and close everything else but these."""
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    low = 3
    for one in (*sorted(keep), MOST_DESCRIPTORS):
        os.closerange(low, one)
        low = one + 1


def limit_resources(limits: Mapping[str, Any], *, others: int) -> None:
    """Set the limits of each process of the run.

    Args:
        limits: The run's limits by name.
        others: Processes that count against this user's limit and are not of the run.
    """
    cpu = limits["cpu_seconds"]
    table = (
        (resource.RLIMIT_AS, limits["address_bytes"]),
        (resource.RLIMIT_NPROC, limits["processes"] + others),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
        (resource.RLIMIT_NOFILE, limits["open_files"]),
        # Nothing outlives the run in a core file, in locked memory or in a message queue.
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        # All processes of a user have one number of these between them.
        (resource.RLIMIT_SIGPENDING, PENDING_SIGNALS),
        # Some machines let people's programs go before all others, for sound.
        (resource.RLIMIT_RTPRIO, 0),
        (resource.RLIMIT_NICE, 0),
    )
    for kind, value in table:
        _, hard = resource.getrlimit(kind)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))
    # SIGXCPU at the soft limit tells the reason; SIGKILL a second later is for those who ignore it.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))


def go_first() -> None:
    """Have the kernel end this process and its children before all others when the machine's memory runs out."""
    with contextlib.suppress(OSError):
        score = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(score, b"1000")
        finally:
            os.close(score)


def take_identity(user: int | None) -> None:
    """Become a user of one's own where the spawner is root, and give up what root had."""
    go_first()
    linux.drop_bounding_capabilities()
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    linux.drop_capabilities()


def processes_of_user() -> int:
    """Count the processes and threads of this user, which RLIMIT_NPROC counts together with the run's."""
    mine, found = os.getuid(), 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                state = os.stat(f"/proc/{name}/task")
            except OSError:
                continue
            if state.st_uid == mine:
                found += max(1, state.st_nlink - 2)
    return found
