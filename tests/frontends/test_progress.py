"""Long calls say how far they have come; short ones and tests stay quiet."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import pytest

from kmnb.core.progress import Tally, advance, newest, retried, tally
from kmnb.frontends import _progress
from kmnb.frontends._progress import is_wanted, line_of, patience


class Clock:
    """A clock that each look moves on by a second."""

    def __init__(self) -> None:
        self.now = -1.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "SILENT_SECONDS", 0.5)
    monkeypatch.setattr(_progress, "PAUSE_SECONDS", 0.001)


def test_a_line_has_bytes_share_rate_and_time_left():
    work = Tally("grep", 4 * 2**20)
    assert line_of(work, 3) == "kmnb: working, 3 s"
    work.done = 2**20
    assert line_of(work, 2) == "kmnb: grep 1.0 MiB of 4.0 MiB (25%), 512.0 KiB/s, 6 s left"
    assert line_of(Tally("put", None), 0) == "kmnb: working, 0 s"
    unknown = Tally("put", None)
    assert line_of(unknown, 1) == "kmnb: working, 1 s"
    unknown.done = 2048
    assert line_of(unknown, 2) == "kmnb: put 2.0 KiB, 1.0 KiB/s"


def test_a_line_tells_how_often_requests_were_made_again():
    retried()
    with tally("put") as work:
        retried()
        assert line_of(work, 3) == "kmnb: working, 3 s, 1 retry"
        retried()
        advance(2048)
        assert line_of(work, 2) == "kmnb: put 2.0 KiB, 1.0 KiB/s, 2 retries"


def test_a_long_call_shows_lines_and_takes_them_away(quick):
    shown: list[str] = []
    outcome: Future[Any] = Future()

    def show(text: str) -> None:
        shown.append(text)
        if len(shown) == 3:
            outcome.set_result(1)

    with tally("grep", 100) as work:
        work.done = 50
        patience(show, Clock())(outcome)
    assert shown[0].startswith("kmnb: grep 50 bytes of 100 bytes (50%)")
    assert shown[-1] == ""
    assert len(shown) == 4


def test_a_short_call_shows_nothing():
    shown: list[str] = []
    outcome: Future[Any] = Future()
    threading.Timer(0.01, outcome.set_result, [1]).start()
    patience(shown.append)(outcome)
    assert shown == []


def test_an_error_of_the_call_is_left_for_the_caller(quick):
    outcome: Future[Any] = Future()
    outcome.set_exception(KeyboardInterrupt())
    shown: list[str] = []
    patience(shown.append, Clock())(outcome)
    assert not any(shown)


def test_an_interrupt_while_waiting_comes_through_and_clears_the_line(quick):
    shown: list[str] = []

    def show(text: str) -> None:
        shown.append(text)
        if len(shown) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        patience(show, Clock())(Future())
    assert shown[-1] == ""


def test_work_inside_work_is_a_part_of_it():
    with tally("copy", 10) as outer, tally("read", 5) as inner:
        advance(3)
        assert inner is outer
        assert newest() is outer
        assert outer.done == 3
    assert newest() is None
    advance(1)


@pytest.mark.parametrize("name", ["PYTEST_VERSION", "PYTEST_CURRENT_TEST", "KMNB_QUIET"])
def test_it_is_quiet_under_tests_and_when_told(name):
    assert not is_wanted({name: "1"})
    assert is_wanted({})


def test_reads_and_writes_count_what_they_move(shell, monkeypatch):
    from kmnb import _bridge

    seen: list[tuple[str, int, int | None]] = []

    def look(outcome: Future[Any]) -> None:
        while not outcome.done():
            work = newest()
            if work is not None and work.done:
                seen.append((work.name, work.done, work.total))

    monkeypatch.setattr(_bridge, "patience", look)
    data = b"line\n" * 4_000_000
    shell.user_ns["data"] = data
    shell.run_line_magic("artifact", "put {{data}} --tool t --out art")
    shell.run_line_magic("artifact", "grep art nothing")
    assert {(name, total) for name, _, total in seen} >= {("put", len(data)), ("grep", len(data))}
    assert max(done for _, done, _ in seen) <= 2 * len(data)
