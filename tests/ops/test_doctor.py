"""The doctor's findings, and putting the TTL right on a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import nats
import pytest

import kmnb
from kmnb._bridge import run
from kmnb.errors import StoreUnavailable
from kmnb.ops.sweeping import sweep_if_due
from kmnb.ops.workspace import Workspace
from tests.moments import set_clock


def findings(ws: Workspace, **options: Any) -> dict[str, Any]:
    return {finding.name: finding for finding in ws.doctor(**options)}


def test_a_fresh_store_is_in_order_but_for_the_machine(ws: Workspace) -> None:
    ws.put("d", tool="x")
    found = findings(ws)
    assert {name: item.status for name, item in found.items() if name != "sandbox"} == dict.fromkeys(
        ["store", "ttl", "clock", "registry", "last sweep", "holds", "coordinator"], "ok"
    )
    assert "1 active of 1" in found["registry"].detail


def test_what_cannot_be_looked_at_is_a_finding_too(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(self: Any) -> Any:
        raise StoreUnavailable("store", "is away")

    monkeypatch.setattr(type(ws.context.backend), "describe", away)
    found = findings(ws)
    assert (found["store"].status, "is away" in found["store"].detail) == ("failed", True)
    assert found["registry"].status == "ok"


def test_a_damaged_registry_entry_is_found(ws: Workspace) -> None:
    run(ws.context.backend.records.put(f"threads/{ws.namespace}/pilot/bad", b"{", expected=None))
    assert findings(ws)["registry"].status == "warning"
    assert findings(ws, fix=True)["registry"].status == "ok"
    kept = [record.value for record in run(all_records(ws, "set-aside"))]
    assert b"{" in kept


async def all_records(ws: Workspace, prefix: str) -> list[Any]:
    return [record async for record in ws.context.backend.records.list(prefix)]


def test_a_damaged_record_of_the_last_sweep_ends_no_sweeps(tmp_path: Path, names: dict[str, str]) -> None:
    with kmnb.connect(f"file://{tmp_path}", config={"sweep_on_connect": False}, **names) as ws:
        assert run(sweep_if_due(ws.context)) is not None
        (file,) = (path for path in (tmp_path / "records" / "sweeps").rglob("*@"))
        file.write_bytes(b"bad")
        assert run(sweep_if_due(ws.context)) is not None
        assert run(sweep_if_due(ws.context)) is None


def test_a_damaged_record_concerns_its_own_thread_and_is_set_aside(tmp_path: Path, names: dict[str, str]) -> None:
    with kmnb.connect(f"file://{tmp_path}", config={"sweep_on_connect": False}, **names) as ws:
        for thread in ("bad", "good"):
            ws.put("d", tool="x", thread=thread)
        (file,) = (path for path in (tmp_path / "records" / "threads").rglob("bad@"))
        file.write_bytes(b"not a record")
        assert {thread.thread: str(thread.state) for thread in ws.threads()} == {"bad": "unreadable", "good": "active"}
        ahead = datetime.now(UTC) + timedelta(hours=5)
        set_clock(ws, lambda: ahead)
        report = ws.sweep()
        assert {str(row.reason): row.key.split("/")[2] for row in report.verdicts if "/pilot/" in row.key} == {
            "registry-unreadable": "bad",
            "thread-lapsed": "good",
        }
        found = findings(ws)["registry"]
        assert (found.status, "doctor --fix" in found.advice) == ("warning", True)
        assert f"threads/{ws.namespace}/pilot/bad" in found.detail
        assert findings(ws, fix=True)["registry"].status == "ok"
        (kept,) = file.parent.glob("bad@.damaged-*")
        assert kept.read_bytes() == b"not a record"
        assert {thread.thread: str(thread.state) for thread in ws.threads()}["bad"] == "active"
        assert ws.sweep().deleted == 0


@pytest.mark.parametrize("act", ["open_thread", "close_thread"])
def test_a_thread_with_a_damaged_record_can_be_opened_and_closed(
    tmp_path: Path, names: dict[str, str], act: str
) -> None:
    with kmnb.connect(f"file://{tmp_path}", config={"sweep_on_connect": False}, **names) as ws:
        ws.put("d", tool="x", thread="bad")
        (file,) = (path for path in (tmp_path / "records" / "threads").rglob("bad@"))
        file.write_bytes(b"")
        getattr(ws, act)("bad")
        (thread,) = ws.threads()
        assert str(thread.state) == {"open_thread": "active", "close_thread": "closed"}[act]


def test_a_sweep_in_the_future_counts_as_none(ws: Workspace) -> None:
    ahead = (datetime.now(UTC) + timedelta(days=30)).isoformat()
    record = json.dumps({"last": ahead, "until": ahead, "holder": "wrong"}).encode()
    run(ws.context.backend.records.put(f"sweeps/{ws.namespace}/pilot", record, expected=None))
    assert findings(ws)["last sweep"].detail == "never"
    assert run(sweep_if_due(ws.context)) is not None
    assert findings(ws)["last sweep"].detail == "0 min ago"


async def make_bucket(url: str, name: str, max_age: float) -> None:
    client = await nats.connect(url)
    try:
        from nats.js.api import ObjectStoreConfig

        await client.jetstream().create_object_store(name, config=ObjectStoreConfig(ttl=max_age or None))
    finally:
        await client.close()


@pytest.mark.parametrize("age", [0, 3600])
def test_a_bucket_with_another_ttl_is_noticed_and_put_right(
    nats_url: str, names: dict[str, str], caplog, age: int
) -> None:
    bucket = f"bucket-{names['namespace']}"
    asyncio.run(make_bucket(nats_url, bucket, age))
    with kmnb.connect(f"{nats_url}/{bucket}", **names) as ws:
        assert findings(ws)["ttl"].status == "warning"
        assert "doctor --fix" in findings(ws)["ttl"].advice
        assert findings(ws, fix=True)["ttl"].status == "ok"
    with kmnb.connect(f"{nats_url}/{bucket}", **names) as ws:
        assert findings(ws)["ttl"].status == "ok"
    assert "doctor --fix" in caplog.text


def test_a_crew_that_a_foreign_coordinator_runs_is_noticed(bus: Callable[..., Workspace]) -> None:
    ws = bus()
    ws.publish("our own words", message_type="synthesis")
    assert findings(ws)["coordinator"].status == "ok"
    message = {"messageId": "m", "messageType": "thread_start", "content": "a question", "metadata": {}}
    subject = f"kubemoot.discuss.{ws.namespace}.pilot.broadcast.foreign"
    run(ws.context.backend.bus.publish(subject, json.dumps(message).encode(), stored=True))  # type: ignore[union-attr]
    found = findings(ws)["coordinator"]
    assert (found.status, "pilot-notebook" in found.advice) == ("warning", True)
