"""Holds: kept until released or until they end, always shown, always bounded."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.errors import ArtifactNotFound, BadRequest, BoundExceeded
from kmnb.ops.holders import holder_name
from kmnb.ops.sweeping import sweep
from kmnb.ops.workspace import Workspace
from tests.ops.conftest import Clock

Virtual = Callable[..., Workspace]


def test_a_held_artifact_survives_closing_and_sweeping_and_is_shown_in_every_report(
    virtual: Virtual, clock: Clock
) -> None:
    ws = virtual()
    held, other = ws.put("held", tool="x"), ws.put("other", tool="x")
    held.hold("audit of the incident")
    report = ws.close_thread("t1")
    verdict = report.explain(held.key)
    assert verdict is not None
    assert (str(verdict.reason), "audit of the incident" in verdict.detail) == ("held", True)
    clock.ahead(hours=50)
    assert ws.sweep().by_reason["held"] == (1, 4)
    assert ws.get(held.key).read(0, 10) == b"held"
    with pytest.raises(ArtifactNotFound):
        ws.get(other.key)


def test_a_hold_ends_after_seven_days_or_when_it_is_released(virtual: Virtual, clock: Clock) -> None:
    ws = virtual()
    arts = [ws.put(f"{number}", tool="x") for number in range(2)]
    for art in arts:
        art.hold("audit")
    ws.close_thread("t1")
    arts[0].release()
    clock.ahead(hours=3)
    ws.sweep()
    assert [art.key for art in ws.list()] == [arts[1].key]
    clock.ahead(days=7)
    report = ws.sweep()
    assert list(ws.list()) == []
    assert any("the hold of" in verdict.detail for verdict in report.verdicts)
    assert ws.sweep(dry_run=True).verdicts == ()


def test_a_hold_needs_a_reason_and_is_bounded(ws: Workspace) -> None:
    art = ws.put("d", tool="x")
    for reason, seconds in (("", None), ("  ", None), ("audit", 0), ("audit", -1), ("audit", float("nan"))):
        with pytest.raises(BadRequest):
            art.hold(reason, seconds=seconds)
    with pytest.raises(BoundExceeded, match="keep"):
        art.hold("audit", seconds=91 * 24 * 3600)
    art.hold("audit")
    art.hold("another reason", seconds=60)
    art.release()
    art.release()


def test_what_was_deleted_meanwhile_cannot_be_held(ws: Workspace) -> None:
    art, known = ws.put("d", tool="x"), ws.put("e", tool="x")
    references = [art, ws.get(art.key), ws.get(art.envelope()), next(iter(ws.list()))]
    known.hold("held before")
    for one in (art, known):
        ws.delete(one.key)
    run(ws.context.backend.named.delete(find_copy_key(known.key)))
    for handle in (*references, known):
        with pytest.raises(ArtifactNotFound, match="deleted"):
            handle.hold("audit")
    assert list(ws.holds()) == []


def find_copy_key(key: str) -> str:
    import hashlib

    return f"=held/{hashlib.sha256(key.encode()).hexdigest()}"


def test_a_hold_whose_original_the_server_removed_stands_in_every_report(virtual: Virtual, clock: Clock) -> None:
    ws = virtual()
    art = ws.put("d", tool="x")
    art.hold("audit")
    run(ws.context.backend.discussions.delete(art.key))
    clock.ahead(hours=50)
    for report in (ws.sweep(dry_run=True), ws.sweep(), ws.close_thread("t1", dry_run=True), ws.close_thread("t1")):
        verdict = report.explain(art.key)
        assert verdict is not None
        assert (str(verdict.reason), "original is gone" in verdict.detail) == ("held", True)
    art.release()
    assert ws.close_thread("t1").verdicts == ()


def test_a_held_copy_has_the_attributes_of_its_original(virtual: Virtual, url: str) -> None:
    ws = virtual()
    ws.put("NAME\npod-a\n", tool="x")
    (listed,) = list(ws.list())
    first = ws.get(listed.key)
    listed.hold("audit")
    if url.startswith("nats"):
        run(ws.context.backend.discussions.delete(listed.key))
    fresh = ws.get(listed.key)
    assert (fresh.rows, fresh.preview) == (first.rows, first.preview)
    assert "pod-a" in str(fresh.preview)


def test_a_hold_that_races_with_a_sweep_holds_or_says_that_it_is_too_late(
    virtual: Virtual, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A holder at each step of a sweep: nobody is told that something is held that goes."""
    from kmnb.ops import reap

    ws, other = virtual(), virtual()
    for name, call in (("claimed_or_full", 1), ("active_holds", 1), ("active_holds", 2), ("delete_all", 1)):
        art = ws.put("d", tool="x", thread=f"race-{name}-{call}")
        clock.ahead(hours=5)
        holding: list[asyncio.Task[None]] = []
        real, calls = getattr(reap, name), count(1)

        async def hold(art: Any = art) -> None:
            await (await other.get_async(art.key)).hold_async("just in time")

        def step(*given: Any, real: Any = real, calls: Any = calls, call: int = call, **options: Any) -> Any:
            if next(calls) == call:
                holding.append(asyncio.create_task(hold()))  # noqa: B023
            return real(*given, **options)

        async def both() -> bool:
            await sweep(ws.context)
            try:
                await holding[0]  # noqa: B023
            except ArtifactNotFound:
                return False
            return True

        with monkeypatch.context() as patch:
            patch.setattr(reap, name, step)
            held = run(both())
        if held:
            assert ws.get(art.key).read(0, 10) == b"d"
            assert [hold.key for hold in ws.holds()] == [art.key]
            art.release()
        else:
            assert list(ws.holds()) == []


