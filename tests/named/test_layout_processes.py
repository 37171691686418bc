"""Processes that race on a peer's folder: each number once, no gap, nothing lost."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import kmnb
from tests.children import python
from tests.ops.test_races import RACE

COUNT = 10


@pytest.mark.parametrize("layout", ["agent-mesh", "adk"])
def test_racing_appends_of_processes_lose_nothing(tmp_path: Path, layout: str) -> None:
    url = f"file://{tmp_path}/base"
    answer = python("-c", RACE, url, "shop", "append", str(COUNT), seconds=60, KMNB_LAYOUT=layout)
    assert answer.clean, answer
    with kmnb.connect(url, layout=layout, app="shop", user="u", session="s") as ws:
        assert ws.versions("f.txt") == list(range(COUNT))
        found = [ws.load("f.txt", version=number).read(0, 1000).decode() for number in range(COUNT)]
    assert sorted(map(int, found[-1].strip("<>").split("><"))) == list(range(COUNT))
    assert all(later.startswith(earlier) for earlier, later in pairwise(found))
