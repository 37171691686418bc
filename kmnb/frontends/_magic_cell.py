"""``%%artifact spill --tool NAME``: store what a cell returns, else what it prints."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kmnb.errors import BadRequest


def data_of_cell(shell: Any, cell: str) -> Any:
    """Run a cell and give the value of its last expression, else what it printed.

    Args:
        shell: The IPython shell.
        cell: Source of the cell.

    Returns:
        A value that is not None; then what the cell printed is printed after all. Otherwise the printed text.

    Raises:
        BadRequest: The cell raised an error, which IPython has shown, gave nothing, or awaits inside
            another cell.
    """
    from IPython.utils.capture import capture_output

    if _waits(shell, cell):
        raise BadRequest(
            "%%artifact", "a cell inside a cell cannot await in a kernel",
            "Await in a cell of its own, then %artifact spill {{name}} --tool NAME.",
        )  # fmt: skip
    values: list[Any] = []
    with capture_output(display=False) as captured, _displayed_to(shell, values.append):
        result = shell.run_cell(cell, store_history=False)
    printed, value = captured.stdout, values[-1] if values else None
    failed = result.error_before_exec or result.error_in_exec
    if failed is None and value is None and printed:
        sys.stderr.write(captured.stderr)
        return printed
    captured()
    if failed is not None:
        raise BadRequest("%%artifact", f"the cell raised {type(failed).__name__}", "Nothing was stored.") from None
    if value is None:
        raise BadRequest("%%artifact", "the cell gave nothing", "Let it print, or end with an expression.")
    return value


def _waits(shell: Any, cell: str) -> bool:
    """Whether a cell would have to be awaited by the loop that this cell runs on already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    try:
        return bool(shell.should_run_async(cell, transformed_cell=shell.transform_cell(cell)))
    except SyntaxError:
        return False  # running it shows the error


@contextmanager
def _displayed_to(shell: Any, take: Callable[[Any], None]) -> Iterator[None]:
    """Have the value of an expression handed over instead of shown: showing it could cost more than storing it.

    The trap sets the hook of a cell that is run by itself, ``sys`` holds that of one inside another cell.
    """
    hook, before = shell.display_trap.hook, sys.displayhook
    shell.display_trap.hook = sys.displayhook = take
    try:
        yield
    finally:
        shell.display_trap.hook, sys.displayhook = hook, before
