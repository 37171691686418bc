"""Two processes work at one program: the same answers and the same first error, and neither outlives the query."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from kmnb.errors import BoundExceeded, ExpressionError
from kmnb.ops import _jq_helper
from kmnb.sips._jq_library import outputs
from tests.sips.driving import sip_bytes

pytestmark = pytest.mark.skipif(not _jq_helper.is_worthwhile(), reason="one core, or another system than Linux")
TEXT = "x" * 1000
RECORDS = [{"n": number, "id": 2**53 + number, "t": TEXT + "é\ud83d\ude00"} for number in range(2500)]
CONTENT = json.dumps(RECORDS).encode()


def test_many_records_give_what_one_process_gives() -> None:
    assert len(CONTENT) > 2 << 20
    program = "[.[] | tojson | length] | add"
    (value,) = sip_bytes(CONTENT, "jq", {"program": program}).values
    assert value == next(outputs(program, CONTENT.decode())).value
    assert not _running()


def test_outputs_stand_in_the_order_of_the_records() -> None:
    program = '[.[] | (.t | ltrimstr("y")) as $t | .n] | map(. * 2)'
    (value,) = sip_bytes(CONTENT, "jq", {"program": program}).values
    assert value == [2 * number for number in range(2500)]


@pytest.mark.parametrize("bad", [[3, 2400], [700, 900], [2400]])
def test_the_first_error_is_told(bad: list[int]) -> None:
    records = [{**one, "n": f"bad {one['n']}"} if one["n"] in bad else one for one in RECORDS]
    program = '[.[] | (.t | ltrimstr("y")) as $t | .n + 1] | length'
    with pytest.raises(ExpressionError) as caught:
        sip_bytes(json.dumps(records).encode(), "jq", {"program": program})
    assert f"bad {bad[0]}" in str(caught.value)


@pytest.mark.parametrize("number", [3, 1200])
def test_both_processes_end_with_a_query_that_is_stopped(number: int) -> None:
    program = f'[.[] | tojson | if test("\\"n\\": ?{number},") then (def f: f; f) else 1 end]'
    with pytest.raises(BoundExceeded):
        sip_bytes(CONTENT, "jq", {"program": f"{program} | length", "timeout_seconds": 1})
    until = time.monotonic() + 10
    while _running() and time.monotonic() < until:
        os.sched_yield()
    assert not _running()


def _running() -> list[str]:
    """Processes that run a query of this session; one that has ended and waits to be noticed runs no more."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_text() if entry.name.isdigit() else ""
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if "_isolated_main" in command and str(Path(__file__).parents[2]) in command:
            found.append(entry.name)
    return found
