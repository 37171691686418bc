"""Show how far a blocking call has come once it takes longer than a second."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, TimeoutError
from typing import Any

from kmnb.core.display import size_text
from kmnb.core.progress import Tally, newest

SILENT_SECONDS = 1.0
"""Calls that are shorter show nothing."""
PAUSE_SECONDS = 0.25
"""Pause between two looks."""

Show = Callable[[str], None]
"""Shows a line in the place of the one before; an empty one takes it away."""


def line_of(tally: Tally | None, seconds: float) -> str:
    """Write one line: what is done, how much of it, how fast, and how long it may still take.

    Args:
        tally: The work; None where it tells nothing.
        seconds: How long it has lasted.
    """
    if tally is None or not tally.done:
        return f"kmnb: working, {seconds:.0f} s{_retries(tally)}"
    rate = tally.done / seconds if seconds > 0 else 0.0
    text = f"kmnb: {tally.name} {size_text(tally.done)}"
    if tally.total:
        # A query may look at some bytes twice.
        share = min(tally.done / tally.total, 1.0)
        left = max(tally.total - tally.done, 0) / rate if rate else 0.0
        text += f" of {size_text(tally.total)} ({share:.0%}), {size_text(int(rate))}/s, {left:.0f} s left"
    else:
        text += f", {size_text(int(rate))}/s"
    return f"{text}{_retries(tally)}"


def _retries(tally: Tally | None) -> str:
    count = 0 if tally is None else tally.retries
    return f", {count} {'retry' if count == 1 else 'retries'}" if count else ""


def patience(show: Show, clock: Callable[[], float] = time.monotonic) -> Callable[[Future[Any]], None]:
    """Make what waits for a call and shows how far it has come.

    Args:
        show: Shows a line.
        clock: Seconds.

    Returns:
        A function that returns when the call is done; an interrupt passes through it.
    """

    def wait(outcome: Future[Any]) -> None:
        begun, shown = clock(), False
        try:
            while not outcome.done():
                elapsed = clock() - begun
                if elapsed >= SILENT_SECONDS:
                    shown = True
                    show(line_of(newest(), elapsed))
                _pause(outcome, PAUSE_SECONDS if shown else SILENT_SECONDS)
        finally:
            if shown:
                show("")

    return wait


def _pause(outcome: Future[Any], seconds: float) -> None:
    try:
        outcome.exception(timeout=seconds)
    except TimeoutError:
        return
    except BaseException:
        if not outcome.done():
            raise


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether progress is shown at all: not under tests, whose outputs are compared, nor where it is switched off."""
    return not any(environment.get(name) for name in ("PYTEST_VERSION", "PYTEST_CURRENT_TEST", "KMNB_QUIET"))


def terminal_show() -> Show | None:
    """Show on stderr where that is a terminal; None elsewhere."""
    if not (is_wanted(os.environ) and sys.stderr.isatty()):
        return None

    def show(text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    return show


def notebook_show() -> Show | None:
    """Show in one output of a notebook that is written again and again, and empty at the end."""
    if not is_wanted(os.environ):
        return None
    handles: list[Any] = []

    def show(text: str) -> None:
        from IPython.display import display

        data = {"text/plain": text}
        if handles and text:
            handles[-1].update(data, raw=True)
        elif handles:
            handles.pop().update({"text/plain": ""}, raw=True)
        elif text:
            handle: Any = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
            handles.extend([handle] if handle is not None else [])

    return show
