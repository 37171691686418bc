"""A lease that ran out does not kill a thread whose holder is known to run: machines sleep."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import kmnb
from kmnb.ops.holders import _started, holder_name, is_dead, is_running
from tests.moments import end_background

SHORT = {"sweep_on_connect": False, "lease_seconds": 1, "grace_seconds": 0}

HOLDER = """
import sys, kmnb
from tests.moments import end_background
ws = kmnb.connect(sys.argv[1], namespace=sys.argv[2], config={"sweep_on_connect": False, "lease_seconds": 1})
end_background(ws)  # what a machine that sleeps does to the heartbeat
ws.put("d", tool="x")
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_process_is_known_by_its_number_and_its_start() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    try:
        own = holder_name()
        host, boot, _, _ = own.split(":")
        started = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19]
        theirs = f"{host}:{boot}:{child.pid}:{started}"
        assert is_running(theirs)
        assert not is_running(f"{host}:{boot}:{child.pid}:1")
        assert not is_running(f"elsewhere:{boot}:{child.pid}:{started}")
        assert not is_running(own)
        assert not is_dead(own)
        assert not is_dead(theirs)
        assert not is_dead(f"elsewhere:{boot}:{child.pid}:1")
        for text in ("", ":::", "a:b:c:d", f"{host}:{boot}:{os.getpid()}:"):
            assert not is_running(text)
    finally:
        child.communicate(timeout=10)
    assert not is_running(theirs)
    assert is_dead(theirs)


def test_a_sleeping_holder_keeps_its_thread_and_a_dead_one_does_not(shared_url: str, names: dict[str, str]) -> None:
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, shared_url, names["namespace"]],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        with kmnb.connect(shared_url, namespace=names["namespace"], config=SHORT) as ws:
            wait_for_lapse(ws)
            assert ws.sweep().by_reason["thread-active"] == (1, 1)
            child.communicate(timeout=10)
            assert ws.sweep().by_reason["thread-lapsed"] == (1, 1)
    finally:
        child.kill()
        child.wait()


def test_another_workspace_of_this_process_keeps_its_thread(shared_url: str, names: dict[str, str]) -> None:
    with kmnb.connect(shared_url, **names, config=SHORT) as ws:
        holder = kmnb.connect(shared_url, **names, config=SHORT)
        holder.put("d", tool="x")
        end_background(holder)
        wait_for_lapse(ws)
        assert ws.sweep().by_reason["thread-active"] == (1, 1)
        holder.close()
        assert ws.sweep().by_reason["thread-lapsed"] == (1, 1)


def wait_for_lapse(ws: Any) -> None:
    """Wait, within bounds, until the registry's lease has run out."""
    import time

    deadline = time.monotonic() + 10
    while [str(thread.state) for thread in ws.threads()] != ["lapsed"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_nobody_of_another_namespace_of_process_numbers_is_judged_by_its_number() -> None:
    host, start, _, _ = holder_name().split(":")
    boot, _, namespace = start.partition(".")
    assert namespace.isdigit()
    assert is_dead(f"{host}:{start}:{2**22 + 1}:7")
    for other in (f"{boot}.1", boot):
        assert not is_dead(f"{host}:{other}:{2**22 + 1}:7")
        assert not is_running(f"{host}:{other}:1:{_started(1)}")
