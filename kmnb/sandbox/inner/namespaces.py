"""Isolation by namespaces: own processes, network, mounts and a private root in memory.

The first process inside, forked right into them, is their init: it builds the root, waits for a job, and then only
watches over the program, which runs as its child. When init ends, the kernel ends everything in there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket

from kmnb.sandbox.inner import linux, messages, program, seal
from kmnb.sandbox.inner.assemble import assemble
from kmnb.sandbox.inner.filter import Profile, rules
from kmnb.sandbox.inner.job import Job
from kmnb.sandbox.inner.places import DEVICES, Places
from kmnb.sandbox.inner.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

HOME, ARTIFACTS, OUTPUT, KERNEL = "/sandbox", "/artifacts", "/sandbox/out", "/sandbox-kernel"
SHARED_MEMORY_MIB, SHARED_MEMORY_FILES, ROOT_MIB = 16, 1024, 4
LOCKED = linux.RDONLY | linux.NOSUID | linux.NODEV
_OUTSIDE = os.getuid(), os.getgid()
"""Who the spawner is; inside, before the map is written, nobody has a number."""
ALL = linux.NEWNS | linux.NEWPID | linux.NEWNET | linux.NEWIPC | linux.NEWUTS


@record(slots=True)
class Namespaces:
    """The engine ``ns``."""

    places: Places
    """What programs may see."""
    filters: dict[bool, bytes] = field(default_factory=dict)
    """Assembled filters of programs and of kernels, made once for all forks."""
    name = "ns"
    """Its name in Outcomes."""
    contained = True
    """Whether one process's end ends them all."""

    def __post_init__(self) -> None:
        self.filters.update(
            {kernel: assemble(rules(Profile(contained=True, kernel=kernel))) for kernel in (False, True)}
        )

    def fork(self) -> int:
        """Make a fresh child, the init of namespaces of its own: 0 in it, else its number."""
        # Root needs no user namespace: it takes a user of its own for the program instead.
        return linux.fork_into(ALL if os.getuid() == 0 else ALL | linux.NEWUSER)

    def work(self, sock: socket.socket, user: int | None) -> NoReturn:
        """Prepare in a fresh child, wait for a job, and become its program."""
        _enter()
        _build_root(self.places)
        told = messages.receive(sock)
        if told is None:
            os._exit(0)
        job = Job.take(*told)
        _finish_root(job, user)
        pid = os.fork()
        if pid:
            _watch_over(pid, sock, job)
        os.setsid()
        os.chdir(HOME)
        seal.take_descriptors(job.stdout, job.stderr, keep=[sock.fileno()])
        seal.take_identity(user)
        linux.prctl(linux.PR_SET_DUMPABLE, 1, "dumpable")
        program.write_source(job, KERNEL)
        seal.limit_resources(job.limits, others=0)
        linux.no_new_privileges()
        linux.install_filter(self.filters[job.is_kernel])
        messages.send(sock, {"set": True})
        sock.close()
        variables = job.variables(HOME, ARTIFACTS if job.artifacts else None, self.places.search)
        program.become(job, variables, library=self.places.library, sockets=KERNEL)


def _enter() -> None:
    """Begin as the init of the namespaces."""
    # With the spawner all ends; should it have gone before this, its socket is at its end and no job comes.
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL, "pdeathsig")
    user, group = _OUTSIDE
    if user != 0:
        # Of a process that is not dumpable, these files belong to root.
        linux.prctl(linux.PR_SET_DUMPABLE, 1, "dumpable")
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    # The program must not read the spawner's memory through /proc/1.
    linux.prctl(linux.PR_SET_DUMPABLE, 0, "dumpable")


