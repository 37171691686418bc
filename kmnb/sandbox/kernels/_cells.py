"""Run a cell in an isolated kernel and give an Outcome, as a program's run does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kmnb.core.bounds import OUTPUT_MAX_BYTES, RUN_SECONDS
from kmnb.core.outcome import Outcome, Reason
from kmnb.sandbox._api import check_level, check_paths
from kmnb.sandbox._limits import Limits, check_code
from kmnb.sandbox._observe import Observer
from kmnb.sandbox._pipes import Output
from kmnb.sandbox._reasons import exit_code_of, reason_of
from kmnb.sandbox._receipts import Ending, Finished, make_outcome
from kmnb.sandbox.kernels._client import Cell
from kmnb.sandbox.kernels._kernel import Kernel, show_artifacts
from kmnb.sandbox.kernels._pool import KERNEL_LIMITS, Pool

INTERRUPT_SECONDS = 1.0
"""How long an interrupted session's cell may take to stop before its kernel is ended."""


@cache
def default_pool() -> Pool:
    """The process's own kernels."""
    return Pool()


os.register_at_fork(after_in_child=default_pool.cache_clear)


async def warm() -> None:
    """Have a kernel ready for the next cell; returns when there is one."""
    pool = default_pool()
    await pool.open()
    pool.refill()
    if pool._filling is not None:
        await asyncio.shield(pool._filling)


async def close_session(name: str) -> bool:
    """End a session; tells whether there was one."""
    return await default_pool().close_session(name)


async def run_cell(
    code: str,
    *,
    session: str | None = None,
    timeout_seconds: float = RUN_SECONDS,
    max_output_bytes: int = OUTPUT_MAX_BYTES,
    required_level: int = 2,
    artifacts_folder: Path | None = None,
    output_folder: Path | None = None,
    artifacts: Sequence[Mapping[str, Any]] = (),
    on_output: Output | None = None,
    mimes: Sequence[str] = ("text/plain",),
    pool: Pool | None = None,
) -> Outcome:
    """Run a Python cell in a kernel that is used once, or in a session's kernel.

    Args:
        code: Text of the cell.
        session: Name of the session whose kernel is kept; None takes a fresh one and throws it away.
        timeout_seconds: Wall-clock limit; above 0, at most 300. A session's kernel ends with it too.
        max_output_bytes: Bytes kept of stdout and of stderr each.
        required_level: Isolation below which it is not run.
        artifacts_folder: Materialised artifacts that it may read.
        output_folder: An empty folder that receives what the cell leaves in ``$KMNB_OUTPUT``, or changes there.
        artifacts: Facts of these artifacts, for the receipt.
        on_output: Called with each piece of output as it comes, on kmnb's own thread.
        mimes: Types of rich results that pass into ``displays``.
        pool: Kernels to take from; None is the process's own.

    Returns:
        What it gave. Results of expressions stand in ``stdout`` as text; exit code 1 is an exception in the cell;
        ``sys.exit()`` counts as in a program.

    Raises:
        SandboxUnavailable: No kernel can be had, or not at that level.
    """
    limits = Limits(timeout_seconds=timeout_seconds, output_bytes=max_output_bytes, **KERNEL_LIMITS)
    check_code(code)
    own = pool or default_pool()
    isolation = await (await own.open()).start()
    check_level(isolation, required_level)
    check_paths(code, isolation, artifacts_folder)
    kernel = await (own.take() if session is None else own.session(session))
    cell = Cell.of(max_output_bytes, on_output, frozenset(mimes))
    async with kernel.lock:
        await asyncio.to_thread(show_artifacts, artifacts_folder, kernel.artifacts)
        around: dict[str, Any] = {"cell": cell, "limits": limits, "session": session, "output": output_folder}
        with Observer(None if session else kernel.artifacts, kernel.note(artifacts)) as observer:
            ending, notes = await _run(own, kernel, code, **around)
    return make_outcome(
        code,
        Finished(ending, cell.outputs, notes, tuple(cell.displays)),
        language="python",
        interpreter=kernel.host.interpreter + ", ipykernel",
        limits=limits,
        isolation=isolation,
        inputs=observer.inputs(),
        session=session or "",
    )


async def _run(
    pool: Pool, kernel: Kernel, code: str, *, cell: Cell, limits: Limits, session: str | None, output: Path | None
) -> tuple[Ending, tuple[str, ...]]:
    """Run the cell against the clock and against the kernel's death; a used-once kernel ends in any case."""
    begin = time.monotonic()
    kernel.cells += 1
    running = asyncio.ensure_future(kernel.client.execute(code, cell, most_bytes=limits.written_bytes))
    forced: str | None = None
    try:
        waiting: set[asyncio.Future[Any]] = {running, kernel.ended}
        await asyncio.wait(waiting, timeout=limits.timeout_seconds,
                           return_when=asyncio.FIRST_COMPLETED)  # fmt: skip
        if running.done():
            forced = "output" if running.result() == "output" else None
        elif kernel.alive:
            forced = "timeout"
    except asyncio.CancelledError:
        await _give_up(pool, kernel, running, session=session)
        raise
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
    seconds = time.monotonic() - begin
    if session is not None and kernel.alive and forced is None:
        return Ending(cell.exit_code, _reason(cell), seconds), await kernel.take_files(output)
    died = not kernel.alive
    if session is not None:
        pool.sessions.pop(session, None)
        pool.used.pop(session, None)
    ended, notes = await kernel.end(forced or "interrupt", output)
    if died:
        return Ending(exit_code_of(ended) or 1, reason_of(exit_code_of(ended), ended["reason"], ""), seconds), notes
    if forced is not None:
        return Ending(-1 if forced == "timeout" else -9, reason_of(-9, forced, ""), seconds), notes
    return Ending(cell.exit_code, _reason(cell), seconds), notes


def _reason(cell: Cell) -> Reason:
    return reason_of(cell.exit_code, None, cell.outputs[1].text()[0])


async def _give_up(pool: Pool, kernel: Kernel, running: asyncio.Future[str], *, session: str | None) -> None:
    """Stop a cell whose caller went away; a session's kernel is kept when it stops by itself."""
    if session is not None:
        kernel.interrupt()
        done, _ = await asyncio.wait({running}, timeout=INTERRUPT_SECONDS)
        if done:
            return
        await pool.close_session(session)
    else:
        await kernel.end("interrupt")
