"""A sweep or a closing that is killed in the middle: the next one finishes, whatever was left."""

from __future__ import annotations

import pytest

import kmnb
from tests.children import python
from tests.ops.test_holders import wait_for_lapse

KILLED = """
import os, signal, sys, kmnb
url, namespace, what = sys.argv[1:]
ws = kmnb.connect(url, namespace=namespace, thread="t", agent="a",
                  config={"sweep_on_connect": False, "lease_seconds": 1, "grace_seconds": 0})
for number in range(120):
    ws.put(f"{number}", tool="x")
area, count = type(ws.context.backend.discussions), 0
real = area.delete
async def delete(self, key):
    global count
    count += 1
    if count == 80:
        os.kill(os.getpid(), signal.SIGKILL)
    await real(self, key)
area.delete = delete
if what == "close":
    ws.close_thread("t")
else:
    from datetime import UTC, datetime, timedelta
    from tests.moments import set_clock
    set_clock(ws, lambda: datetime.now(UTC) + timedelta(minutes=5))
    ws.context.live.threads.clear()
    ws.sweep()
"""


@pytest.mark.parametrize("what", ["close", "sweep"])
def test_the_next_sweep_finishes_what_a_killed_one_began(shared_url: str, names: dict[str, str], what: str) -> None:
    answer = python("-c", KILLED, shared_url, names["namespace"], what)
    assert answer.code == -9, answer
    config = {"sweep_on_connect": False, "lease_seconds": 1, "grace_seconds": 0}
    with kmnb.connect(shared_url, namespace=names["namespace"], thread="t", config=config) as ws:
        left = len(list(ws.list()))
        assert 0 < left < 120
        if what == "sweep":
            wait_for_lapse(ws)
        report = ws.sweep()
        assert report.by_reason[f"thread-{'closed' if what == 'close' else 'lapsed'}"][0] == left
        assert (report.failures, list(ws.list())) == ((), [])
