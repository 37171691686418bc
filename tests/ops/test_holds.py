"""Holds: kept until released or until they end, always shown, always bounded."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kmnb._bridge import run
from kmnb.errors import ArtifactNotFound, BadRequest, BoundExceeded
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
