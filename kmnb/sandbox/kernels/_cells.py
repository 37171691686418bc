"""Run a cell in an isolated kernel and give an Outcome, as a program's run does."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from kmnb.core.bounds import OUTPUT_MAX_BYTES, RUN_SECONDS
from kmnb.core.outcome import Outcome
from kmnb.sandbox._api import check_level, check_paths
from kmnb.sandbox._arguments import (
    Listener,
    check_facts,
    check_folder,
    check_level_asked,
    check_names,
    check_session,
    check_shown_folder,
)
from kmnb.sandbox._limits import Limits, check_code
from kmnb.sandbox._observe import Observer
from kmnb.sandbox._pipes import Output
from kmnb.sandbox._reasons import exit_code_of, reason_of
from kmnb.sandbox._receipts import Ending, Finished, make_outcome
from kmnb.sandbox._threads import in_thread
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


async def close_session(name: str, *, owner: str = "") -> bool:
    """End a session of an owner; tells whether there was one.

    Raises:
        BadRequest: It is no name.
    """
    return await default_pool().sessions.close((owner, check_session(name)))


async def close_sessions(owner: str) -> None:
    """End all sessions of an owner."""
    await default_pool().sessions.close_all(owner)


async def run_cell(
    code: str,
    *,
    session: str | None = None,
    owner: str = "",
    timeout_seconds: float = RUN_SECONDS,
    max_output_bytes: int = OUTPUT_MAX_BYTES,
    required_level: int = 2,
    artifacts_folder: str | PathLike[str] | None = None,
    output_folder: str | PathLike[str] | None = None,
    artifacts: Sequence[Mapping[str, Any]] = (),
    on_output: Output | None = None,
    mimes: Sequence[str] = ("text/plain",),
    pool: Pool | None = None,
) -> Outcome:
    """Run a Python cell in a kernel that is used once, or in a session's kernel.

    Args:
        code: Text of the cell.
        session: Name of the session whose kernel is kept; None takes a fresh one and throws it away.
        owner: Whose session it is; the same name of another owner is another session.
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
        What it gave. Results of expressions stand in ``stdout`` as text; exit code 1 is an exception in the cell,
        ``sys.exit`` gives its own.

    Raises:
        BadRequest: An argument that cannot be meant.
        BoundExceeded: More sessions at work than there may be.
        SandboxUnavailable: No kernel can be had, or not at that level.
    """
    limits = Limits.of(timeout_seconds, max_output_bytes, KERNEL_LIMITS)
    text, heard, facts = check_code(code).decode(), Listener(on_output), check_facts(artifacts)
    folder, output = (
        check_shown_folder("artifacts_folder", artifacts_folder),
        check_folder("output_folder", output_folder),
    )
    cell = Cell.of(limits.output_bytes, heard, frozenset(check_names("mimes", mimes, example='["text/plain"]')))
    name = None if session is None else check_session(session)
    own = pool or default_pool()
    check_level_asked(required_level)
    isolation = await (await own.open()).start()
    check_level(isolation, required_level)
    check_paths(code, isolation, folder)
    async with own.once() if name is None else own.sessions.hold((owner, name)) as (kernel, remarks):
        await in_thread(show_artifacts, folder, kernel.artifacts)
        with Observer(None if name else kernel.artifacts, kernel.note(facts)) as observer:
            ending, notes = await _run(kernel, text, cell=cell, limits=limits, kept=name is not None, output=output)
    return make_outcome(
        code,
        Finished(ending, cell.outputs, (*remarks, *notes, *heard.notes), tuple(cell.displays)),
        language="python",
        interpreter=kernel.host.interpreter + ", ipykernel",
        limits=limits,
        isolation=isolation,
        inputs=observer.inputs(),
        session=name or "",
    )


async def _run(
    kernel: Kernel, code: str, *, cell: Cell, limits: Limits, kept: bool, output: Path | None
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
        if kernel.ending is None and running.done():
            forced = "output" if running.result() == "output" else None
        elif kernel.alive:
            forced = "timeout" if kernel.ending is None else "interrupt"
    except asyncio.CancelledError:
        await _give_up(kernel, running, kept=kept)
        raise
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    seconds = time.monotonic() - begin
    if kept and kernel.alive and forced is None:
        return _ending(cell, seconds), await kernel.take_files(output)
    died = not kernel.alive
    ended, notes = await kernel.end(forced or "interrupt", output)
    if died:
        status = exit_code_of(ended)
        used = {"cpu_seconds": ended["cpu"], "cpu_limit": limits.cpu_seconds}
        reason, by = reason_of(status, ended["reason"], "", **used)
        return Ending(status or 1, reason, seconds, by), (*notes, "the cell ended its kernel")
    if forced is not None:
        return Ending(-1 if forced == "timeout" else -9, reason_of(-9, forced, "")[0], seconds), notes
    return _ending(cell, seconds), notes


def _ending(cell: Cell, seconds: float) -> Ending:
    reason, by = reason_of(cell.exit_code, None, cell.outputs[1].text()[0])
    return Ending(cell.exit_code, reason, seconds, by)


async def _give_up(kernel: Kernel, running: asyncio.Future[str], *, kept: bool) -> None:
    """Stop a cell whose caller went away; a session's kernel is kept when it stops by itself."""
    if kept:
        kernel.interrupt()
        done, _ = await asyncio.wait({running}, timeout=INTERRUPT_SECONDS)
        if done:
            return
    await kernel.end("interrupt")
