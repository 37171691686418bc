"""Who holds a thread alive: the process that gave the last sign of life, and whether it still runs.

A machine that slept wakes with leases that ran out long ago. Before anything is taken for dead, the sweep asks
whether its holder runs on this machine, and whether a workspace of this process uses the thread.
"""

from __future__ import annotations

import os
import socket
import time
from functools import cache
from pathlib import Path
from weakref import WeakSet

from kmnb.ops.context import Context

_awake: WeakSet[Context] = WeakSet()


def holder_name() -> str:
    """Name this process so that others on this machine can tell whether it still runs."""
    return _name(os.getpid())


@cache
def _name(process: int) -> str:
    return f"{socket.gethostname()}:{_start()}:{process}:{_started(process)}"


def _start() -> str:
    """Name this start of the machine and the namespace of process numbers: containers may share all but that."""
    try:
        return f"{_boot()}.{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return f"{_boot()}.unknown"


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()[:8]
    except OSError:
        return "unknown"


def _started(process: int) -> str:
    """When a process started, in ticks since the machine did; empty where there is none of that number."""
    try:
        text = Path(f"/proc/{process}/stat").read_text("ascii", "replace")
    except OSError:
        return ""
    # The name of a program may hold blanks and brackets: fields are counted from behind it.
    fields = text.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def started_at(process: int) -> float | None:
    """When a process of this machine started, as ``time.time()`` counts; None where there is none of that number."""
    ticks = _started(process)
    if not ticks:
        return None
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return boot + int(ticks) / os.sysconf("SC_CLK_TCK")


def is_running(holder: str) -> bool:
    """Whether a holder is another process of this machine that still runs; False where that cannot be known."""
    process, started = _on_this_machine(holder)
    return process not in (None, os.getpid()) and _started(process or 0) == started


def is_dead(holder: str) -> bool:
    """Whether a holder is a process of this machine that ended; False where that cannot be known."""
    process, started = _on_this_machine(holder)
    return process is not None and _started(process) != started


def _on_this_machine(holder: str) -> tuple[int | None, str]:
    """Give the number of a holder's process and its start; None for another machine, start or namespace."""
    host, _, rest = holder.partition(":")
    boot, _, rest = rest.partition(":")
    process, _, started = rest.partition(":")
    known = (host, boot) == (socket.gethostname(), _start()) and process.isascii() and process.isdigit() and started
    return (int(process), started) if known else (None, "")


def keep_awake(context: Context) -> None:
    """Remember that a workspace keeps its threads alive by itself."""
    _awake.add(context)


def let_sleep(context: Context) -> None:
    """Take :func:`keep_awake` back."""
    _awake.discard(context)


def used_here(context: Context, key: str) -> bool:
    """Whether a workspace of this process, on the same store, keeps the thread with that record alive."""
    return any(
        other.backend.url == context.backend.url and (key in other.live.threads or key in other.live.followed)
        for other in list(_awake)
    )
