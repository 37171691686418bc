"""Show the end of a program's output while it runs; when it has ended, its Outcome shows the whole instead.

What is shown takes the place of what was shown before and goes at the end, so that a saved notebook is the same whether
somebody watched or not.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from kmnb.core.preview import neutralise
from kmnb.core.progress import newest
from kmnb.frontends._progress import SILENT_SECONDS, Show, is_wanted, line_of

SHOWN_AFTER_SECONDS = 0.3
"""Programs that are shorter show nothing before their Outcome."""
PAUSE_SECONDS = 0.1
"""Least time between two views of the output."""
LINES = 20
"""Lines of the output that are shown."""
CHARACTERS = 4000
"""Characters of the output that are kept for it."""


class Live:
    """The last lines of two outputs, as they come.

    Args:
        show: Shows a text in the place of the one before; an empty one takes it away.
        clock: Seconds.
    """

    def __init__(self, show: Show, clock: Callable[[], float] = time.monotonic) -> None:
        self._show, self._clock = show, clock
        self._changed = threading.Condition()
        self._text, self._new = "", False

    def take(self, name: str, text: str) -> None:
        """Take a piece of output; called on any thread."""
        with self._changed:
            self._text = (self._text + text[-CHARACTERS:])[-CHARACTERS:]
            self._new = True
            self._changed.notify()

    def wait(self, outcome: Future[Any]) -> None:
        """Wait for the program's end and show its output until then; an interrupt passes through."""
        outcome.add_done_callback(lambda _: self._wake())
        begun, shown = self._clock(), False
        try:
            while not outcome.done():
                elapsed = self._clock() - begun
                text = self._view(elapsed)
                if text:
                    shown = True
                    self._show(text)
                self._pause(outcome, elapsed)
        finally:
            if shown:
                self._show("")

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify()

    def _view(self, elapsed: float) -> str:
        """Give what is to be shown now; nothing where that is not new."""
        with self._changed:
            text, new, self._new = self._text, self._new, False
        if elapsed < SHOWN_AFTER_SECONDS:
            self._new = self._new or new
            return ""
        if new:
            return "\n".join(neutralise(line) for line in text.rstrip("\n").split("\n")[-LINES:])
        return line_of(newest(), elapsed) if elapsed >= SILENT_SECONDS and not text else ""

    def _pause(self, outcome: Future[Any], elapsed: float) -> None:
        """Wait a moment, then for something new: until then a look is only for those who print nothing."""
        with self._changed:
            early = max(SHOWN_AFTER_SECONDS - elapsed, PAUSE_SECONDS)
            self._changed.wait_for(outcome.done, early)
            self._changed.wait_for(lambda: self._new or outcome.done(), SILENT_SECONDS)


def terminal_area() -> Show | None:
    """Show on stderr where that is a terminal; None elsewhere."""
    if not (is_wanted(os.environ) and sys.stderr.isatty()):
        return None
    height = 0

    def show(text: str) -> None:
        nonlocal height
        columns = max(shutil.get_terminal_size().columns - 1, 1)
        lines = [line[:columns] for line in text.split("\n")] if text else []
        up = f"\x1b[{height}A" if height else ""
        sys.stderr.write(f"{up}\r\x1b[J" + "".join(f"{line}\n" for line in lines))
        sys.stderr.flush()
        height = len(lines)

    return show


def notebook_area() -> Show | None:
    """Show in the cell's own outputs and clear them at the end, so that nothing of it is kept; None in tests."""
    if not is_wanted(os.environ):
        return None

    def show(text: str) -> None:
        from IPython.display import clear_output, display

        clear_output(wait=bool(text))  # type: ignore[no-untyped-call]
        if text:
            display({"text/plain": text}, raw=True)  # type: ignore[no-untyped-call]

    return show


def live_for(shell: Any) -> Live | None:
    """Give what shows a program's output in this shell; None where nothing is to be shown."""
    show = notebook_area() if hasattr(shell, "kernel") else terminal_area()
    return None if show is None else Live(show)
