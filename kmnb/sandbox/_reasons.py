"""Tell why a program ended: by a limit that we enforced, or by one that it ran into itself."""

from __future__ import annotations

import math
import re
import signal
from typing import Any

from kmnb.core.outcome import By, Reason

FORCED: dict[str, Reason] = {
    "timeout": "timeout",
    "output": "output",
    "memory": "memory",
    "disk": "disk",
    "interrupt": "interrupt",
}
"""Reasons that the spawner gives."""
CPU_SLACK_SECONDS = 0.5
"""How much less than its limit a program that ran into it may have used by the kernel's own count."""
COMPLAINTS: tuple[tuple[re.Pattern[str], Reason], ...] = (
    (
        re.compile(r"^MemoryError\b|[Cc]annot allocate memory|\[Errno 12\]|memory exhausted|failed to map segment"),
        "memory",
    ),
    (re.compile(r"\[Errno 24\]|[Tt]oo many open files|: Error 24$"), "open-files"),
    (re.compile(r"\[Errno 27\]|[Ff]ile size limit exceeded|[Ff]ile too large"), "file-size"),
    (re.compile(r"\[Errno 28\]|[Nn]o space left on device"), "disk"),
    (re.compile(r"^BlockingIOError: \[Errno 11\]|fork: .*[Rr]esource temporarily|can't start new thread"), "processes"),
)
"""What a failing program says in its last line when it was refused more of something; it can say so without that."""
SIGNALLED: dict[int, Reason] = {
    -signal.SIGXFSZ: "file-size",
    # As a shell tells the end of what it ran.
    128 + signal.SIGXFSZ: "file-size",
    128 + signal.SIGXCPU: "cpu",
}
"""Ends that tell of a limit; a program can end like that without it."""
LAST_LINES = 3
"""Lines at the end of stderr that are looked at."""


def reason_of(
    status: int, forced: str | None, stderr: str, *, cpu_seconds: float = 0.0, cpu_limit: float = math.inf
) -> tuple[Reason, By]:
    """Give the reason of an end, and whether we know it or have the program's word alone.

    Args:
        status: Exit code, or minus the signal.
        forced: What the spawner ended it for; None when it ended by itself.
        stderr: What it complained.
        cpu_seconds: Processor time that it took, by the kernel's count.
        cpu_limit: What it was allowed of that.
    """
    if forced is not None:
        return FORCED.get(forced, "interrupt"), "supervisor"
    spent = cpu_seconds >= cpu_limit - CPU_SLACK_SECONDS
    # Whoever ignores SIGXCPU gets SIGKILL a second later. Any program can send either to itself.
    if spent and status in (-signal.SIGXCPU, -signal.SIGKILL):
        return "cpu", "supervisor"
    if status in SIGNALLED:
        return SIGNALLED[status], "program"
    for line in stderr.rstrip().splitlines()[-LAST_LINES:] if status > 0 else ():
        for complaint, reason in COMPLAINTS:
            if complaint.search(line):
                return reason, "program"
    return ("signal" if status < 0 else "exit"), "supervisor"


def exit_code_of(ended: dict[str, Any]) -> int:
    """Give the exit code that an Outcome shows: -1 on time-out, -N on signal N."""
    if ended["reason"] == "timeout":
        return -1
    status = ended["status"]
    return int(status) if status is not None else -int(signal.SIGKILL)
