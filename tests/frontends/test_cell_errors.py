"""An error of kmnb that a cell raised: the caller's own lines, then the message with the next step."""

from __future__ import annotations

import re
from typing import Any

import pytest
from IPython.utils.capture import capture_output

MESSAGE = "ArtifactNotFound: artifact 'a/b': never existed, was deleted or has expired. Ask its producer for it again"


STOPPED = """
import asyncio, signal, threading

def stopped(task=None):
    yield b'x'
    if task is None:
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    else:
        task.get_loop().call_soon_threadsafe(task.cancel)
    while True:
        yield b'x'
"""
"""What interrupts the call that reads it: an endless one otherwise."""


@pytest.fixture
def shown(shell: Any) -> Any:
    """Run a cell over a workspace and give what it shows."""
    shell.run_cell("import kmnb\nws = kmnb.connect('memory://')")

    def shown(cell: str) -> list[str]:
        with capture_output(display=False) as captured:
            shell.run_cell(cell)
        return re.sub(r"\x1b\[[0-9;]*m", "", captured.stdout).splitlines()

    yield shown
    shell.run_cell("ws.close()")


def test_a_message_holds_no_escape_sequence(shell: Any, shown: Any) -> None:
    shell.run_cell("table = ws.put('a,b\\n1,2\\n', tool='t', media_type='text/csv')")
    assert "␛[31mx" in shown("table.select(['\\x1b[31mx'])")[-1]


@pytest.mark.parametrize("loaded", [True, False])
@pytest.mark.parametrize("cell", ["ws.get('a/b')", "await ws.get_async('a/b')"])
def test_our_own_frames_are_left_out(shell: Any, shown: Any, cell: str, loaded: bool) -> None:
    if not loaded:
        shell.run_line_magic("unload_ext", "kmnb")
    lines = shown(cell)
    assert f"----> 1 {cell}" in lines
    assert lines[-1].startswith(MESSAGE)
    assert len(lines) <= 6


@pytest.mark.parametrize(("cell", "message"), [
    ("ws.put('x')", "TypeError: Workspace.put() missing 1 required keyword-only argument: 'tool'"),
    ("await ws.put_async('x')", "TypeError: Workspace.put() missing 1 required keyword-only argument: 'tool'"),
    ("list(ws.list(zzz=1))", "TypeError: Workspace.list() got an unexpected keyword argument 'zzz'"),
    ("ws.put('x', tool='t').heda", "AttributeError: 'Artifact' object has no attribute 'heda'"),
    ("ws.put(stopped(), tool='t')", "KeyboardInterrupt:"),
    ("await ws.put_async(stopped(asyncio.current_task()), tool='t')", "CancelledError:"),
])  # fmt: skip
def test_so_are_they_of_an_interrupt_and_of_odd_arguments(shell: Any, shown: Any, cell: str, message: str) -> None:
    shell.run_cell(STOPPED)
    lines = shown(cell)
    assert lines[-1].strip() == message
    assert f"----> 1 {cell}" in lines
    assert not [line for line in lines if "File " in line]


def test_functions_and_generators_of_the_caller_are_shown(shown: Any) -> None:
    part, store = "yield ws.get('a/b').read(0, 1)", "ws.put(parts(), tool='t')"
    lines = shown(f"def parts():\n    {part}\ndef store():\n    {store}\nstore()")
    marked = [line[8:].strip() for line in lines if line.startswith("---->")]
    assert marked == ["store()", store, part]
    assert not [line for line in lines if "File " in line]


def test_every_frame_is_there_for_who_asks(shown: Any) -> None:
    for before, after in (("xmode Verbose", "xmode Context"), ("config KmnbMagics.short_errors = False", "config")):
        shown(f"%{before}")
        lines = shown("ws.get('a/b')")
        shown(f"%{after}")
        assert any("_face_store.py" in line for line in lines)
        assert lines[-1].startswith(MESSAGE)