def _build_root(places: Places) -> None:
    """Make a root in memory with the system's folders read-only in it, and move there.

    The former root stays below ``/old`` until the job tells which artifacts it may read.
    """
    linux.mount("none", "/", flags=linux.REC | linux.PRIVATE)
    # Any folder will do: after the pivot nothing is covered by the new root.
    base = "/tmp" if os.path.isdir("/tmp") else "/usr"
    linux.mount("tmpfs", base, kind="tmpfs", flags=linux.NOSUID, data=f"size={ROOT_MIB}m,nr_inodes=4096,mode=0755")
    os.chdir(base)
    os.umask(0o022)
    for name in ("old", "proc", HOME[1:], ARTIFACTS[1:], KERNEL[1:], "empty", "dev", "dev/shm", "etc"):
        os.mkdir(name)
    for device in DEVICES:
        _bind(device, device[1:], keep_devices=True)
    linux.pivot_root(".", "old")
    os.chdir("/")
    linux.protect_mounts("/old", LOCKED)
    for tree in places.trees:
        _bind("/old" + tree, tree)
    for hole in places.holes:
        _bind("/empty", hole)
    for path in places.packages:
        _bind("/old" + path, path)
    for path, target in (*places.links, ("/dev/fd", "/proc/self/fd"), ("/tmp", HOME)):
        with contextlib.suppress(FileExistsError):
            os.symlink(target, path)
    linux.mount("proc", "/proc", kind="proc", flags=linux.NOSUID | linux.NODEV | linux.NOEXEC, data="subset=pid")
    socket.sethostname("sandbox")


def _finish_root(job: Job, user: int | None) -> None:
    """Add what only the job knows, and close the root."""
    identity = os.getuid() if user is None else user
    owner = f"mode=0700,uid={identity},gid={identity if user is not None else os.getgid()}"
    size = f"size={job.limits['disk_bytes']},nr_inodes={job.limits['files']}"
    # Files without content are memory too.
    shared = f"size={SHARED_MEMORY_MIB}m,nr_inodes={SHARED_MEMORY_FILES}"
    flags = linux.NOSUID | linux.NODEV
    linux.mount("tmpfs", HOME, kind="tmpfs", flags=flags, data=f"{size},{owner}")
    linux.mount("tmpfs", "/dev/shm", kind="tmpfs", flags=flags, data=f"{shared},{owner}")
    for path, text in (("/etc/passwd", f"sandbox:x:{identity}:{identity}::{HOME}:/bin/sh\n"),
                       ("/etc/group", f"sandbox:x:{identity}:\n")):  # fmt: skip
        _write(path, text)
    if job.artifacts is not None:
        linux.mount("/old" + job.artifacts, ARTIFACTS, flags=linux.BIND | linux.REC)
    if job.is_kernel and job.folder is not None:
        # The one folder of the host that it can write to: its client's way in. It is watched like a run's folder.
        linux.mount("/old" + job.socket_folder(), KERNEL, flags=linux.BIND)
        linux.mount("none", KERNEL, flags=linux.REMOUNT | linux.BIND | linux.NOSUID | linux.NODEV | linux.NOEXEC)
    for path in job.reads:
        _bind("/old" + path, path)
    linux.umount("/old")
    linux.mount("none", "/", flags=linux.REMOUNT | linux.BIND | LOCKED)
    if job.output:
        os.mkdir(OUTPUT, 0o700)
        os.chown(OUTPUT, identity, -1)


def _bind(source: str, target: str, *, keep_devices: bool = False) -> None:
    """Show a folder or a file at another place; one that is not there is passed over."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif os.path.exists(source):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.lexists(target):
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    else:
        return
    linux.mount(source, target, flags=linux.BIND | (0 if keep_devices else linux.REC))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _watch_over(program_pid: int, sock: socket.socket, job: Job) -> NoReturn:
    """Be init: reap what is orphaned, and tell how the program ended. With this process all others end."""
    descriptors = [os.pidfd_open(program_pid)]
    if job.output:
        descriptors.append(os.open(OUTPUT, os.O_RDONLY | os.O_DIRECTORY))
    messages.send(sock, {"started": True}, descriptors)
    for descriptor in (*descriptors, job.stdout, job.stderr):
        os.close(descriptor)
    linux.drop_capabilities()
    while True:
        pid, status, used = os.wait4(-1, 0)
        if pid == program_pid:
            _tell(sock, {"exit": os.waitstatus_to_exitcode(status), "cpu": used.ru_utime + used.ru_stime})
            os._exit(0)


def _tell(sock: socket.socket, message: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        messages.send(sock, message)
