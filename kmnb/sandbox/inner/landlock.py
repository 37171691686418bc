"""Landlock: files by path, TCP, signals and abstract sockets, without any privilege."""

from __future__ import annotations

import ctypes
import os
import stat
import struct

from kmnb.sandbox.inner import linux

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = 1, 2, 4, 8, 16, 32
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = 64, 128, 256, 512, 1024, 2048, 4096
REFER, TRUNCATE, IOCTL_DEV = 8192, 16384, 32768

HANDLED = {1: 0x1FFF, 2: 0x1FFF | REFER, 3: 0x1FFF | REFER | TRUNCATE, 4: 0x1FFF | REFER | TRUNCATE}
"""Rights on files that each version knows; from 5 on also IOCTL_DEV."""
NETWORK = 3
"""Binding and connecting TCP, from version 4 on."""
SCOPES = 3
"""Abstract Unix sockets and signals, from version 6 on."""

READ = EXECUTE | READ_FILE | READ_DIR
DATA = READ_FILE | READ_DIR
LIST = READ_DIR
DEVICE = READ_FILE | WRITE_FILE | IOCTL_DEV
OWN = 0xFFFF & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV)
"""Everything in the run's own folder but device nodes."""
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""Rights that a rule on a file, not on a folder, may name."""


def version() -> int:
    """Ask the kernel for Landlock's version; 0 when there is none or it is not active."""
    try:
        return linux.syscall("landlock_create_ruleset", None, ctypes.c_size_t(0), ctypes.c_uint(1))
    except OSError:
        return 0


class Ruleset:
    """Rules that are collected and then put on the calling process for good.

    Args:
        abi: The version to keep to, 1 or more.
    """

    def __init__(self, abi: int) -> None:
        self.handled = HANDLED.get(abi, HANDLED[4] | IOCTL_DEV)
        words = [self.handled, NETWORK if abi >= 4 else 0, SCOPES if abi >= 6 else 0]
        size = 24 if abi >= 6 else 16 if abi >= 4 else 8
        raw = struct.pack("QQQ", *words)[:size]
        self.fd = linux.syscall("landlock_create_ruleset", raw, ctypes.c_size_t(size), ctypes.c_uint(0))

    def allow(self, path: str, rights: int) -> None:
        """Allow rights on a file, or on a folder with all below it; a path that is not there is passed over."""
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return
        try:
            if not stat.S_ISDIR(os.fstat(fd).st_mode):
                rights &= FILE_RIGHTS
            rule = struct.pack("=Qi", rights & self.handled, fd)
            if rights & self.handled:
                linux.syscall("landlock_add_rule", self.fd, 1, rule, ctypes.c_uint(0))
        finally:
            os.close(fd)

    def enforce(self) -> None:
        """Put the rules on the calling process; needs no_new_privs."""
        linux.syscall("landlock_restrict_self", self.fd, ctypes.c_uint(0))
        os.close(self.fd)
