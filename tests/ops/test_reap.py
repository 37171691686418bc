"""Closing and sweeping: only what is surely dead goes, every object has a reason, nothing is lost in a race."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.core.registry import record_key
from kmnb.core.retention import Reason
from kmnb.errors import KeySyntaxError, StoreError
from kmnb.ops import sweeping
from kmnb.ops.workspace import Workspace
from tests.moments import set_clock
from tests.ops.conftest import Clock

Virtual = Callable[..., Workspace]
"""Opens workspaces on the test's clock."""


def keys(ws: Workspace) -> list[str]:
    return [art.key.rpartition("/pilot/")[2] for art in ws.list(f"{ws.namespace}/pilot")]


def reasons(report: Any) -> dict[str, int]:
    return {reason: count for reason, (count, _) in report.by_reason.items() if reason != "leftover"}


def test_closing_deletes_one_thread_and_nothing_beside_it(connect: Any, names: dict[str, str]) -> None:
    ws, other = connect(), connect(crew="pilot2")
    for thread in ("t1", "t10", "t1-x", "t1/x"):
        ws.put("d", tool="x", thread=thread)
    other.put("d", tool="x", thread="t1")
    report = ws.close_thread("t1")
    assert reasons(report) == {"thread-closed": 1}
    assert keys(ws) == ["t1-x/kube/x-0", "t10/kube/x-0", "t1=2Fx/kube/x-0"]
    assert len(list(other.list())) == 1
    assert ws.close_thread("t1").deleted == 0
    assert ws.close_thread("never").deleted == 0


def test_an_empty_thread_cannot_be_closed(ws: Workspace) -> None:
    ws.put("d", tool="x")
    for thread in ("", ".", ".."):
        with pytest.raises(KeySyntaxError):
            ws.close_thread(thread)
    assert keys(ws) == ["t1/kube/x-0"]


