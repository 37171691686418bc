"""The seccomp filter: which system calls a program may not make, why, and the answer that it gets.

It is a list of refusals under a ceiling: calls above the highest number that was judged do not exist for a program.
A refusal is a row of one of the tables below; ``tests/sandbox/test_filter.py`` tries each of them. Every change needs
the kernel tests again, since libzmq aborts on answers that it does not expect.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping

from kmnb.sandbox.inner.records import record

ALLOW = 0x7FFF0000
KILL = 0x80000000
PRETEND = 0x00050000
"""Answer success without doing anything."""
EPERM, EACCES, ENOSYS = PRETEND | errno.EPERM, PRETEND | errno.EACCES, PRETEND | errno.ENOSYS
ENOTTY, EOPNOTSUPP, EINVAL = PRETEND | errno.ENOTTY, PRETEND | errno.EOPNOTSUPP, PRETEND | errno.EINVAL


@record(frozen=True, slots=True)
class Condition:
    """One look at an argument's lower 32 bits; the kernel itself reads no more of those that are named here."""

    argument: int
    """Which, from 0."""
    mask: int
    """Bits that count."""
    value: int
    """What they are compared with."""
    same: bool
    """Whether the answer is for equal or for different bits."""
    answer: int
    """What the call gets when the comparison holds."""


@record(frozen=True, slots=True)
class Rule:
    """What becomes of one system call."""

    tests: tuple[Condition, ...]
    """Tried in order; the first that holds decides."""
    otherwise: int
    """What it gets when none does."""


@record(frozen=True, slots=True)
class Profile:
    """For whom a filter is made."""

    contained: bool
    """Whether namespaces stand around it; else Landlock and this filter are all there is."""
    kernel: bool = False
    """Whether it is a Jupyter kernel, which binds, listens and accepts on Unix sockets."""
    landlock: int = 0
    """Landlock's version; below 6 it does not stop signals, below 3 not all ways of emptying a file."""
    leader: int = 0
    """Process id of the group's leader, which may signal itself where signals are restricted."""


def _all(names: str, answer: int) -> dict[str, Rule]:
    return {name: Rule((), answer) for name in names.split()}


def _unless(argument: int, values: Iterable[int], answer: int) -> Rule:
    """Allow a call only with one of these values in an argument."""
    return Rule(tuple(Condition(argument, 0xFFFFFFFF, value, True, ALLOW) for value in values), answer)


SURFACE = {
    # What reaches into other processes, whoever owns them.
    **_all("ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd", EPERM),
    # io_uring makes sockets and opens files past any filter.
    **_all("io_uring_setup io_uring_enter io_uring_register", EPERM),
    # Namespaces and mounts: with them a program could take the walls apart or reach much kernel code.
    **_all("unshare setns mount umount2 pivot_root chroot move_mount open_tree mount_setattr", EPERM),
    **_all("fsopen fsconfig fsmount fspick statmount listmount swapon swapoff quotactl quotactl_fd acct", EPERM),
    # Kernel code that no counting program needs, and where faults were found before.
    **_all("bpf perf_event_open userfaultfd add_key request_key keyctl lookup_dcookie lsm_set_self_attr", EPERM),
    **_all("fanotify_init fanotify_mark remap_file_pages personality modify_ldt seccomp nfsservctl", EPERM),
    **_all("init_module finit_module delete_module kexec_load kexec_file_load reboot syslog vhangup", EPERM),
    **_all("iopl ioperm uselib sysfs ustat sethostname setdomainname", EPERM),
    **_all("settimeofday clock_settime clock_adjtime", EPERM),
    # A file handle leads past the walls of paths.
    **_all("name_to_handle_at open_by_handle_at", EPERM),
    # Objects that outlive their makers, so that runs could speak to one another.
    **_all("shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl", EPERM),
    **_all("mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr", EPERM),
    # Memory that belongs to no process and so to no limit.
    **_all("memfd_create memfd_secret", EPERM),
    # A page of memory or of a file in a pipe keeps all of the large page that it is a part of.
    **_all("vmsplice", EPERM),
    # As above; whoever is told this reads and writes instead.
    **_all("splice sendfile", EINVAL),
    # Rules are memory of the kernel, as many as somebody adds; the walls stand before this filter.
    **_all("landlock_create_ruleset landlock_add_rule landlock_restrict_self", EPERM),
    # The whole machine has one number of these.
    **_all("io_setup", EPERM),
    # It tells what others do with files that cannot be read, and a user has few of them.
    **_all("inotify_init inotify_init1 inotify_add_watch", EPERM),
    # Where memory lies, also that of others.
    **_all("migrate_pages move_pages mbind set_mempolicy set_mempolicy_home_node", EPERM),
    # Waits for the disks of the whole machine.
    **_all("sync syncfs", PRETEND),
    # Its flags lie in memory, where a filter cannot look; the C library then uses clone.
    **_all("clone3", ENOSYS),
    # Connections to anybody; whoever has a socket was given both its ends.
    **_all("connect", EACCES),
}
"""Refused to everybody."""

