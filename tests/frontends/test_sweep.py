"""``kmnb sweep``: once, explained, or again and again until it is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import kmnb
from kmnb.errors import BadRequest
from kmnb.frontends.sweep import seconds_of
from tests.children import ROOT, python


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with one closed thread's leftover and one active thread."""
    address = f"file://{tmp_path}/store"
    with kmnb.connect(
        address, namespace="n", crew="c", thread="t", agent="a", config={"sweep_on_connect": False}
    ) as ws:
        ws.put("data", tool="x")
    return address


def sweep(url: str, *words: str) -> str:
    answer = python("-m", "kmnb", "sweep", "--url", url, "--namespace", "n", "--crew", "c", *words)
    assert answer.clean, answer
    return answer.out


def test_one_sweep_prints_counts_by_reason(url: str) -> None:
    assert "thread-active\t1\t4\n" in sweep(url)
    report = json.loads(sweep(url, "--json", "--dry-run"))
    assert (report["dryRun"], report["byReason"]["thread-active"]["objects"]) == (True, 1)
    assert "kmnb_gc_runs_total" in sweep(url, "--metrics")


def test_one_artifact_is_explained(url: str) -> None:
    assert sweep(url, "--explain", "n/c/t/a/x-0") == "n/c/t/a/x-0\tstays\tthread-active\tits thread is active\n"
    answer = python("-m", "kmnb", "sweep", "--url", url, "--namespace", "n", "--explain", "n/c/t/a/x-9")
    assert answer.code == 3


def test_sweeping_goes_on_until_it_is_stopped(url: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "kmnb", "sweep", "--url", url, "--every", "0.05s", "--json"],
        stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        assert child.stdout is not None
        reports = [json.loads(child.stdout.readline()) for _ in range(3)]
        assert [report["action"] for report in reports] == ["sweep"] * 3
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=30) == 130
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize(("text", "seconds"), [("30m", 1800), ("90s", 90), ("1.5h", 5400), ("2d", 172_800), ("7", 7)])
def test_times_are_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "0", "-1s", "5x", "1e9", "soon"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(BadRequest):
        seconds_of(text)
