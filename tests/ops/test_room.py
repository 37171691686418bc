"""A store without room for one more record: garbage is collected all the same, and what is held stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.core.events import DELETED
from kmnb.core.retention import Reason, Verdict
from kmnb.errors import StoreError
from kmnb.ops import reap
from kmnb.ops.workspace import Workspace
from tests.ops.conftest import Clock

Virtual = Callable[..., Workspace]
OBJECTS = 24


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"memory://{tmp_path.name}"


def fill(ws: Workspace, area: Any, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the store take no record while an area holds more objects than that."""
    records: Any = ws.context.backend.records
    real = records.put

    async def put(key: str, value: bytes, *, expected: str | None) -> str:
        if len([info async for info in area.list("")]) > most:
            raise StoreError(f"record {key!r}", "the store is full", full=True)
        return str(await real(key, value, expected=expected))

    monkeypatch.setattr(records, "put", put)


@pytest.fixture
def ws(virtual: Virtual, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with one held object, in a store that takes no record while it has more than half of all."""
    opened = virtual()
    arts = [opened.put("d", tool="x") for _ in range(OBJECTS)]
    arts[0].hold("audit")
    fill(opened, opened.context.backend.discussions, OBJECTS // 2, monkeypatch)
    return opened


def test_a_thread_is_closed_in_a_full_store(ws: Workspace) -> None:
    report = ws.close_thread("t1")
    assert report.by_reason["thread-closed"][0] == OBJECTS - 1
    assert report.failures == ()
    assert [art.key for art in ws.list()] == [hold.key for hold in ws.holds()]


def test_where_nothing_may_go_the_store_stays_full_and_says_so(ws: Workspace) -> None:
    with pytest.raises(StoreError, match="the store is full"):
        ws.close_thread("empty")
    assert len(list(ws.list())) == OBJECTS


def test_a_sweep_makes_room_for_its_claims(ws: Workspace, clock: Clock) -> None:
    clock.ahead(hours=3)
    verdicts = [Verdict(art.key, Reason.EXPIRED, 1) for art in ws.list()]
    done, failures = run(reap.delete_claimed(ws.context, verdicts, kind=DELETED))
    assert failures == []
    assert sorted(verdict.key for verdict in done) == sorted(verdict.key for verdict in verdicts)
    assert [art.key for art in ws.list()] == [hold.key for hold in ws.holds()]


def test_a_hold_is_released_in_a_full_store(ws: Workspace) -> None:
    (hold,) = ws.holds()
    ws.get(hold.key).release()
    assert list(ws.holds()) == []


def test_a_name_is_removed_in_a_full_store_and_its_numbers_are_not_given_again(
    virtual: Virtual, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = virtual()
    for number in range(5):
        ws.save("r.csv", f"{number}")
    with monkeypatch.context() as patch:
        fill(ws, ws.context.backend.named, 3, patch)
        assert ws.remove("r.csv") == 5
        assert list(ws.filenames()) == []
    assert ws.save("r.csv", "new").version == 5
