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


@pytest.fixture
def ws(virtual: Virtual, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with one held object, in a store that takes no record while it has more than half of all."""
    opened = virtual()
    arts = [opened.put("d", tool="x") for _ in range(OBJECTS)]
    arts[0].hold("audit")
    backend: Any = opened.context.backend
    real = backend.records.put

    async def put(key: str, value: bytes, *, expected: str | None) -> str:
        if len([info async for info in backend.discussions.list("")]) > OBJECTS // 2:
            raise StoreError(f"record {key!r}", "the store is full", full=True)
        return str(await real(key, value, expected=expected))

    monkeypatch.setattr(backend.records, "put", put)
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
