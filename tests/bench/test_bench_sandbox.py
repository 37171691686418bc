"""What isolation costs: runs and cells beside a bare interpreter, a process group, bubblewrap and a plain kernel."""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import AsyncKernelManager

from kmnb._bridge import run as wait_for
from kmnb.sandbox import _api
from kmnb.sandbox._host import Host
from kmnb.sandbox.kernels import run_cell
from kmnb.sandbox.kernels._pool import Pool
from tests.sandbox.conftest import ENGINES, descendants

TIMES = 20
PYTHON = os.path.realpath(sys._base_executable)  # type: ignore[attr-defined]
BARE = [PYTHON, "-I", "-S", "-c", "print(1)"]


def median_ms(call: Callable[[], object], *, pause: float = 0.0) -> float:
    """Milliseconds of a call, in the middle of some."""
    taken = []
    for _ in range(TIMES):
        time.sleep(pause)  # so that what is prepared in the background is ready, as between two cells
        begin = time.perf_counter()
        call()
        taken.append(1000 * (time.perf_counter() - begin))
    return statistics.median(taken)


def private_mib(pid: int) -> float:
    """Memory of a process that it shares with no other."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


@pytest.fixture(scope="module")
def bare() -> float:
    return median_ms(lambda: subprocess.run(BARE, capture_output=True, check=True))


def test_peers(figure: Any, bare: float) -> None:
    figure("bare `python -I -S -c 'print(1)'`", bare, "ms")
    group = median_ms(lambda: subprocess.run(BARE, capture_output=True, check=True, start_new_session=True, env={}))
    figure("process group with an empty environment", group, "ms")
    bwrap = shutil.which("bwrap")
    if bwrap is not None:
        command = [bwrap, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", *BARE]
        figure("bubblewrap, all namespaces", median_ms(lambda: subprocess.run(command, capture_output=True)), "ms")
    assert group > 0


def once_ms(call: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    begin = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begin)


@pytest.mark.parametrize("engine", ENGINES)
def test_runs(figure: Any, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for prepare in (False, True):
        host = Host(engines=(engine,), prepare=prepare)
        start = once_ms(lambda host=host: wait_for(host.start()))
        monkeypatch.setattr(_api, "default_host", lambda host=host: host)
        # In turn, so that both meet the same load of the machine.
        rounds = []
        for _ in range(TIMES):
            bare = once_ms(lambda: subprocess.run(BARE, capture_output=True, check=True))
            time.sleep(0.03)  # so that the next worker is ready, as between two runs
            rounds.append((bare, once_ms(lambda: _api.run("print(1)"))))
        name = "prepared" if prepare else "no prepared worker"
        bare, call = (statistics.median(column) for column in zip(*rounds, strict=True))
        ratio = statistics.median(mine / theirs for theirs, mine in rounds)
        figure(f"run of print(1), {engine}, {name}", call, "ms", budget="10 ms" * prepare, peer=f"bare {bare:.1f} ms")
        figure(f"... beside the bare interpreter of the same round, {engine}, {name}", ratio, "×", budget="2 ×")
        if prepare:
            bash = median_ms(lambda: _api.run("echo 1", language="bash"), pause=0.03)
            figure(f"run of echo 1 in bash, {engine}", bash, "ms", budget="15 ms")
            time.sleep(0.5)  # the next worker is prepared once nothing runs
            (worker,) = descendants(host._process.pid)  # type: ignore[union-attr]
            figure(f"private memory of the idle worker, {engine}", private_mib(worker), "MiB", budget="15 MiB")
        else:
            figure(f"first start of the spawner, {engine}", start, "ms", budget="150 ms")
        wait_for(host.close())
        assert call > 0


async def plain_kernel() -> tuple[float, float]:
    """Seconds to start a plain kernel and of one round trip on it."""
    begin = time.perf_counter()
    manager = AsyncKernelManager(kernel_name="python3")
    await manager.start_kernel()
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready(timeout=30)
    start, taken = time.perf_counter() - begin, []
    for _ in range(TIMES):
        begin = time.perf_counter()
        await client.execute_interactive("1", output_hook=lambda _: None)
        taken.append(time.perf_counter() - begin)
    client.stop_channels()
    await manager.shutdown_kernel(now=True)
    return start, statistics.median(taken)


@pytest.mark.parametrize("engine", ENGINES)
def test_cells(figure: Any, engine: str) -> None:
    start, trip = asyncio.run(plain_kernel())
    figure("plain kernel, start to ready", 1000 * start, "ms")
    figure("plain kernel, round trip", 1000 * trip, "ms")
    pool = Pool(engines=(engine,))
    begin = time.perf_counter()
    wait_for(run_cell("1", pool=pool))
    figure(f"first cell of all, {engine}: ipykernel is imported", 1000 * (time.perf_counter() - begin), "ms")
    first: list[float] = []

    def note(begin: float, *_: str) -> None:
        first.append(time.perf_counter() - begin)

    def cell() -> None:
        begin = time.perf_counter()
        wait_for(run_cell("print(1)", pool=pool, on_output=lambda *_: first.append(time.perf_counter() - begin)))

    empty = Pool(engines=(engine,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pool, "refill", lambda self: None)
        wait_for(empty.open())
        for _ in range(TIMES // 2):
            heard = partial(note, time.perf_counter())
            wait_for(run_cell("print(1)", pool=empty, on_output=heard))
    wait_for(empty.close())
    figure(f"cell with the pool empty, {engine}, first output", 1000 * statistics.median(first), "ms", budget="150 ms")
    first.clear()
    whole = median_ms(cell, pause=0.4)
    time.sleep(0.5)  # the next kernel is prepared in the background
    waiting = descendants(pool.host._process.pid)  # type: ignore[union-attr]
    memory = sum(map(private_mib, waiting))
    figure(f"private memory of the idle kernel, {engine}", memory, "MiB", budget="25 MiB")
    told = 1000 * statistics.median(first)
    figure(
        f"cell from the pool, {engine}, first output", told, "ms", budget="30 ms", peer=f"kernel {1000 * start:.0f} ms"
    )
    figure(f"cell from the pool, {engine}, kernel ended and tidied up", whole, "ms")
    wait_for(run_cell("1", pool=pool, session="s"))
    session = median_ms(lambda: wait_for(run_cell("1", pool=pool, session="s")))
    figure(f"cell of a session, {engine}", session, "ms", budget=f"{1000 * trip:.0f} + 20 ms")
    wait_for(pool.close())
    assert session > 0