NEW_NAMESPACES = 0x7E020000
CLONE_PARENT = 0x8000
TERMINAL_QUESTIONS = (0x5401, 0x802C542A, 0x5413, 0x540F, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TCGETS2, TIOCGWINSZ, TIOCGPGRP, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""

UNSETTABLE = (1, 4)
"""PR_SET_PDEATHSIG: whoever clears it would outlive a spawner that was killed. PR_SET_DUMPABLE: whoever clears it hides
its descriptors and mappings from the spawner's watch."""
WATCHING = (1024, 1026)
"""F_SETLEASE and F_NOTIFY, commands of fcntl."""
SIGNALLING = (8, 10, 15)
"""F_SETOWN, F_SETSIG and F_SETOWN_EX: the kernel would send the signal for the program."""

ARGUMENTS = {
    # A child of the server instead of its own (CLONE_PARENT) would be left as a zombie.
    "clone": Rule((Condition(0, NEW_NAMESPACES | CLONE_PARENT, 0, False, EPERM),), ALLOW),
    # All other requests: typing for others (TIOCSTI), attributes of files, owners of signals, device control.
    "ioctl": _unless(1, TERMINAL_QUESTIONS, ENOTTY),
    # F_SETLEASE would hold up whoever opens an artifact, F_NOTIFY would tell what others do in the system's folders.
    "fcntl": Rule(tuple(Condition(1, 0xFFFFFFFF, command, True, EPERM) for command in WATCHING), ALLOW),
    # Larger buffers of sockets are memory that belongs to no process; SO_SNDBUF, SO_RCVBUF and both FORCE.
    "setsockopt": Rule(tuple(Condition(2, 0xFFFFFFFF, option, True, PRETEND) for option in (7, 8, 32, 33)), ALLOW),
    "prctl": Rule(tuple(Condition(0, 0xFFFFFFFF, option, True, EPERM) for option in UNSETTABLE), ALLOW),
    # Only the caller's own process: same-user processes outside could be crippled without a signal.
    "setpriority": Rule((Condition(0, 0xFFFFFFFF, 2, True, EPERM), Condition(1, 0xFFFFFFFF, 0, False, EPERM)), ALLOW),
    "ioprio_set": Rule((Condition(0, 0xFFFFFFFF, 3, True, EPERM), Condition(1, 0xFFFFFFFF, 0, False, EPERM)), ALLOW),
    "prlimit64": _unless(0, (0,), EPERM),
    "sched_setaffinity": _unless(0, (0,), EPERM),
    # libzmq names its own threads here and aborts on a refusal (zeromq/libzmq, thread.cpp).
    **dict.fromkeys(("sched_setscheduler", "sched_setparam", "sched_setattr"), _unless(0, (0,), PRETEND)),
}
"""Allowed to everybody with some arguments only."""

UNIX, STREAM, DATAGRAM, TYPE_BITS = 1, 1, 2, 0xF
PROGRAM_SOCKETS = {
    **_all("socket bind listen accept accept4", EACCES),
}
"""A program has no sockets but pairs."""
KERNEL_SOCKETS = {
    # libzmq survives EOPNOTSUPP where it aborts on EPERM and EAFNOSUPPORT (ip_resolver.cpp).
    "socket": Rule(
        (Condition(0, 0xFFFFFFFF, UNIX, False, EOPNOTSUPP), Condition(1, TYPE_BITS, STREAM, False, EOPNOTSUPP)), ALLOW
    ),
}
"""A kernel may wait for clients on Unix sockets; it reaches nobody by itself."""
PAIRS = {
    # A datagram socket, though it has a partner, can send to any path.
    "socketpair": Rule(
        (Condition(0, 0xFFFFFFFF, UNIX, False, EACCES), Condition(1, TYPE_BITS, DATAGRAM, True, EACCES)), ALLOW
    ),
}
"""Two ends in one hand."""

UNCONTAINED = {
    # A descriptor of any process of the machine tells when that one ends.
    **_all("pidfd_open pidfd_send_signal", EPERM),
    # Nobody can leave the process group, so that one killpg ends them all.
    **_all("setsid setpgid", EPERM),
    # A file whose descriptor is under way takes disk space and is seen in no process. sendto does for everything else.
    **_all("sendmsg sendmmsg", EPERM),
    # Landlock leaves metadata open. These answers let cp -p, touch and tar work in the own folder all the same.
    **_all("chmod fchmod fchmodat fchmodat2 utime utimes utimensat futimesat", PRETEND),
    **_all("chown fchown lchown fchownat", EPERM),
    **_all("setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr", EOPNOTSUPP),
    **_all("getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr", EOPNOTSUPP),
    # Disk space of any size in no time; the C library then writes instead, which the watch can follow.
    **_all("fallocate", EOPNOTSUPP),
}
"""Refused where no namespace stands around the program."""

SIGNALS_KEPT_FROM = 6
"""Landlock's version from which it keeps signals inside."""
OLD_SIGNALS = {
    # To the own group (0), and the leader to itself: a filter cannot know other members.
    **_all("tkill rt_sigqueueinfo", EPERM),
    "fcntl": Rule(tuple(Condition(1, 0xFFFFFFFF, one, True, EPERM) for one in (*WATCHING, *SIGNALLING)), ALLOW),
}
"""Refused where Landlock is too old to keep signals inside (before version 6)."""
OLD_TRUNCATION = {
    **_all("truncate", EACCES),
    # Emptying a file that is opened for reading only.
    "open": Rule((Condition(1, 0o1003, 0o1000, True, EACCES),), ALLOW),
    "openat": Rule((Condition(2, 0o1003, 0o1000, True, EACCES),), ALLOW),
    # Its flags lie in memory.
    **_all("openat2", ENOSYS),
}
"""Refused where Landlock is too old to see files emptied (before version 3)."""


def rules(profile: Profile) -> Mapping[str, Rule]:
    """Put the rules of a profile together; a later table takes the place of an earlier one."""
    found = {**SURFACE, **ARGUMENTS, **PAIRS, **(KERNEL_SOCKETS if profile.kernel else PROGRAM_SOCKETS)}
    if profile.contained:
        return found
    found |= UNCONTAINED
    if profile.landlock < SIGNALS_KEPT_FROM:
        own = (0, profile.leader, -profile.leader & 0xFFFFFFFF)
        aimed = dict.fromkeys(("tgkill", "rt_tgsigqueueinfo"), _unless(0, (profile.leader,), EPERM))
        found |= OLD_SIGNALS | {"kill": _unless(0, own, EPERM)} | aimed
    if profile.landlock < 3:
        found |= OLD_TRUNCATION
    return found
