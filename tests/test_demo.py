"""The demo plays, leaves nothing, and fails by itself when a bound or a count is wrong."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from tests.children import Answer, python
from tests.source import ROOT

SECONDS = 60
"""Longest that the demo may take."""


SMALL = {"ACCESS_LINES = 720_000": "ACCESS_LINES = 20_000", "100_000_000": "1_000_000"}
"""What makes the large sample small, where the demo is to fail anyway."""


def play(folder: Path, changes: dict[str, str]) -> Answer:
    """Play a copy of the demo in which some passages read differently."""
    shutil.copytree(ROOT / "notebooks" / "data", folder / "data")
    text = (ROOT / "notebooks" / "demo.py").read_text("utf-8")
    for was, now in changes.items():
        assert text.count(was) == 1
        text = text.replace(was, now)
    (folder / "demo.py").write_text(text, "utf-8")
    (folder / "temporary").mkdir()
    return python("demo.py", cwd=folder, seconds=2 * SECONDS, TMPDIR=str(folder / "temporary"))


def test_the_demo_plays_in_time_and_leaves_no_file(tmp_path: Path) -> None:
    began = time.monotonic()
    answer = play(tmp_path, {})
    assert answer.clean, answer
    assert time.monotonic() - began < SECONDS
    assert list((tmp_path / "temporary").iterdir()) == []
    assert "no key, no process, no file" in answer.out


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("MOVED_MAX_BYTES = 1024 * 1024", "MOVED_MAX_BYTES = 100", "bytes, more than 100"),
        ('pod["metadata"]["namespace"] for pod in pods), sort', '"all" for pod in pods), sort', "the consumer said"),
        ("    ws.close_thread(NAMES", "    print(NAMES", "keys of the closed thread remain"),
    ],
    ids=["a read over the bound", "a wrong count", "a key that remains"],
)
def test_the_demo_fails_by_itself(was: str, now: str, said: str, tmp_path: Path) -> None:
    answer = play(tmp_path, {**SMALL, was: now})
    assert answer.code == 1, answer
    assert said in answer.err, answer
    assert list((tmp_path / "temporary").iterdir()) == []
