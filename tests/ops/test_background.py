"""Background work: a store that is just shutting down is no news, one that stays away is."""

from __future__ import annotations

import asyncio
import logging
import weakref
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.errors import StoreUnavailable
from kmnb.ops import background
from kmnb.ops.workspace import Workspace


@pytest.mark.parametrize(("failures", "warnings"), [(1, 0), (2, 1)])
def test_only_a_store_that_stays_away_is_worth_a_warning(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch, caplog: Any, failures: int, warnings: int
) -> None:
    left = iter(range(failures))

    async def fail(context: Any) -> None:
        if next(left, None) is None:
            raise asyncio.CancelledError
        raise StoreUnavailable("store", "it went away")

    async def nothing(context: Any) -> None:
        return

    monkeypatch.setattr(background, "renew_leases", fail)
    monkeypatch.setattr(background, "_tell_coordinator", nothing)
    monkeypatch.setattr(background, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(background, "FIRST_SECONDS", 0.0)

    async def story() -> None:
        # The workspace's own work would take one of the failures.
        for task in ws.context.live.tasks:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await background._watch_over(weakref.ref(ws.context))

    with caplog.at_level(logging.INFO, logger="kmnb"):
        run(asyncio.wait_for(story(), 10))
    told = [record for record in caplog.records if "it went away" in record.getMessage()]
    assert len(told) == failures
    assert sum(record.levelno == logging.WARNING for record in told) == warnings


@pytest.mark.parametrize("reason", ["cannot schedule new futures after interpreter shutdown", "another"])
def test_a_round_that_the_interpreters_end_overtakes_is_the_last(
    ws: Workspace, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(context: Any) -> None:
        raise RuntimeError(reason)

    async def story() -> None:
        for task in ws.context.live.tasks:
            task.cancel()
        monkeypatch.setattr(background, "_tell_coordinator", refused)
        monkeypatch.setattr(background, "FIRST_SECONDS", 0)
        await asyncio.wait_for(background._watch_over(weakref.ref(ws.context)), 10)

    if reason == "another":
        with pytest.raises(RuntimeError, match=reason):
            run(story())
    else:
        run(story())
