"""Programs that used kmnb end by themselves: exit code 0, no complaint, nothing left, whatever they did last."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.children import python

VERBS = {
    "put": "store.put('n/c/t/a/x-1', b'more')",
    "get_range": "store.get_range('n/c/t/a/x-0', 0, 4)",
    "stream": "b''.join(store.stream('n/c/t/a/x-0'))",
    "a stream half read": "next(iter(store.stream('n/c/t/a/x-0')))",
    "list": "list(store.list('n'))",
    "head": "store.head('n/c/t/a/x-0')",
    "delete": "store.delete('n/c/t/a/x-0')",
}

STORE_PROGRAM = """
import kmnb
store = kmnb.open_store({url!r})
store.put('n/c/t/a/x-0', b'line\\n' * 100_000)
{verb}
"""

WORKSPACE_PROGRAM = """
import kmnb
ws = kmnb.connect({url!r}, thread='t', agent='a')
spill = ws.spill('line\\n' * 10_000, tool='demo')
assert spill.artifact.head(1).values == ['line']
{last}
"""

URLS = ("memory://", "file://{folder}/store", "nats+embedded://{folder}/nats")


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_program_ends_cleanly_after_a_verb(url: str, verb: str, tmp_path: Path) -> None:
    answer = python("-c", STORE_PROGRAM.format(url=url.format(folder=tmp_path), verb=verb))
    assert answer.clean, answer


LAST = [
    "", "raise SystemExit(0)", "ws.close_thread('t')", "list(ws.list())", "ws.run('print(1)', artifacts=[])",
    "ws.run_cell('print(1)', artifacts=[])",
]  # fmt: skip


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("last", LAST)
def test_a_program_ends_cleanly_after_work_with_a_workspace(url: str, last: str, tmp_path: Path) -> None:
    answer = python("-c", WORKSPACE_PROGRAM.format(url=url.format(folder=tmp_path), last=last))
    assert answer.clean, answer


def test_importing_kmnb_starts_no_thread_and_ends_cleanly() -> None:
    answer = python("-c", "import threading, kmnb; kmnb.KmnbError; assert threading.active_count() == 1")
    assert answer.clean, answer
