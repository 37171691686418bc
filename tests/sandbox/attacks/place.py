"""Execute a command as it would run somewhere else.

    python place.py PLACE COMMAND…

Places: ``root`` and ``user`` change nothing but the user; ``docker`` is root in a container with Docker's default
capabilities and the refusals of moby's default seccomp profile; ``restricted`` is user 1000 there, without any
capability and with no_new_privs, as Binder and restricted pods are.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from kmnb.sandbox.inner import linux
from kmnb.sandbox.inner.assemble import assemble
from kmnb.sandbox.inner.filter import ALLOW, ENOSYS, EPERM, NEW_NAMESPACES, Condition, Rule, _all

USER = 1000
DOCKER_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31)
"""What Docker leaves to root by default."""
MOBY = {
    **_all("unshare setns mount umount2 pivot_root move_mount open_tree fsopen fsconfig fsmount fspick", EPERM),
    **_all("mount_setattr bpf perf_event_open userfaultfd add_key request_key keyctl lookup_dcookie", EPERM),
    **_all("init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff", EPERM),
    **_all("io_uring_setup io_uring_enter io_uring_register open_by_handle_at quotactl acct", EPERM),
    **_all("clone3", ENOSYS),
    "clone": Rule((Condition(0, NEW_NAMESPACES, 0, False, EPERM),), ALLOW),
}
"""What moby's profile refuses to a container without further capabilities, of the calls that matter here."""


def contain() -> None:
    """Take on the filter and the capabilities of a container."""
    linux.install_filter(assemble(MOBY))
    libc = ctypes.CDLL(None)
    for capability in range(64):
        if capability not in DOCKER_CAPABILITIES:
            libc.prctl(linux.PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0)


def main() -> None:
    """Go there and execute the command."""
    place, command = sys.argv[1], sys.argv[2:]
    if place in ("docker", "restricted"):
        contain()
    if place in ("user", "restricted"):
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
    if place == "restricted":
        linux.no_new_privileges()
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
