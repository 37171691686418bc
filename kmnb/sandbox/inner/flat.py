"""Isolation without namespaces: Landlock, seccomp, limits, and a process group that nobody can leave.

It works as any user, in a plain container too. Without Landlock what is left is level 1; without seccomp, level 0.
"""

from __future__ import annotations

import os
import signal
import socket

from kmnb.sandbox.inner import landlock, linux, messages, program, seal
from kmnb.sandbox.inner.assemble import assemble
from kmnb.sandbox.inner.filter import SIGNALS_KEPT_FROM, Profile, rules
from kmnb.sandbox.inner.job import Job
from kmnb.sandbox.inner.places import DEVICES, Places, around_holes
from kmnb.sandbox.inner.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


@record(slots=True)
class Flat:
    """The engine ``flat``; with neither Landlock nor a filter it is ``plain``."""

    places: Places
    """What programs may see."""
    abi: int
    """Landlock's version that is kept to; 0 is none."""
    filtered: bool = True
    """Whether the seccomp filter is on."""
    filters: dict[bool, bytes] = field(default_factory=dict)
    """Assembled filters of programs and of kernels, made once for all forks where none is bound to one process."""
    contained = False
    """Whether one process's end ends them all; here the group is killed."""

    def __post_init__(self) -> None:
        if self.filtered and self.abi >= SIGNALS_KEPT_FROM:
            self.filters.update({kernel: self._filter(kernel) for kernel in (False, True)})

    def _filter(self, kernel: bool) -> bytes:
        return assemble(rules(Profile(contained=False, kernel=kernel, landlock=self.abi, leader=os.getpid())))

    @property
    def name(self) -> str:
        """``flat`` or ``plain``."""
        return "flat" if self.filtered else "plain"

    def fork(self) -> int:
        """Make a fresh child: 0 in it, else its number."""
        return os.fork()

    def work(self, sock: socket.socket, user: int | None) -> NoReturn:
        """Prepare in a fresh child, wait for a job, and become its program."""
        os.setsid()
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL, "pdeathsig")
        messages.send(sock, {"leads": True})
        ruleset = self._common_rules() if self.abi else None
        told = messages.receive(sock)
        if told is None:
            os._exit(0)
        job = Job.take(*told)
        assert job.folder is not None
        sockets = job.socket_folder()
        others = 0 if user is not None else seal.processes_of_user()
        if ruleset is not None:
            self._own_rules(ruleset, job)
        os.chdir(job.folder)
        kept = [sock.fileno()] + ([ruleset.fd] if ruleset is not None else [])
        seal.take_descriptors(job.stdout, job.stderr, keep=kept)
        seal.take_identity(user)
        # A change of user clears both.
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL, "pdeathsig")
        linux.prctl(linux.PR_SET_DUMPABLE, 1, "dumpable")
        program.write_source(job, sockets)
        seal.limit_resources(job.limits, others=others)
        linux.no_new_privileges()
        if ruleset is not None:
            ruleset.enforce()
        if self.filtered:
            linux.install_filter(self.filters.get(job.is_kernel) or self._filter(job.is_kernel))
        messages.send(sock, {"started": True, "set": True})
        sock.close()
        variables = job.variables(job.folder, job.artifacts, self.places.search)
        variables[program.TIMEOUT_FUNCTION] = '() {  command timeout --foreground "$@"\n}'
        program.become(job, variables, library=self.places.library, sockets=sockets)

    def _common_rules(self) -> landlock.Ruleset:
        """Collect the rules that every run has."""
        ruleset = landlock.Ruleset(self.abi)
        for tree in self.places.trees:
            parts, split = around_holes(tree, self.places.holes)
            for part in parts:
                ruleset.allow(part, landlock.READ)
            for folder in split:
                ruleset.allow(folder, landlock.LIST)
        for path in self.places.packages:
            ruleset.allow(path, landlock.READ)
        for folder in {os.path.dirname(path) for path in self.places.packages}:
            ruleset.allow(folder, landlock.LIST)
        for device in DEVICES:
            ruleset.allow(device, landlock.DEVICE)
        return ruleset

    def _own_rules(self, ruleset: landlock.Ruleset, job: Job) -> None:
        assert job.folder is not None
        ruleset.allow(job.folder, landlock.OWN)
        if job.sockets is not None:
            ruleset.allow(job.sockets, landlock.OWN)
        if job.artifacts is not None:
            ruleset.allow(job.artifacts, landlock.DATA)
        for path in job.reads:
            ruleset.allow(path, landlock.READ)
            ruleset.allow(os.path.dirname(path), landlock.LIST)