def test_a_killed_sweep_delays_holds_of_its_own_objects_only_and_its_claim_goes(
    virtual: Virtual, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kmnb.ops import claims

    ws = virtual()
    art, other = ws.put("d", tool="x"), ws.put("e", tool="x")
    value = json.dumps({"until": clock().isoformat(), "of": [claims.mark_of(art.key)]}).encode()
    run(ws.context.backend.records.put("claims/killed", value, expected=None))
    run(ws.context.backend.records.put("claims/damaged", b"[", expected=None))
    began = time.monotonic()
    ended = [*holder_name().split(":")[:2], "1", "7"]
    by_dead = json.dumps({"until": clock().isoformat(), "of": [claims.mark_of(other.key)], "by": ":".join(ended)})
    run(ws.context.backend.records.put("claims/dead", by_dead.encode(), expected=None))
    other.hold("audit")
    assert time.monotonic() - began < claims.CLAIM_SECONDS / 2
    monkeypatch.setattr(claims, "CLAIM_SECONDS", 0.2)
    monkeypatch.setattr(claims, "_POLL_SECONDS", 0.01)
    other.hold("audit")
    art.hold("audit")
    assert len(list(ws.holds())) == 2
    clock.ahead(hours=2)
    leftovers = {one.key for one in ws.sweep().verdicts if str(one.reason) == "leftover"}
    assert {"record:claims/killed", "record:claims/damaged", "record:claims/dead"} <= leftovers


def test_a_copy_whose_hold_was_never_written_down_is_collected(virtual: Virtual, clock: Clock) -> None:
    ws = virtual()
    art, lost = ws.put("d", tool="x"), f"{ws.namespace}/b/c/d/e-0"
    odd = f"=held/odd-{ws.namespace}"
    named = ws.context.backend.named
    run(named.put(find_copy_key(lost), b"lost", attributes={"held-key": lost}))
    run(named.put(odd, b"lost too"))
    art.hold("audit")
    ws.save("kept.txt", "named")

    def found(**options: bool) -> dict[str, int | None]:
        ours = {f"copy:{find_copy_key(key)}" for key in (lost, art.key)} | {f"copy:{odd}"}
        return {one.key: one.size for one in ws.sweep(**options).verdicts if one.key in ours}

    assert found(dry_run=True) == {}, "they may be under way"
    clock.ahead(hours=2)
    assert found() == {f"copy:{find_copy_key(lost)}": 4, f"copy:{odd}": 8}
    assert found() == {}
    assert ws.load("kept.txt").read(0, 10) == b"named"
    assert ws.get(art.key).read(0, 10) == b"d"


def test_holds_of_very_long_threads_hold_too(virtual: Virtual, clock: Clock) -> None:
    ws = virtual()
    art = ws.put("d", tool="x", thread="t" * 905)
    art.hold("audit")
    clock.ahead(hours=5)
    assert str(ws.sweep().explain(art.key).reason) == "held"  # type: ignore[union-attr]
    clock.ahead(days=8)
    ws.sweep()
    assert list(ws.holds()) == []


def test_holds_of_named_artifacts_end_too_and_copy_nothing(virtual: Virtual, clock: Clock) -> None:
    ws = virtual()
    art = ws.save("report.csv", "a\n1\n")
    art.hold("audit")
    assert find_copy_key(art.key) not in run(_keys(ws))
    clock.ahead(days=8)
    assert any("the hold of" in one.detail for one in ws.sweep().verdicts)
    assert not any("the hold of" in one.detail for one in ws.sweep().verdicts)
    assert ws.load("report.csv").read(0, 10) == b"a\n1\n"


async def _keys(ws: Workspace) -> list[str]:
    return [info.key async for info in ws.context.backend.named.list("")]


def test_what_the_server_removes_is_copied_before_it_is_held(virtual: Virtual, clock: Clock, url: str) -> None:
    ws = virtual()
    art = ws.put("NAME\npod-a\n", tool="x")
    reference = art.envelope()
    art.hold("audit")
    if not url.startswith("nats"):
        assert ws.filenames() == []
        return
    run(ws.context.backend.discussions.delete(art.key))
    for handle in (ws.get(art.key), ws.get(reference), art):
        assert handle.key == art.key
        assert handle.head(1).values == ["NAME"]
    art.hold("longer", seconds=1000)
    assert ws.get(art.key).read(0, 100) == b"NAME\npod-a\n"
    art.release()
    with pytest.raises(ArtifactNotFound):
        ws.get(art.key)
