"""A cell's output is seen while it runs, bounded, and leaves no trace of that."""

from __future__ import annotations

import io
import os
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from kmnb.frontends import _live
from kmnb.frontends._live import Live, terminal_area
from tests.frontends.jupyter import running_kernel
from tests.frontends.test_progress import Clock


def test_the_last_lines_are_shown_as_they_come_and_taken_away():
    outcome: Future[Any] = Future()
    shown: list[str] = []

    def show(text: str) -> None:
        shown.append(text)
        if len(shown) == 1:
            live.take("stdout", "".join(f"row {number}\n" for number in range(5000)) + "\x1b[2Jend \u202e")
        elif len(shown) == 2:
            outcome.set_result(1)

    live = Live(show, Clock())
    live.take("stdout", "first\n")
    live.wait(outcome)
    assert shown[0] == "first"
    assert shown[1].split("\n")[-2:] == ["row 4999", "end \\u202e"]
    assert len(shown[1].split("\n")) == _live.LINES
    assert shown[2:] == [""]


def test_a_program_that_says_nothing_shows_that_it_works():
    outcome: Future[Any] = Future()
    shown: list[str] = []

    def show(text: str) -> None:
        shown.append(text)
        if text:
            outcome.set_result(1)

    Live(show, Clock()).wait(outcome)
    assert shown[0].startswith("kmnb: working")
    assert shown[1:] == [""]


def test_an_interrupt_comes_through_and_clears_what_was_shown():
    shown: list[str] = []

    def show(text: str) -> None:
        shown.append(text)
        if text:
            raise KeyboardInterrupt

    live = Live(show, Clock())
    live.take("stderr", "x")
    with pytest.raises(KeyboardInterrupt):
        live.wait(Future())
    assert shown == ["x", ""]


def test_a_quick_program_shows_nothing():
    outcome: Future[Any] = Future()
    shown: list[str] = []
    live = Live(shown.append)
    live.take("stdout", "x")
    threading.Timer(0.01, outcome.set_result, [1]).start()
    live.wait(outcome)
    assert shown == []


def test_a_terminal_shows_lines_that_fit_and_clears_them(monkeypatch: pytest.MonkeyPatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert terminal_area() is None
    monkeypatch.setattr(_live, "is_wanted", lambda environment: True)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(_live.shutil, "get_terminal_size", lambda: os.terminal_size((11, 20)))
    show = terminal_area()
    assert show is not None
    show("a\n" + "b" * 50)
    show("")
    assert sys.stderr.getvalue() == f"\r\x1b[Ja\n{'b' * 10}\n\x1b[2A\r\x1b[J"  # type: ignore[attr-defined]


CELL = """%%compute --level 0
import time
for number in range(8):
    print("row", number, flush=True)
    time.sleep(0.1)
"""


def kept(published: list[dict[str, Any]]) -> list[Any]:
    """What a notebook holds after a cell: nothing from before an output was cleared."""
    found: list[Any] = []
    for content in published:
        found = [] if content["kind"] == "clear_output" else [*found, content.get("data")]
    return found


BASH = """%%compute bash --level 0
for number in 0 1 2 3 4 5 6 7; do echo row $number; sleep 0.1; done
"""


def test_a_notebook_sees_output_early_and_keeps_the_same_as_a_quiet_one(tmp_path: Path):
    quiet = {"PYTEST_VERSION": "", "PYTEST_CURRENT_TEST": "", "KMNB_URL": f"file://{tmp_path}/store"}
    with running_kernel(tmp_path, **quiet) as kernel:
        kernel.run("%load_ext kmnb\nimport os")
        # So that a kernel is ready for the next one.
        kernel.run("%%compute --level 0\n1")
        loud = [kernel.run(cell) for cell in (CELL, BASH)]
        kernel.run("os.environ['KMNB_QUIET'] = '1'")
        still = [kernel.run(cell) for cell in (CELL, BASH)]
    for seen, plain in zip(loud, still, strict=True):
        early = [one["data"]["text/plain"] for one in seen if one["kind"] == "display_data"]
        assert any(text.endswith(("row 3", "row 4", "row 5")) for text in early), early
        assert len(early) <= 20
        assert [one["kind"] for one in plain] == ["execute_result"]
        assert kept(seen) == kept(plain)
