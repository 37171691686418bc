"""The server sweeps by itself, as often as its setting says, and not at all where it says so."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import kmnb
from tests.frontends.jupyter import running_server


def test_a_running_server_sweeps_without_being_asked(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/store"
    settings = {"KMNB_URL": url, "KMNB_TTL_SECONDS": "1", "KMNB_NAMESPACE": "default", "KMNB_CREW": "nocrew"}
    with kmnb.connect(
        url, namespace="default", crew="nocrew", thread="t", agent="a", config={"sweep_on_connect": False}
    ) as ws:
        gone = ws.put("old", tool="x", thread="dead")
        named = ws.save("report.csv", "a\n1\n")
        held = ws.put("held", tool="x", thread="dead")
        held.hold("audit")
        with running_server(tmp_path, "--KmnbServer.sweep_minutes=0.005", **settings) as server:
            deadline = time.monotonic() + 30
            while gone.key in {art.key for art in ws.list("default")}:
                assert time.monotonic() < deadline, (tmp_path / "server.log").read_text()
                time.sleep(0.1)
            reply = server.ask("kmnb/operations/gc", method="POST", body={"dry_run": True})
            metrics = server.ask("kmnb/metrics")
        assert metrics.headers["Content-Type"].startswith("text/plain")
        assert b'kmnb_gc_objects_total{action="sweep",deleted="true",reason="expired"} 1\n' in metrics.body
        assert reply.json["byReason"]["held"]["objects"] == 1
        assert [art.key for art in ws.list("default")] == [held.key]
        assert ws.get(named.uri).read(0, 10) == b"a\n1\n"
    assert "sweep default/nocrew/: deleted" in (tmp_path / "server.log").read_text()


def begun(**given: Any) -> Any:
    from kmnb.frontends._server_app import KmnbServer

    state = KmnbServer(**given)
    state.begin_sweeping()
    return state


def test_the_pause_is_half_an_hour_and_can_be_switched_off() -> None:
    import asyncio

    async def look() -> None:
        usual, off = begun(), begun(sweep_minutes=0)
        assert usual._sweeps is not None
        assert usual._sweeps.callback_time == 30 * 60 * 1000
        usual._sweeps.stop()
        assert off._sweeps is None

    asyncio.run(look())


def test_a_store_that_is_away_or_private_is_told_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    import asyncio

    from kmnb.errors import StoreUnavailable

    async def look() -> None:
        state = begun(url="memory://", sweep_minutes=10)
        state._sweeps.stop()
        await state._sweep()

        async def away() -> Any:
            raise StoreUnavailable("store", "went away")

        monkeypatch.setattr(state, "workspace", away)
        await state._sweep()

    asyncio.run(look())
    told = [record.getMessage() for record in caplog.records if "tried again" in record.getMessage()]
    assert len(told) == 1
    assert "went away" in told[0]