def test_closing_takes_one_listing(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        ws.put(f"{number}", tool="x")
    area = type(ws.context.backend.discussions)
    listings, real = [], area.list

    def spy(self: Any, prefix: str = "") -> Any:
        listings.append(prefix)
        return real(self, prefix)

    monkeypatch.setattr(area, "list", spy)
    assert ws.close_thread("t1").deleted == 40
    assert listings == [f"{ws.namespace}/pilot/t1"]


def test_a_failed_deletion_is_reported_and_a_later_sweep_finishes(
    virtual: Virtual, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = virtual()
    for number in range(5):
        ws.put(f"{number}", tool="x")
    area = type(ws.context.backend.discussions)
    real = area.delete

    async def stubborn(self: Any, key: str) -> None:
        if key.endswith("x-2"):
            raise StoreError("artifact", "is locked")
        await real(self, key)

    with monkeypatch.context() as patch:
        patch.setattr(area, "delete", stubborn)
        report = ws.close_thread("t1")
    assert [failure.key.rpartition("/")[2] for failure in report.failures] == ["x-2"]
    assert (report.deleted, keys(ws)) == (4, ["t1/kube/x-2"])
    assert reasons(ws.sweep()) == {"within-grace": 1}
    clock.ahead(hours=2, seconds=5)
    assert reasons(ws.sweep()) == {"thread-closed": 1}
    assert keys(ws) == []


def test_the_cases_of_the_peer_hold_on_a_store(virtual: Virtual, clock: Clock) -> None:
    ws, other_crew, other_namespace = virtual(), virtual(crew="other"), virtual(namespace="elsewhere")
    ws.put("d", tool="x", thread="dead")
    ws.put("d", tool="x", thread="live")
    for other in (other_crew, other_namespace):
        other.put("d", tool="x", thread="dead")
    run(ws.context.backend.discussions.put(f"{ws.namespace}/pilot/foreign/a/agree-u", b"d"))
    run(ws.context.backend.discussions.put(f"{ws.namespace}/pilot/loose", b"d"))
    ws.close_thread("dead")
    run(ws.context.backend.discussions.put(f"{ws.namespace}/pilot/dead/a/x-9", b"d"))
    assert ws.sweep().deleted == 0
    clock.ahead(hours=3)
    ws.open_thread("live")
    report = ws.sweep()
    assert reasons(report) == {"thread-closed": 1, "thread-active": 1, "no-authority": 1, "other-crew": 1}
    assert len(list(other_crew.list(f"{ws.namespace}/other"))) == 1
    assert len(list(other_namespace.list("elsewhere"))) >= 1
    assert reasons(ws.sweep(foreign=True)) == {"foreign-dead": 1, "thread-active": 1, "other-crew": 1}


def test_a_dry_run_tells_the_same_and_deletes_nothing(virtual: Virtual, clock: Clock) -> None:
    ws = virtual()
    for thread in ("t1", "t2"):
        ws.put("d", tool="x", thread=thread)
    clock.ahead(hours=3)
    would = ws.sweep(dry_run=True)
    assert (would.dry_run, would.deleted, len(keys(ws))) == (True, 2, 2)
    assert {found.key for found in would.verdicts if found.deletes} == {
        found.key for found in ws.sweep().verdicts if found.deletes
    }
    assert keys(ws) == []


def test_a_lease_keeps_a_thread_and_a_dead_notebook_does_not(virtual: Virtual, clock: Clock) -> None:
    ws, dead = virtual(), virtual()
    ws.put("d", tool="x", thread="mine")
    dead.put("d", tool="x", thread="theirs")
    for _ in range(10):
        clock.ahead(minutes=30)
        from kmnb.ops.threads import renew_leases

        run(renew_leases(ws.context))
    assert reasons(ws.sweep()) == {"thread-active": 1, "thread-lapsed": 1}


def test_reading_keeps_a_thread_alive_too(virtual: Virtual, clock: Clock) -> None:
    from kmnb.ops.threads import renew_leases

    writer, reader = virtual(), virtual()
    art = writer.put("d", tool="x")
    reader.get(art.key)
    for _ in range(10):
        clock.ahead(minutes=30)
        run(renew_leases(reader.context))
    assert reasons(reader.sweep()) == {"thread-active": 1}


def test_an_unreadable_registry_deletes_nothing(
    virtual: Virtual, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = virtual()
    ws.put("d", tool="x")
    clock.ahead(hours=3)
    records = type(ws.context.backend.records)

    def broken(self: Any, prefix: str = "") -> Any:
        raise StoreError("registry", "cannot be read")

    with monkeypatch.context() as patch:
        patch.setattr(records, "list", broken)
        report = ws.sweep()
    assert reasons(report) == {"registry-unreadable": 1}
    assert "cannot be read" in report.notes[0]
    assert ws.sweep().deleted >= 1


def test_a_damaged_entry_keeps_its_thread_only(virtual: Virtual, clock: Clock) -> None:
    ws = virtual()
    for thread in ("t1", "t2"):
        ws.put("d", tool="x", thread=thread)
    records = ws.context.backend.records
    key = record_key(ws.namespace, "pilot", "t1")
    run(records.put(key, b"{ damaged", expected=run(records.get(key)).revision))
    clock.ahead(hours=3)
    assert reasons(ws.sweep()) == {"registry-unreadable": 1, "thread-lapsed": 1}


def test_a_lost_registry_deletes_nothing_before_the_ttl(virtual: Virtual, clock: Clock, url: str) -> None:
    ws = virtual()
    ws.put("d", tool="x")
    run(ws.context.backend.records.delete(record_key(ws.namespace, "pilot", "t1")))
    clock.ahead(hours=47)
    assert reasons(ws.sweep()) == {"no-authority": 1}
    clock.ahead(hours=2)
    expected = "no-authority" if url.startswith("nats") else "expired"
    assert reasons(ws.sweep()) == {expected: 1}


def test_a_new_spill_that_races_with_a_sweep_stays(
    virtual: Virtual, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = virtual(settings={"grace_seconds": 0.0, "lease_seconds": 1.0})
    other = virtual(settings={"grace_seconds": 0.0, "lease_seconds": 1.0})
    ws.put("old", tool="x")
    clock.ahead(seconds=60)
    real = sweeping.judge_crew

    async def judged_then_revived(*args: Any, **options: Any) -> Any:
        found = await real(*args, **options)
        await other.put_async("new", tool="x")
        return found

    monkeypatch.setattr(sweeping, "judge_crew", judged_then_revived)
    report = ws.sweep()
    assert reasons(report) == {"thread-active": 1}
    assert keys(ws) == ["t1/kube/x-0", "t1/kube/x-1"]


def test_a_sweep_whose_end_cannot_be_written_down_tells_what_it_did(
    virtual: Virtual, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = virtual()
    ws.put("d", tool="x")
    clock.ahead(hours=3)
    records = type(ws.context.backend.records)
    real = records.put

    async def refuses(self: Any, key: str, value: bytes, *, expected: str | None) -> str:
        if key.startswith("sweeps/"):
            raise StoreError("record", "is locked")
        return await real(self, key, value, expected=expected)

    monkeypatch.setattr(records, "put", refuses)
    report = ws.sweep()
    assert (report.deleted, ["is locked" in failure.reason for failure in report.failures]) == (1, [True])


def test_a_store_that_cannot_be_written_loses_nothing(
    virtual: Virtual, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = virtual()
    ws.put("d", tool="x")
    clock.ahead(hours=3)

    async def refuses(self: Any, key: str, value: bytes, *, expected: str | None) -> str:
        raise StoreError("record", "is locked")

    monkeypatch.setattr(type(ws.context.backend.records), "put", refuses)
    report = ws.sweep()
    assert (report.deleted, report.deleted_bytes, len(keys(ws))) == (0, 0, 1)
    assert any(failure.key.endswith("/x-0") for failure in report.failures)


def test_each_collection_writes_one_line_with_its_reasons(virtual: Virtual, caplog: Any) -> None:
    ws = virtual()
    ws.put("data", tool="x")
    ws.save("a.txt", "1")
    with caplog.at_level("INFO", logger="kmnb.gc"):
        ws.sweep(dry_run=True)
        ws.sweep()
        ws.close_thread("t1")
        ws.retain(keep_last=1, dry_run=False)
    lines = [record.getMessage() for record in caplog.records if record.name == "kmnb.gc"]
    assert [line.partition(" ")[0] for line in lines] == ["sweep", "close", "retain"]
    assert "thread-active 1 (4 bytes)" in lines[0]
    assert "thread-closed 1 (4 bytes)" in lines[1]
    assert "latest-version 1 (1 bytes)" in lines[2]


def test_nothing_of_a_closed_thread_stays_and_everything_named_does(virtual: Virtual, url: str) -> None:
    """Sidecars go along; a session may have the name of the thread."""
    ws = virtual(session="t1")
    large, long = bytes(9 * 1024 * 1024), "é\n" * 3000
    ws.put(large, tool="x")
    ws.put(long, tool="x")
    ws.save("large.bin", large)
    ws.save("user:long.txt", long)
    ws.close_thread("t1")
    assert keys(ws) == []
    assert ws.load("large.bin").read(0, len(large)) == large
    assert ws.load("user:long.txt").size == len(long.encode())
    if url.startswith("memory"):
        import obstore

        raw = ws.context.backend._bucket._store  # type: ignore[attr-defined]
        paths = [str(meta["path"]) for page in obstore.list(raw) for meta in page]
        assert not [path for path in paths if "discussions/" in path]


def test_two_sweeps_at_once_are_harmless(virtual: Virtual, clock: Clock) -> None:
    import asyncio

    ws, other = virtual(), virtual()
    for number in range(30):
        ws.put(f"{number}", tool="x")
    clock.ahead(hours=3)

    async def both() -> list[Any]:
        return await asyncio.gather(sweeping.sweep(ws.context), sweeping.sweep(other.context))

    reports = run(both())
    assert all(not report.failures for report in reports)
    assert keys(ws) == []


def test_the_registry_forgets_a_closed_thread_after_ttl_and_grace(virtual: Virtual, clock: Clock) -> None:
    ws = virtual()
    ws.put("d", tool="x")
    ws.close_thread("t1")
    clock.ahead(hours=49)
    ws.sweep()
    assert [str(thread.state) for thread in ws.threads()] == ["closed"]
    clock.ahead(hours=2)
    report = ws.sweep()
    assert "leftover" in report.by_reason
    assert len(ws.threads()) == 0


def test_a_background_sweep_happens_when_it_is_due_and_once(virtual: Virtual, clock: Clock) -> None:
    ws, other = virtual(), virtual()
    ws.put("d", tool="x")
    assert run(sweeping.sweep_if_due(ws.context)) is not None
    assert run(sweeping.sweep_if_due(other.context)) is None
    clock.ahead(minutes=31)
    assert run(sweeping.sweep_if_due(other.context)) is not None


def test_a_background_sweep_waits_for_another_one_until_its_lease_ends(virtual: Virtual, clock: Clock) -> None:
    ws = virtual()
    run(ws.context.backend.records.put(
        f"sweeps/{ws.namespace}/pilot",
        json.dumps({"until": (clock().replace(microsecond=0)).isoformat(), "holder": "killed"}).encode(),
        expected=None,
    ))  # fmt: skip
    clock.ahead(seconds=-60)
    assert run(sweeping.sweep_if_due(ws.context)) is None
    clock.ahead(seconds=120)
    assert run(sweeping.sweep_if_due(ws.context)) is not None


def test_closing_and_sweeping_leave_other_verdicts_explained(virtual: Virtual) -> None:
    ws = virtual()
    art = ws.put("d", tool="x")
    found = ws.sweep(dry_run=True).explain(art.key)
    assert found is not None
    assert found.reason is Reason.ACTIVE


def test_threads_of_a_foreign_coordinator_are_learned_from_what_it_says(bus: Callable[..., Workspace]) -> None:
    ws = bus()
    ahead = Clock()
    ahead.ahead(hours=3)
    set_clock(ws, ahead)

    def says(kind: str, thread: str) -> None:
        message = {"messageId": f"{kind}-{thread}", "threadId": thread, "messageType": kind, "content": ""}
        subject = f"kubemoot.discuss.{ws.namespace}.pilot.general.{thread}"
        run(ws.context.backend.bus.publish(subject, json.dumps(message).encode(), stored=True))  # type: ignore[union-attr]

    for thread in ("lives", "ended", "closed", "silent"):
        run(ws.context.backend.discussions.put(f"{ws.namespace}/pilot/{thread}/a/agree-u", b"d"))
    for thread in ("lives", "ended", "closed"):
        says("thread_start", thread)
    says("synthesis", "ended")
    says("thread_close", "closed")
    assert reasons(ws.sweep()) == {"foreign-active": 1, "no-authority": 3}
    assert len(keys(ws)) == 4
    report = ws.sweep(foreign=True)
    assert reasons(report) == {"foreign-active": 1, "foreign-dead": 3}
    assert keys(ws) == ["lives/a/agree-u"]


def test_a_thread_of_ours_that_a_foreign_coordinator_runs_on_is_not_swept(bus: Callable[..., Workspace]) -> None:
    ws, ahead = bus(), Clock()
    set_clock(ws, ahead)
    for thread in ("run-on", "ended", "ours"):
        ws.put(b"d", tool="t", thread=thread)

    def says(kind: str, thread: str, source: str) -> None:
        message = {"messageId": f"{kind}-{thread}", "messageType": kind, "content": "", "metadata": {"source": source}}
        subject = f"kubemoot.discuss.{ws.namespace}.pilot.broadcast.{thread}"
        run(ws.context.backend.bus.publish(subject, json.dumps(message).encode(), stored=True))  # type: ignore[union-attr]

    for thread in ("run-on", "ended"):
        says("thread_start", thread, "elsewhere")
        says("heartbeat", thread, "elsewhere")
    says("synthesis", "ended", "elsewhere")
    says("thread_start", "ours", "kmnb")
    ahead.ahead(hours=5)
    assert reasons(ws.sweep()) == {"foreign-active": 1, "thread-lapsed": 2}
    assert [key.partition("/")[0] for key in keys(ws)] == ["run-on"]


def test_a_bus_that_cannot_be_read_deletes_nothing(
    bus: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = bus()
    ws.put("d", tool="x")
    ahead = Clock()
    ahead.ahead(hours=5)
    set_clock(ws, ahead)

    def broken(self: Any, subject: str) -> Any:
        raise StoreError("bus", "cannot be read")

    with monkeypatch.context() as patch:
        patch.setattr(type(ws.context.backend.bus), "history", broken)
        assert reasons(ws.sweep(foreign=True)) == {"registry-unreadable": 1}
    assert len(keys(ws)) == 1
