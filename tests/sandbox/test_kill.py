"""Nothing that a program starts outlives its run, however the run ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kmnb._bridge import run as wait_for
from kmnb.errors import SandboxUnavailable
from kmnb.sandbox import _api
from kmnb.sandbox._host import Host

from .conftest import descendants

DAEMON = """
import os, signal, time
def escape():
    if os.fork() == 0:
        try: os.setsid()
        except OSError: pass
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
for _ in range(3): escape()
"""
HOPPER = """
import os, time
end = time.time() + 60
while time.time() < end:
    try:
        if os.fork(): os._exit(0)
    except OSError: continue
    try: os.setsid()
    except OSError: pass
"""


def settled(host: Host) -> bool:
    """Whether the spawner has no process but the one worker that it keeps ready."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        below = descendants(host._process.pid)  # type: ignore[union-attr]
        if len(below) == 1 and set(below.values()) == {"S"}:
            return True
        time.sleep(0.01)  # a process that was killed needs a moment to go; the deadline bounds it
    return False


@pytest.mark.parametrize("ending", ["pass", "time.sleep(30)", "os._exit(3)", "os.kill(os.getpid(), 9)"])
def test_daemons_are_gone_with_the_run(run: Any, host: Host, ending: str) -> None:
    outcome = run(DAEMON + ending, timeout_seconds=0.5)
    assert outcome.seconds < 2
    assert settled(host)


def test_a_process_that_forks_and_exits_on_end_is_gone(run: Any, host: Host) -> None:
    assert run(HOPPER, timeout_seconds=1).seconds < 3
    assert settled(host)


def test_bash_jobs_are_gone(run: Any, host: Host) -> None:
    outcome = run("(trap '' TERM HUP; sleep 60) & nohup sleep 60 & sh -c 'sleep 60 & wait' & exit 3", language="bash")
    assert (outcome.exit_code, outcome.timed_out) == (3, False)
    assert settled(host)


def test_timeout_in_bash_ends_its_command_and_not_the_program(run: Any) -> None:
    outcome = run("timeout 0.2 sleep 30; echo $?", language="bash")
    assert outcome.stdout == "124\n"


def test_an_interrupted_run_is_gone_within_a_second(
    host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(_api, "default_host", lambda: host)
    tmp_path.chmod(0o711)

    async def interrupt() -> float:
        task = asyncio.ensure_future(_api._run(DAEMON + "time.sleep(30)", run_parent=tmp_path))
        while not len(descendants(host._process.pid)) > 3:  # type: ignore[union-attr]
            await asyncio.sleep(0.01)
        begin = time.monotonic()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return begin

    begin = wait_for(interrupt())
    assert settled(host)
    assert time.monotonic() - begin < 1
    assert list(tmp_path.iterdir()) == []


def test_a_spawner_that_dies_takes_its_runs_with_it_and_another_one_starts(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_api, "default_host", lambda: host)

    async def scene() -> set[int]:
        task = asyncio.ensure_future(_api._run(DAEMON + "time.sleep(30)"))
        spawner = host._process.pid  # type: ignore[union-attr]
        while len(descendants(spawner)) < 4:
            await asyncio.sleep(0.01)
        below = set(descendants(spawner))
        os.kill(spawner, signal.SIGKILL)
        with pytest.raises(SandboxUnavailable, match="ended"):
            await task
        return below

    below = wait_for(scene())
    deadline = time.monotonic() + 2
    while (alive := {pid for pid in below if _alive(pid)}) and time.monotonic() < deadline:
        time.sleep(0.01)  # bounded by the deadline
    assert alive == set()
    assert _api.run("print(6 * 7)").stdout == "42\n"


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_server_that_is_killed_leaves_nothing(host: Host, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom kmnb._bridge import run\nfrom kmnb.sandbox import _api\nfrom kmnb.sandbox._host import Host\n"
        f"host = Host(engines={tuple(host.engines)!r})\nrun(host.start())\n_api.default_host = lambda: host\n"
        "print(host._process.pid, flush=True)\n"
        f"_api.run({DAEMON + 'time.sleep(30)'!r})\n"
    )
    server = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
    assert server.stdout is not None
    spawner = int(server.stdout.readline())
    while len(descendants(spawner)) < 4:
        assert server.poll() is None
        time.sleep(0.01)  # until its program is under way
    below = {spawner, *descendants(spawner)}
    server.kill()
    server.wait(5)
    server.stdout.close()
    deadline = time.monotonic() + 2
    while (alive := {pid for pid in below if _alive(pid)}) and time.monotonic() < deadline:
        time.sleep(0.01)  # bounded by the deadline
    assert alive == set()


def test_a_hundred_runs_leave_no_process_folder_or_descriptor(run: Any, host: Host, tmp_path: Path) -> None:
    tmp_path.chmod(0o711)
    run("print(1)", run_parent=tmp_path)
    assert settled(host)
    before = len(os.listdir("/proc/self/fd"))
    own = len(os.listdir(f"/proc/{host._process.pid}/fd"))  # type: ignore[union-attr]
    for number in range(100):
        assert run(f"print({number})", run_parent=tmp_path).stdout == f"{number}\n"
    assert len(os.listdir("/proc/self/fd")) <= before
    assert settled(host)
    assert len(os.listdir(f"/proc/{host._process.pid}/fd")) <= own  # type: ignore[union-attr]
    assert list(tmp_path.iterdir()) == []


def test_sixteen_runs_at_once_all_succeed(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_api, "default_host", lambda: host)

    async def all_at_once() -> list[str]:
        runs = [_api._run(f"import time; time.sleep(.2); print({number})") for number in range(16)]
        return [outcome.stdout for outcome in await asyncio.gather(*runs)]

    assert wait_for(all_at_once()) == [f"{number}\n" for number in range(16)]
    assert settled(host)
