"""The cycle collector rests while rows are made, and is what it was afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import kmnb
from kmnb.ops._uncollected import uncollected
from kmnb.ops.workspace import Workspace

CONTENT = b"a,b\n" + b"1,x\n" * 200_000


@pytest.fixture
def ws() -> Iterator[Workspace]:
    """A workspace in memory."""
    with kmnb.connect("memory://", thread="t", agent="a", config={"sweep_on_connect": False}) as workspace:
        yield workspace


@pytest.fixture(params=[True, False], ids=["on", "off"])
def collecting(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether it is on before."""
    try:
        (gc.enable if request.param else gc.disable)()
        yield bool(request.param)
    finally:
        gc.enable()


def failing() -> None:
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise ZeroDivisionError


def test_it_is_off_inside_and_as_before_afterwards_whatever_happens(collecting: bool) -> None:
    with pytest.raises(ZeroDivisionError):
        failing()
    assert gc.isenabled() is collecting


def test_a_sip_leaves_it_as_it_was_and_does_not_run_it_by_the_row(collecting: bool, ws: Workspace) -> None:
    art = ws.put(CONTENT, tool="x")
    begun: list[str] = []

    def note(phase: str, _: object) -> None:
        begun.append(phase)

    gc.callbacks.append(note)
    try:
        (told,) = art.stats(["a"], where="b = 'x'").values
    finally:
        gc.callbacks.remove(note)
    assert told["count"] == 200_000
    assert gc.isenabled() is collecting
    # A row is a list: with collection on at every 700th there would be nearly 300 of them.
    assert begun.count("start") < 100
