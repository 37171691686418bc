"""Tell why a program ended: by a limit that we enforced, or by one that it ran into itself."""

from __future__ import annotations

import re
import signal
from typing import Any

from kmnb.core.outcome import Reason

FORCED: dict[str, Reason] = {
    "timeout": "timeout",
    "output": "output",
    "memory": "memory",
    "disk": "disk",
    "interrupt": "interrupt",
}
"""Reasons that the spawner gives."""
SIGNALS: dict[int, Reason] = {signal.SIGXCPU: "cpu", signal.SIGXFSZ: "file-size"}
"""Signals of the kernel at a limit."""
COMPLAINTS: tuple[tuple[re.Pattern[str], Reason], ...] = (
    (re.compile(r"^MemoryError\b|[Cc]annot allocate memory|\[Errno 12\]|memory exhausted"), "memory"),
    (re.compile(r"\[Errno 24\]|[Tt]oo many open files"), "open-files"),
    (re.compile(r"\[Errno 27\]|[Ff]ile size limit exceeded|[Ff]ile too large"), "file-size"),
    (re.compile(r"\[Errno 28\]|[Nn]o space left on device"), "disk"),
    (re.compile(r"^BlockingIOError: \[Errno 11\]|fork: .*[Rr]esource temporarily|can't start new thread"), "processes"),
)
"""What a failing program says in its last line when it was refused more of something."""
LAST_LINES = 3
"""Lines at the end of stderr that are looked at."""


def reason_of(status: int, forced: str | None, stderr: str) -> Reason:
    """Give the reason of an end.

    Args:
        status: Exit code, or minus the signal.
        forced: What the spawner ended it for; None when it ended by itself.
        stderr: What it complained.
    """
    if forced is not None:
        return FORCED.get(forced, "interrupt")
    if status < 0:
        return SIGNALS.get(-status, "signal")
    if status > 128 and status - 128 in SIGNALS:
        return SIGNALS[status - 128]
    for line in stderr.rstrip().splitlines()[-LAST_LINES:] if status else ():
        for complaint, reason in COMPLAINTS:
            if complaint.search(line):
                return reason
    return "exit"


def exit_code_of(ended: dict[str, Any]) -> int:
    """Give the exit code that an Outcome shows: -1 on time-out, -N on signal N."""
    if ended["reason"] == "timeout":
        return -1
    status = ended["status"]
    return int(status) if status is not None else -int(signal.SIGKILL)
