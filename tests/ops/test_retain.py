"""Retention of named artifacts on a store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kmnb.errors import ArtifactNotFound, BadRequest, NotSupported
from kmnb.ops.workspace import Workspace
from tests.ops.conftest import Clock


def test_nothing_named_goes_without_a_policy_and_with_one_only_after_the_dry_run(ws: Workspace) -> None:
    for number in range(5):
        ws.save("a.txt", f"{number}")
        ws.save("user:b.txt", f"{number}")
    with pytest.raises(BadRequest):
        ws.retain()
    would = ws.retain(keep_last=2)
    assert (would.dry_run, would.deleted, ws.versions("a.txt")) == (True, 6, [0, 1, 2, 3, 4])
    assert ws.retain(keep_last=2, dry_run=False).deleted == 6
    assert (ws.versions("a.txt"), ws.versions("user:b.txt")) == ([3, 4], [3, 4])
    assert ws.save("a.txt", "5").version == 5
    # Leftovers of other processes on this machine may go; nothing of the store does.
    assert [verdict for verdict in ws.sweep().verdicts if verdict.deletes and verdict.reason != "leftover"] == []


def test_age_and_holds_count(virtual: Callable[..., Workspace], clock: Clock) -> None:
    ws = virtual()
    arts = [ws.save("a.txt", f"{number}") for number in range(3)]
    clock.ahead(days=30)
    arts[0].hold("audit")
    report = ws.retain(max_age_seconds=86_400, dry_run=False)
    assert ws.versions("a.txt") == [0, 2]
    verdict = report.explain(arts[0].key)
    assert verdict is not None
    assert str(verdict.reason) == "held"


def test_other_sessions_are_not_touched(connect: Callable[..., Workspace]) -> None:
    one, two = connect(session="s1"), connect(session="s2")
    for ws in (one, two):
        ws.save("a.txt", "0")
        ws.save("a.txt", "1")
    assert one.retain(keep_last=1, dry_run=False).deleted == 1
    assert two.versions("a.txt") == [0, 1]


def test_what_is_held_is_listed_and_metrics_are_told(ws: Workspace) -> None:
    art = ws.put("d", tool="x")
    art.hold("audit")
    (hold,) = ws.holds()
    assert (hold.key, hold.reason) == (art.key, "audit")
    ws.close_thread("t1")
    assert 'kmnb_gc_runs_total{action="close"}' in ws.metrics()


def test_a_store_without_lifecycle_rules_says_what_does_it_instead(ws: Workspace) -> None:
    with pytest.raises(NotSupported, match=r"TTL|sweep"):
        ws.lifecycle()


def test_a_version_that_is_held_while_a_policy_is_carried_out_stays(
    connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hold that is set once the versions were judged, and one that comes too late."""
    from kmnb.ops import retain

    ws, other = connect(), connect()
    for number in range(4):
        ws.save("a.txt", f"{number}")
    early, late = ws.load("a.txt", version=0), ws.load("a.txt", version=1)
    real = retain.claimed

    @asynccontextmanager
    async def interrupted(*given: Any) -> AsyncIterator[float]:
        await (await other.get_async(early.uri)).hold_async("in time")
        async with real(*given) as deadline:
            yield deadline
        with pytest.raises(ArtifactNotFound):
            await late.hold_async("too late")

    monkeypatch.setattr(retain, "claimed", interrupted)
    report = ws.retain(keep_last=1, dry_run=False)
    assert (report.deleted, str(report.explain(early.key).reason)) == (2, "held")
    assert ws.versions("a.txt") == [0, 3]
