"""The few calls of Linux that Python lacks, with errors as ``OSError``."""

from __future__ import annotations

import ctypes
import os
import signal
import struct

from kmnb.sandbox.inner.syscalls import number

_libc = ctypes.CDLL(None, use_errno=True)
_held = ctypes.PyDLL(None, use_errno=True)
_NONE = [ctypes.c_ulong(0)] * 4
# Declared once, plain numbers need no wrapping at each of the many calls before a program.
_libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = 0x1, 0x2, 0x4, 0x8, 0x20, 0x1000, 0x4000, 0x40000
DETACH = 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NAME, PR_SET_SECCOMP = 1, 4, 15, 22
PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 24, 36, 38, 47
SECCOMP_MODE_FILTER = 2


def check(result: int, what: str) -> int:
    """Raise the error that a C function left behind when its result is negative."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def syscall(name: str, *arguments: object) -> int:
    """Make a system call by its name in the table of numbers."""
    call = number(name)
    return check(_libc.syscall(ctypes.c_long(call), *arguments), name)  # type: ignore[arg-type]


def prctl(option: int, value: int, what: str) -> int:
    """Change something of the calling process."""
    return check(_libc.prctl(option, value, 0, 0, 0), what)


def unshare(flags: int, what: str) -> None:
    """Leave some namespaces for new ones."""
    check(_libc.unshare(flags), what)


def fork_into(namespaces: int) -> int:
    """Fork into new namespaces, as ``os.fork`` does otherwise; the child is the init of its own processes.

    One step where ``unshare`` needs a process between, which then has to end and to be waited for. The interpreter is
    told of it as of every fork; the C library is not, so the child must do no more than prepare, fork and wait.

    Args:
        namespaces: Kinds of namespaces, at least that of processes.

    Returns:
        0 in the child, else its number.
    """
    ctypes.pythonapi.PyOS_BeforeFork()
    # With the interpreter's lock held: a thread that takes it meanwhile would not exist in the child.
    pid = int(_held.syscall(ctypes.c_long(number("clone") or 0), ctypes.c_ulong(namespaces | signal.SIGCHLD), *_NONE))
    code = ctypes.get_errno()
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return 0
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(code, f"namespaces: {os.strerror(code)}")
    return pid


def mount(source: str, target: str, *, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    """Mount something; paths are not followed further than the kernel does."""
    texts = (one.encode() if one is not None else None for one in (source, target, kind))
    options = data.encode() if data is not None else None
    check(_libc.mount(*texts, ctypes.c_ulong(flags), options), f"mount {target}")


def umount(target: str) -> None:
    """Take a mount and all below it out of sight at once."""
    check(_libc.umount2(target.encode(), DETACH), f"umount {target}")


def protect_mounts(path: str, flags: int) -> None:
    """Set attributes of a mount and all below it (Linux 5.12)."""
    wanted = struct.pack("QQQQ", flags, 0, 0, 0)
    syscall("mount_setattr", AT_FDCWD, path.encode(), ctypes.c_uint(AT_RECURSIVE), wanted, ctypes.c_size_t(32))


def pivot_root(new: str, old: str) -> None:
    """Make a mount the root of everything, and hang the former root below it."""
    syscall("pivot_root", new.encode(), old.encode())


def drop_bounding_capabilities() -> None:
    """Make sure that no program that is started later can get a capability; needs CAP_SETPCAP."""
    for capability in range(64):
        if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            return


def drop_capabilities() -> None:
    """Give up all capabilities of the calling thread."""
    header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0), 8)
    syscall("capset", header, ctypes.create_string_buffer(24))


def own_files_as(user: int, group: int) -> None:
    """Take the rights of a user and a group on files and on ``/proc``; needs CAP_SETUID and CAP_SETGID."""
    _libc.setfsgid(group)
    _libc.setfsuid(user)


def no_new_privileges() -> None:
    """Let no set-uid program give the calling process more than it has."""
    prctl(PR_SET_NO_NEW_PRIVS, 1, "no_new_privs")


def install_filter(program: bytes) -> None:
    """Have every later system call judged by a seccomp program."""
    code = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)), 16)
    check(_libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(header), 0, 0), "seccomp")


class CommandLine:
    """What ``ps`` shows of this process and of those forked from it.

    Args:
        word: A word of the command line.
    """

    def __init__(self, word: bytes) -> None:
        self.word, self.at = word, 0
        try:
            with open("/proc/self/stat", "rb") as file:
                start, end = map(int, file.read().rsplit(b")", 1)[1].split()[45:47])
        except (OSError, ValueError):
            return
        place = ctypes.string_at(start, end - start).find(word) if 0 < start < end else -1
        self.at = start + place if place >= 0 else 0

    def rename(self, word: bytes) -> None:
        """Show another word, not longer, in the place of the first; best effort."""
        if self.at:
            ctypes.memmove(self.at, word.ljust(len(self.word)), len(self.word))
