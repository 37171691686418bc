"""Cited receipts hold what they stand on: artifacts, program and receipt stay and can be verified."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.errors import ArtifactNotFound, BadRequest, BoundExceeded
from kmnb.ops.workspace import Workspace
from tests.ops.conftest import Clock

Virtual = Callable[..., Workspace]
COUNT = """
import os, pathlib
top = pathlib.Path(os.environ["KMNB_ARTIFACTS"])
found = [path for path in top.rglob("*") if path.is_file() and path.name[0] != "."]
print(sum(len(path.read_text().splitlines()) for path in found))
"""


def counted(ws: Workspace) -> tuple[Any, Any]:
    art = ws.put("a\nb\nc\n", tool="pods")
    outcome = ws.run(COUNT, artifacts=[art])
    assert (outcome.stdout, outcome.exit_code) == ("3\n", 0), outcome.stderr
    return art, outcome


def test_evidence_stays_beyond_the_layers_until_the_hold_ends(virtual: Virtual, clock: Clock) -> None:
    ws = virtual()
    art, outcome = counted(ws)
    other = ws.put("not cited", tool="pods")
    cited = ws.cite(outcome.receipt.to_json())
    names = [hold.key.rpartition("/")[2].partition(":")[0] for hold in cited]
    program = outcome.receipt.program_digest.replace(":", "-")
    assert names == ["pods-0", program, f"receipt-{outcome.receipt.digest.replace(':', '-')}"]
    report = ws.close_thread("t1")
    assert report.by_reason["held"][0] == 3
    assert outcome.receipt.digest in report.explain(art.key).detail  # type: ignore[union-attr]
    assert report.explain(other.key).deletes  # type: ignore[union-attr]
    clock.ahead(hours=50)
    assert ws.sweep().by_reason["held"][0] == 3
    later = virtual(thread="another")
    assert later.verify(outcome.receipt).status == "verified"
    stored = later.get(cited[2].key)
    assert json.loads(stored.read(0, 100_000))["digest"] == outcome.receipt.digest
    clock.ahead(days=7)
    later.sweep()
    assert later.verify(outcome.receipt).status == "cannot-verify"
    with pytest.raises(ArtifactNotFound):
        later.get(art.key)


def test_the_servers_ttl_does_not_take_evidence(virtual: Virtual, url: str) -> None:
    ws = virtual()
    _, outcome = counted(ws)
    cited = ws.cite(outcome)
    if url.startswith("nats"):
        for hold in cited:
            run(ws.context.backend.discussions.delete(hold.key))
    assert ws.verify(outcome.receipt).status == "verified"


def test_verifying_in_a_closed_thread_works_and_leaves_nothing(virtual: Virtual) -> None:
    ws = virtual()
    art = ws.put("a\n", tool="pods")
    code = "import os; open(os.environ['KMNB_OUTPUT'] + '/out.txt', 'w').write('x'); print(1)"
    outcome = ws.run(code, artifacts=[art])
    ws.cite(outcome)
    ws.close_thread("t1")
    before = [one.key for one in ws.list()]
    assert ws.verify(outcome.receipt).status == "verified"
    assert [one.key for one in ws.list()] == before


def test_publishing_a_number_cites_its_receipt(bus: Callable[..., Workspace], caplog: Any) -> None:
    ws = bus()
    art, outcome = counted(ws)
    ws.publish(outcome, "there are 3 pods")
    assert {hold.key for hold in ws.holds()} >= {art.key}
    assert all(outcome.receipt.digest in hold.reason for hold in ws.holds())
    art2, again = counted(ws)
    ws.delete(art2)
    with caplog.at_level(logging.WARNING, logger="kmnb.bus"):
        ws.publish(again, "published all the same")
    assert "is not held" in caplog.text
    assert not any(hold.key == art2.key for hold in ws.holds())


def test_slices_and_named_artifacts_are_cited_too(virtual: Virtual, clock: Clock) -> None:
    ws = virtual()
    art = ws.put("a\nb\n", tool="pods")
    for number in range(3):
        ws.save("report.csv", f"a,b\n{number},2\n")
    named = ws.load("report.csv", version=0)
    ws.cite(art.count())
    outcome = ws.run(COUNT, artifacts=[named])
    ws.cite(outcome.receipt.as_dict())
    assert {art.key, named.key} <= {hold.key for hold in ws.cite(outcome)} | {hold.key for hold in ws.holds()}
    assert str(ws.retain(keep_last=1).explain(named.key).reason) == "held"  # type: ignore[union-attr]
    ws.retain(keep_last=1, dry_run=False)
    assert ws.versions("report.csv") == [0, 2]
    clock.ahead(hours=50)
    ws.sweep()
    assert ws.verify(outcome.receipt).status == "verified"


def test_citing_makes_no_hold_shorter_and_respects_the_limit(virtual: Virtual, clock: Clock) -> None:
    ws = virtual()
    art, outcome = counted(ws)
    art.hold("audit", seconds=80 * 24 * 3600)
    ws.cite(outcome, seconds=60)
    ws.cite(outcome, seconds=60)
    (hold,) = [one for one in ws.holds() if one.key == art.key]
    assert (hold.until - clock()).days >= 79
    assert hold.reason == f"audit; cited by receipt {outcome.receipt.digest}"
    with pytest.raises(BoundExceeded):
        ws.cite(outcome, seconds=91 * 24 * 3600)


def test_nothing_is_held_for_what_cannot_be_proved(virtual: Virtual) -> None:
    ws = virtual()
    art, outcome = counted(ws)
    second = ws.put("d\n", tool="pods")
    both = ws.run(COUNT, artifacts=[art, second])
    ws.delete(second)
    with pytest.raises(ArtifactNotFound):
        ws.cite(both)
    changed = outcome.receipt.as_dict() | {"exit_code": 1}
    for wrong in (changed, "{", "[]", 7, None, {"op": "count"}, b"\xff", {"op": "x", "key": 3}):
        with pytest.raises(BadRequest):
            ws.cite(wrong)
    moved = {**art.count().receipt, "artifactDigest": "sha256:" + "0" * 64}
    with pytest.raises(BadRequest, match="other bytes"):
        ws.cite(moved)
    assert list(ws.holds()) == []
