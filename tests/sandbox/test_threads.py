"""Helper threads are at their end when their caller goes on; nothing of a run is left behind by one."""

from __future__ import annotations

import asyncio
import glob
import os
import random
import subprocess
import sys
import threading
from typing import Any

import pytest

import kmnb
from kmnb._bridge import run as wait_for
from kmnb.sandbox._threads import in_thread
from kmnb.sandbox.kernels import run_cell
from kmnb.sandbox.kernels._pool import Pool


def test_a_cancelled_caller_goes_on_when_the_thread_has_ended() -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), []

    def work() -> None:
        begun.set()
        assert go_on.wait(10)
        ended.append(1)
        raise OSError("nobody hears this")

    async def scene() -> tuple[bool, list[int]]:
        task = asyncio.ensure_future(in_thread(work))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        waiting, _ = await asyncio.wait({task}, timeout=0.05)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return bool(waiting), ended

    assert asyncio.run(scene()) == (False, [1])


def test_what_a_thread_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(in_thread(lambda: 1 / 0))
    assert asyncio.run(in_thread(pow, 2, 3)) == 8


def test_runs_that_are_cancelled_at_odd_moments_leave_no_folder() -> None:
    chance = random.Random(5)

    async def scene(ws: Any, one: Any) -> None:
        for _ in range(40):
            task = asyncio.ensure_future(ws.run_async("import time; time.sleep(60)", artifacts=[one]))
            await asyncio.wait({task}, timeout=chance.random() * 0.06)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    with kmnb.connect("memory://", thread="t", agent="a") as ws:
        one = ws.put("a\n", tool="pods")
        before = set(glob.glob("/tmp/kmnb-compute-*") + glob.glob("/tmp/kmnb-turn-*"))
        asyncio.run(scene(ws, one))
        # Waits for its turn behind whatever the cancelled ones still have to tidy up.
        assert ws.run("print(1)", artifacts=[one]).stdout == "1\n"
        left = set(glob.glob("/tmp/kmnb-compute-*") + glob.glob("/tmp/kmnb-turn-*")) - before
        assert [path for path in left if f"-{os.getpid()}-" in path] == []


def test_a_process_that_ends_with_kernels_ready_leaves_no_folder() -> None:
    code = (
        "import kmnb, os\nws = kmnb.connect('memory://', thread='t', agent='a')\n"
        "print(os.getpid(), ws.run_cell('1').ok, ws.run_cell('1', session='s').ok)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    pid, *fine = done.stdout.split()
    assert (fine, done.stderr) == (["True", "True"], "")
    assert glob.glob(f"/tmp/kmnb-cell-{pid}-*") + glob.glob(f"/tmp/kmnb-compute-{pid}-*") == []


def test_the_first_cells_may_be_cancelled_while_all_begins() -> None:
    chance = random.Random(7)

    async def scene(pool: Pool) -> tuple[list[int], list[str]]:
        async def cancelled(seconds: float) -> None:
            task = asyncio.ensure_future(run_cell("import time; time.sleep(60)", pool=pool))
            await asyncio.wait({task}, timeout=seconds)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        await asyncio.gather(*(cancelled(chance.random()) for _ in range(6)))
        await run_cell("1", pool=pool)
        assert pool.host is not None
        spawner = pool.host._process.pid  # type: ignore[union-attr]
        before = len(os.listdir("/proc/self/fd")), len(os.listdir(f"/proc/{spawner}/fd"))
        for _ in range(12):
            await cancelled(chance.random() * 0.2)
        outcome = await run_cell("2", pool=pool)
        await warm_up(pool)
        after = len(os.listdir("/proc/self/fd")), len(os.listdir(f"/proc/{spawner}/fd"))
        return [one - two for one, two in zip(after, before, strict=True)], [outcome.stdout]

    async def warm_up(pool: Pool) -> None:
        pool.refill()
        if pool._filling is not None:
            await pool._filling

    pool = Pool()
    grown, told = wait_for(scene(pool))
    wait_for(pool.close())
    assert told == ["2\n"]
    assert max(grown) < 12, grown
