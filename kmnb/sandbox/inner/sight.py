"""How the spawner looks at a run's processes, and which of them do not let it.

Docker's root may look at nobody else's descriptors and mappings (CAP_SYS_PTRACE), but whoever has the run's own user
for files may. A process whose program is a file that nobody may read shows nothing to anybody but root: whatever a run
may have too much of could be there.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator

from kmnb.sandbox.inner import linux, watch
from kmnb.sandbox.inner.records import record
from kmnb.sandbox.inner.run import Run


@record(slots=True)
class Sight:
    """What the spawner sees."""

    works: bool = False
    """Whether descriptors of a run's processes can be looked at."""

    @classmethod
    def tried(cls, user: int | None) -> Sight:
        """Try it with a process as runs have them.

        Args:
            user: A user of runs' own; None where they are the spawner's.
        """
        pid = os.fork()
        if pid == 0:
            _wait_to_be_seen(user)
        try:
            os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            with _files_as(user):
                return cls(not _is_hidden(pid))
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def excess(self, run: Run, everyone: dict[int, watch.Process], shared: int) -> str | None:
        """Tell which limit on totals a run has passed, ``memory`` or ``disk``; None when none is.

        Args:
            run: One that was given its job.
            everyone: What ``watch.processes`` gave.
            shared: What ``watch.shared_on_machine`` gave.
        """
        contained = run.engine.contained
        pids = watch.members(run.child, everyone, contained=contained)
        grown, folders = shared - run.shared_before, [one for one in (run.folder, run.sockets) if one]
        # The way to the folders may be closed to the run's user.
        use = watch.disk_use(folders, run.limits["files"])
        with _files_as(run.user):
            passed = watch.excess(run.limits, pids, everyone=everyone, folders=folders, use=use, grown=grown)
            # The init of namespaces lets nobody look at it.
            hides = self.works and _hides(pids - {run.child} if contained else pids, everyone)
        # One may have ended since the processes were listed.
        before, run.hidden = run.hidden, hides and run.is_set
        return passed or ("memory" if before and run.hidden else None)


@contextlib.contextmanager
def _files_as(user: int | None) -> Iterator[None]:
    """Have another user's rights on files, and no signals of theirs."""
    if user is None:
        yield
        return
    mine = os.geteuid(), os.getegid()
    linux.own_files_as(user, user)
    try:
        yield
    finally:
        linux.own_files_as(*mine)


def _hides(pids: Iterable[int], everyone: dict[int, watch.Process]) -> bool:
    """Tell whether one of the processes is hidden; ended ones have no address space any more, and hide nothing."""
    return any(pid in everyone and everyone[pid][3] > 0 and _is_hidden(pid) for pid in pids)


def _is_hidden(pid: int) -> bool:
    try:
        # One right lists the descriptors, another one looks at each, which is that of this link too.
        os.close(os.open(f"/proc/{pid}/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        os.readlink(f"/proc/{pid}/cwd")
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _wait_to_be_seen(user: int | None) -> None:
    try:
        if user is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            linux.drop_capabilities()
        linux.prctl(linux.PR_SET_DUMPABLE, 1, "dumpable")
        os.kill(os.getpid(), signal.SIGSTOP)
    finally:
        os._exit(1)
