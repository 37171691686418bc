"""Try the forbidden things, and judge an engine by what was refused: never by versions or files.

``attempts`` runs inside, as a program would. Each guarantee has the name that the attack probes use.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
import stat
import sys
from collections.abc import Callable

from kmnb.sandbox.inner import linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ALL = frozenset(
    {"net", "vsock", "iouring", "fs", "fs_hidden", "proc", "kill", "mem_total", "disk_total", "nproc", "caps", "env"}
    | {"ipc", "stdlib_only", "self_only", "mount"}
)
"""Every guarantee."""
LEVEL_2 = ALL - {"fs_hidden"}
LEVEL_1 = frozenset({"net", "vsock", "iouring", "kill", "nproc", "caps", "env", "ipc", "self_only", "mount"})
WITHOUT = {
    "fs_hidden": "whether a path outside exists can be seen",
    "fs": "files outside can be reached",
    "proc": "processes outside can be seen or signalled",
    "kill": "a process can leave the group and outlive the run",
    "nproc": "the number of processes is not limited",
    "net": "sockets can be made",
}
"""What it means when a guarantee is missing, where its name does not say it."""
VARIABLES = frozenset(
    {"PATH", "HOME", "TMPDIR", "PWD", "LANG", "LC_CTYPE", "MALLOC_ARENA_MAX", "PYTHONDONTWRITEBYTECODE"}
    | {"PYTHONUNBUFFERED", "KMNB_ARTIFACTS", "KMNB_OUTPUT", "BASH_FUNC_timeout%%"}
)
VSOCK, SHMGET_SIZE = 40, 4096


def level_of(held: set[str]) -> int:
    """Give the level of a set of guarantees."""
    return 3 if held >= ALL else 2 if held >= LEVEL_2 else 1 if held >= LEVEL_1 else 0


def attempts(facts: dict[str, Any]) -> int:
    """Try everything and print what was held, with what went through instead."""
    through = {name: _went_through(tries(facts)) for name, tries in TRIES.items()}
    json.dump({name: what for name, what in through.items() if what}, sys.stdout)
    return 0


def _went_through(tries: list[tuple[str, Callable[[], object]]]) -> str:
    for label, attempt in tries:
        try:
            attempt()
        except OSError:
            continue
        return label
    return ""


def _expect(condition: bool) -> None:
    if condition:
        raise PermissionError


def _in_child(attempt: Callable[[], object]) -> None:
    """Try something in a child, so that this process stays what it is."""
    pid = os.fork()
    if pid == 0:
        try:
            attempt()
        except OSError:
            os._exit(1)
        os._exit(0)
    _expect(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0)


def _families(_: dict[str, Any]) -> list[tuple[str, Callable[[], object]]]:
    kinds = {
        "IPv4": (socket.AF_INET, socket.SOCK_STREAM),
        "IPv6": (socket.AF_INET6, socket.SOCK_DGRAM),
        "netlink": (socket.AF_NETLINK, socket.SOCK_RAW),
        "packet": (socket.AF_PACKET, socket.SOCK_DGRAM),
        "Unix": (socket.AF_UNIX, socket.SOCK_DGRAM),
    }
    return [(name, lambda kind=kind: socket.socket(*kind).close()) for name, kind in kinds.items()]  # type: ignore[misc]


def _files(facts: dict[str, Any]) -> list[tuple[str, Callable[[], object]]]:
    canary = facts["canary"]
    beside = os.path.join(os.path.dirname(canary), "made-inside")
    return [
        ("read", lambda: os.open(canary, os.O_RDONLY)),
        ("write", lambda: os.open(canary, os.O_WRONLY | os.O_APPEND)),
        ("make", lambda: os.open(beside, os.O_WRONLY | os.O_CREAT)),
        ("remove", lambda: os.unlink(canary)),
        ("change", lambda: _change_mode(canary)),
    ]


def _change_mode(path: str) -> None:
    # A success that did nothing is as good as a refusal.
    os.chmod(path, 0o601)
    try:
        changed = stat.S_IMODE(os.stat(path).st_mode) == 0o601
    except OSError:
        changed = False
    _expect(not changed)


def _privileges(_: dict[str, Any]) -> list[tuple[str, Callable[[], object]]]:
    def capabilities() -> None:
        with open("/proc/self/status") if os.path.exists("/proc/self/status") else open("/dev/null") as file:
            held = [line.split()[1] for line in file if line.startswith(("CapPrm", "CapEff", "CapInh"))]
        _expect(not any(int(one, 16) for one in held))

    def gains() -> None:
        _expect(linux.prctl(39, 0, "no_new_privs") == 1)

    return [("capabilities", capabilities), ("no_new_privs", gains)]


def _modules(_: dict[str, Any]) -> list[tuple[str, Callable[[], object]]]:
    return [
        (
            "site-packages",
            lambda: _expect(not any("-packages" in one for one in sys.path)),
        )
    ]


TRIES: dict[str, Callable[[dict[str, Any]], list[tuple[str, Callable[[], object]]]]] = {
    "net": _families,
    "vsock": lambda _: [("vsock", lambda: socket.socket(VSOCK, socket.SOCK_STREAM).close())],
    "iouring": lambda _: [
        ("io_uring", lambda: linux.syscall("io_uring_setup", 8, ctypes.create_string_buffer(120))),
    ],
    "fs": _files,
    "fs_hidden": lambda facts: [("stat", lambda: os.stat(facts["canary"]))],
    "proc": lambda facts: [
        ("signal", lambda: os.kill(facts["server"], 0)),
        ("environment", lambda: os.open(f"/proc/{facts['server']}/environ", os.O_RDONLY)),
    ],
    "kill": lambda facts: [
        ("setsid", lambda: _expect(os.getppid() == 1) if facts["contained"] else _in_child(os.setsid)),
        ("setpgid", lambda: _expect(os.getppid() == 1) if facts["contained"] else _in_child(lambda: os.setpgid(0, 0))),
    ],
    "nproc": lambda _: [
        ("limit", lambda: _expect(resource.getrlimit(resource.RLIMIT_NPROC)[0] < 100_000 and os.getuid() != 0)),
    ],
    "caps": _privileges,
    "env": lambda _: [("variables", lambda: _expect(set(os.environ) <= VARIABLES))],
    "ipc": lambda _: [
        ("shared memory", lambda: linux.syscall("shmget", 0, ctypes.c_size_t(SHMGET_SIZE), 0o1600)),
        ("message queue", lambda: linux.syscall("msgget", 0, 0o1600)),
    ],
    "stdlib_only": _modules,
    "self_only": lambda facts: [
        ("limits", lambda: resource.prlimit(facts["server"], resource.RLIMIT_CORE)),
        ("priority", lambda: os.setpriority(os.PRIO_PROCESS, facts["server"], 1)),
        ("affinity", lambda: os.sched_setaffinity(facts["server"], os.sched_getaffinity(0))),
    ],
    "mount": lambda _: [
        ("namespace", lambda: _in_child(lambda: linux.unshare(linux.NEWUSER, "unshare"))),
        ("mount", lambda: linux.mount("none", "/", flags=linux.PRIVATE)),
    ],
}
"""What is tried for each guarantee; totals of memory and disk are the spawner's own watch."""
