"""The spawner: one small process that forks, isolates, ends and tidies up every run.

It is exec'd once with an empty environment and one thread, so that forking it is cheap and safe and there is nothing
in it to leak. It alone signals and waits, so no process id is ever stale. When the server goes, it ends everything
and goes too.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time

from kmnb.sandbox.inner import messages, watch
from kmnb.sandbox.inner.removals import Removals
from kmnb.sandbox.inner.run import Become, Engine, Run
from kmnb.sandbox.inner.sight import Sight
from kmnb.sandbox.inner.users import Users

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEFTOVER_SECONDS = 1.0
"""How long the spawner waits for killed processes to go before it removes their folder."""


class Spawner:
    """Forks workers, gives them jobs, and sees them off.

    Args:
        control: The socket to the server.
        engine: What isolates the runs.
        users: Users of one's own for them.
        server: The server's process, whose end counts even when a fork of it still holds the socket.
    """

    def __init__(self, control: socket.socket, engine: Engine, users: Users, *, server: int | None = None) -> None:
        self.control, self.engine, self.users, self.sight = control, engine, users, Sight()
        self.runs: list[Run] = []
        self.spare: Run | None = None
        self.open = True
        self.removals = Removals(self._shed, self._tell)
        self._next_look = 0.0
        self._unseen: list[Run] = []
        self._seen: tuple[dict[int, watch.Process], int] = {}, 0
        self._server: int | None = None
        with contextlib.suppress(OSError):
            self._server = os.pidfd_open(server) if server is not None else None
        self._wake, wake = socket.socketpair()
        for one in (self._wake, wake):
            one.setblocking(False)
        self._wake_end = wake
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _stop(self, *_: object) -> None:
        self.open = False

    def close(self) -> None:
        """Let go of the sockets that wake it."""
        signal.set_wakeup_fd(-1)
        self._wake.close()
        self._wake_end.close()

    def serve(self, *, prepare: bool = True) -> None:
        """Work until the server goes, with one worker prepared ahead or none; then end everything."""
        while self.open:
            # Only while nothing runs: preparing would take the processor from the run that just began.
            if self.spare is None and prepare and not self.runs:
                with contextlib.suppress(OSError):
                    self.spare = self._fork()
            self.step()
        for run in [*self.runs, *([self.spare] if self.spare else [])]:
            run.end("interrupt")
        limit = time.monotonic() + LEFTOVER_SECONDS
        while self.runs and time.monotonic() < limit:
            self.step()
        self.removals.finish()

    def step(self) -> None:
        """Wait for something to happen, and deal with all that did."""
        workers = {run.sock.fileno(): run for run in self._all() if run.sock.fileno() >= 0}
        watched = [self._wake.fileno(), *workers, *([self.control.fileno()] if self.open else [])]
        poll = select.poll()
        if self._server is not None and self.open:
            poll.register(self._server, select.POLLIN)
        for descriptor in watched:
            poll.register(descriptor, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(1000 * self._patience())}
        if self._wake.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                self._wake.recv(4096)
        for fd in ready & set(workers):
            self._hear(workers[fd])
        if self._server in ready:
            self.open = False
        self._reap()
        self._judge()
        if self.open and self.control.fileno() in ready:
            self._obey()

    def _all(self) -> list[Run]:
        return [*self.runs, *([self.spare] if self.spare else [])]

    def _patience(self) -> float:
        """Seconds until something has to be looked at again; ends of processes wake by themselves."""
        due = [*self.removals.due(), *(run.deadline() for run in self.runs if run.ended_at is None)]
        if self.runs:
            due.append(self._next_look)
        return max(0.0, min(due) - time.monotonic()) if due else 60.0

    # ---- workers

    def _fork(self) -> Run:
        user = self.users.take()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            pid = self.engine.fork()
        except OSError:
            self.users.give_back(user)  # the sockets close with their last names
            raise
        if pid == 0:
            ours.close()
            raise Become(lambda: self._live(theirs, user))
        theirs.close()
        ours.setblocking(False)
        return Run(ours, self.engine, user, pid)

    def _live(self, sock: socket.socket, user: int | None) -> None:
        """The life of a worker, in the child."""
        self._shed()
        try:
            self.engine.work(sock, user)
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
            try:
                messages.send(sock, {"error": told})
            except OSError:  # the program's own streams are in place already
                os.write(2, f"the sandbox could not start it: {told}\n".encode())
        os._exit(70)

    def _shed(self) -> None:
        """Let go of what is the spawner's alone, in a child."""
        signal.set_wakeup_fd(-1)
        for one in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(one, signal.SIG_DFL)
        for other in (self.control, self._wake, self._wake_end, *(run.sock for run in self._all())):
            other.close()

    def _hear(self, run: Run) -> None:
        """Take what a worker has to say."""
        while True:
            try:
                told = messages.receive(run.sock)
            except BlockingIOError:
                return
            if told is None:
                run.sock.close()
                return
            message, descriptors = told
            run.leads, run.is_set = run.leads or "leads" in message, run.is_set or "set" in message
            if "started" in message:
                run.started_at = time.monotonic()
                # Should the spawner be killed, the server knows which group is left.
                group = None if run.engine.contained else run.child
                self._tell({"op": "started", "id": run.number, "group": group, "folder": run.folder})
            if descriptors:
                run.program, *rest = descriptors
                run.output = rest[0] if rest else run.output
            run.status, run.cpu = message.get("exit", run.status), message.get("cpu", run.cpu)
            run.error = message.get("error", run.error)

    def _reap(self) -> None:
        """Wait for everything that has ended; a group is killed before its leader is waited for."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            run = next((one for one in self._all() if ended.si_pid == one.child), None)
            if run is not None:
                if run.sock.fileno() >= 0:
                    self._hear(run)
                run.kill()
                run.ended_at = run.ended_at or time.monotonic()
                run.gone = True
            _, status, used = os.wait4(ended.si_pid, 0)
            self.removals.ended(ended.si_pid)
            if run is not None and run.status is None:
                run.status, run.cpu = os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime

    def _judge(self) -> None:
        """End what has passed a limit, and see off what has ended."""
        self.removals.look()
        now = time.monotonic()
        for run in self.runs:
            if run.ended_at is None and now >= run.deadline():
                run.end("timeout" if run.started_at is not None else "setup")
        if now >= self._next_look and self.runs:
            self._look()
        for run in [one for one in self.runs if one.gone]:
            # Whatever of the group was under way to die has to be gone before its folder can go.
            late = now - (run.ended_at or now) > LEFTOVER_SECONDS
            if run.engine.contained or not run.kill() or late:
                self._see_off(run)
        if self.spare is not None and self.spare.gone:
            self.users.give_back(self.spare.user)
            self.spare.close()
            self.spare = None

    def _look(self) -> None:
        """Look at one run, and at the next in the next step: a look can take long, and no deadline waits for all."""
        if not self._unseen:
            self._seen, self._unseen = (watch.processes(), watch.shared_on_machine()), [*self.runs]
        run, (everyone, shared) = self._unseen.pop(), self._seen
        if run.ended_at is None:
            passed = self.sight.excess(run, everyone, shared)
            if passed is not None:
                run.end(passed)
        self._next_look = time.monotonic() + (0.0 if self._unseen else watch.EVERY_SECONDS)

    def _see_off(self, run: Run) -> None:
        """Report a run that has ended; its folder goes first, or when the server has taken the output."""
        told = run.told()
        if run.folder is not None:
            self.removals.expected.add(run.folder)
        if run.folder is None or run.output is not None:
            self._tell(told, [run.output] if run.output is not None else [])
        else:
            self.removals.remove(run.folder, told)
        self.runs.remove(run)
        self.users.give_back(run.user)
        run.close()

    # ---- the server

    def _tell(self, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
        try:
            messages.send(self.control, message, descriptors or [])
        except OSError:
            self.open = False

    def _obey(self) -> None:
        """Take one request of the server."""
        told = messages.receive(self.control)
        if told is None:
            self.open = False
            return
        message, descriptors = told
        if message["op"] == "run":
            self._start(message, descriptors)
        elif message["op"] == "release":
            self.removals.remove(message["folder"], {"op": "released", "id": message["id"]})
        elif message["op"] == "output":
            found = [one.output for one in self.runs if one.number == message["of"] and one.output is not None]
            self._tell({"op": "output", "id": message["id"]}, found)
        for run in self.runs:
            if run.number == message.get("of") and message["op"] == "end":
                run.end(message["reason"])
            elif run.number == message.get("of") and message["op"] == "signal":
                run.signal(message["signal"])

    def _start(self, message: dict[str, Any], descriptors: list[int]) -> None:
        """Give a job to a worker."""
        try:
            self._give(message, descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _give(self, message: dict[str, Any], descriptors: list[int]) -> None:
        try:
            run, self.spare = self.spare or self._fork(), None
        except OSError as error:
            told = {"status": None, "reason": "setup", "folder": None, "seconds": 0.0, "cpu": 0.0, "error": str(error)}
            self._tell({"op": "ended", "id": message["id"], **told})
            return
        run.number, run.limits, run.shared_before = message["id"], message["limits"], watch.shared_on_machine()
        run.given_at = time.monotonic()
        if not self.runs:
            # Nothing was watched until now; a look goes over the whole machine and would delay the run that begins.
            self._next_look = run.given_at + watch.EVERY_SECONDS
        self.runs.append(run)
        try:
            run.endless = message["mode"] in ("kernel", "command")
            if run.endless or not run.engine.contained:
                run.make_folder(message)
            messages.send(run.sock, message | {"folder": run.folder}, descriptors)
        except OSError as error:
            run.error = f"{type(error).__name__}: {error}"
            run.end("setup")
