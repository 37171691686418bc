"""Sessions of cells belong to one workspace, and end with it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kmnb
from kmnb._bridge import run as wait_for
from kmnb.errors import BoundExceeded
from kmnb.sandbox.kernels import _sessions
from kmnb.sandbox.kernels._cells import default_pool


@pytest.fixture
def connect() -> Iterator[Callable[..., Any]]:
    """Opens workspaces, which are closed at the end."""
    opened = []

    def one(thread: str = "t1", url: str = "memory://") -> Any:
        opened.append(kmnb.connect(url, thread=thread, agent="a"))
        return opened[-1]

    yield one
    for each in opened:
        each.close()


def names() -> list[str]:
    return sorted(name for _, name in default_pool().sessions.known)


def test_workspaces_never_share_a_session_of_one_name(connect: Any) -> None:
    first, thread, twin = (
        connect("t1", "memory://shared"),
        connect("t2", "memory://shared"),
        connect("t1", "memory://shared"),
    )
    assert first.run_cell("secret = 41", session="main").ok
    for other in (thread, twin):
        assert other.run_cell("'secret' in dir()", session="main").stdout == "False\n"
    assert first.run_cell("secret + 1", session="main").stdout == "42\n"
    assert twin.close_session("main")
    assert not twin.close_session("main")
    assert first.run_cell("secret", session="main").stdout == "41\n"


def test_closing_a_workspace_ends_its_own_sessions_alone(connect: Any) -> None:
    first, other = connect(), connect()
    for ws in (first, other):
        assert ws.run_cell("x = 1", session="s").ok
    kernels = [one.kernel for one in default_pool().sessions.known.values()]
    assert len(kernels) == 2
    first.close()
    assert sorted(one.alive for one in kernels if one) == [False, True]
    assert other.run_cell("x", session="s").stdout == "1\n"
    other.close()
    assert names() == []


def test_a_workspace_that_nobody_holds_any_more_ends_its_sessions() -> None:
    ws = kmnb.connect("memory://", thread="t", agent="a")
    assert ws.run_cell("x = 1", session="dropped").ok
    (kernel,) = [one.kernel for (_, name), one in default_pool().sessions.known.items() if name == "dropped"]
    assert kernel is not None
    del ws
    gc.collect()
    wait_for(_ended(kernel))
    assert not kernel.alive


async def _ended(kernel: Any) -> None:
    await kernel.ended


def test_a_session_whose_kernel_had_to_be_ended_says_that_it_begins_anew(connect: Any) -> None:
    ws = connect()
    assert ws.run_cell("x = 1", session="s").notes == ()
    assert ws.run_cell("import time; time.sleep(30)", session="s", timeout_seconds=0.5).timed_out
    outcome = ws.run_cell("x", session="s")
    assert outcome.exit_code == 1
    assert "begins anew" in outcome.notes[0]
    assert ws.run_cell("1", session="s").notes == ()
    ws.close_session("s")
    assert ws.run_cell("1", session="s").notes == ()


def test_cells_that_wait_for_one_that_ends_its_kernel_run_in_a_new_one(connect: Any) -> None:
    ws, found, begun = connect(), {}, threading.Event()

    def first() -> None:
        code = "import os, time\nprint('begun', flush=True)\ntime.sleep(0.5)\nos._exit(3)"
        found["first"] = ws.run_cell(code, session="s", on_output=lambda *_: begun.set())

    threads = [threading.Thread(target=first)]
    threads[0].start()
    assert begun.wait(20)
    for number in range(3):

        def later(number: int = number) -> None:
            found[number] = ws.run_cell("y = globals().get('y', 0) + 1\nprint(y)", session="s")

        threads.append(threading.Thread(target=later))
        threads[-1].start()
    for one in threads:
        one.join(30)
    assert found["first"].exit_code == 3
    assert sorted(found[number].stdout for number in range(3)) == ["1\n", "2\n", "3\n"]


def test_two_first_cells_of_a_session_share_one_kernel(connect: Any) -> None:
    ws, found = connect(), []
    threads = [
        threading.Thread(target=lambda: found.append(ws.run_cell("import os; print(os.getcwd(), id(os))", session="s")))
        for _ in range(4)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert len({one.stdout for one in found}) == 1
    assert names() == ["s"]


def test_a_session_at_work_is_not_closed_to_make_room(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sessions, "SESSIONS_MAX", 2)
    ws, begun, found = connect(), threading.Event(), []
    code = "import time\nprint('begun', flush=True)\ntime.sleep(60)"

    def busy() -> None:
        found.append(ws.run_cell(code, session="busy", on_output=lambda *_: begun.set()))

    thread = threading.Thread(target=busy)
    thread.start()
    assert begun.wait(20)
    assert ws.run_cell("x = 1", session="idle").ok
    assert ws.run_cell("x = 2", session="new").ok
    assert names() == ["busy", "new"]
    monkeypatch.setattr(_sessions, "SESSIONS_MAX", 1)
    ws.close_session("new")
    with pytest.raises(BoundExceeded, match="at work"):
        ws.run_cell("1", session="more")
    assert ws.close_session("busy")
    thread.join(10)
    assert (found[0].reason, found[0].ok) == ("interrupt", False)
    outcome = ws.run_cell("x", session="idle")
    assert outcome.exit_code == 1
    assert "made room" in outcome.notes[0]
