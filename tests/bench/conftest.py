"""`make bench`: figures side by side with the peer in the same run, as tables. No figure fails a test here.

A benchmark is a test that takes the fixture ``figure`` and calls it once a result, or ``growth`` once a table::

    def test_reading_beats_the_peer(figure):
        figure("NATS read of 256 MiB", mine / seconds, "MB/s", budget="4 × nats-py", peer=f"nats-py {theirs:.0f} MB/s")

    def test_reading_by_size(growth):
        growth("Reading by size", "MiB", {"1": {"MB/s": 210.0}, "1,024": {"MB/s": 340.0}})

The tables are printed at the end and left in ``.cache/bench.md``. ``BENCH_RECORD=1 make bench`` writes them into
``docs/benchmarks.md`` too, dated and with the kind of machine, when every benchmark ran to its end; a run of one file
replaces that file's section only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.bench.measure import QUICK
from tests.bench.report import Section, record, shown, surroundings

ROOT = Path(__file__).resolve().parents[2]
Figure = Callable[..., None]
Growth = Callable[[str, str, Mapping[str, Mapping[str, float | str]]], None]
_sections: dict[str, Section] = {}


@pytest.fixture
def section(request: pytest.FixtureRequest) -> Section:
    """Results of this file."""
    return _sections.setdefault(request.path.stem.removeprefix("test_bench_"), Section())


@pytest.fixture
def figure(section: Section) -> Figure:
    """Record one measured figure: what, value, unit, and optionally the budget and what a peer reached."""

    def one(what: str, value: float, unit: str, *, budget: str = "", peer: str = "") -> None:
        print(section.figure(what, f"{shown(value)} {unit}", budget=budget, peer=peer), flush=True)

    return one


@pytest.fixture
def growth(section: Section) -> Growth:
    """Record how cost grows: title, what the first column is, and rows of columns by name with their unit."""

    def table(title: str, first: str, rows: Mapping[str, Mapping[str, float | str]]) -> None:
        print(section.table(title, first, rows), flush=True)

    return table


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Print the tables, leave them in a file, and record them where that was asked for."""
    if not _sections:
        return
    told, texts = surroundings(), {name: section.text for name, section in _sections.items()}
    whole = "\n\n".join([told, *texts.values()])
    terminalreporter.write_line(whole)
    file = ROOT / ".cache" / "bench.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(whole + "\n", "utf-8")
    if os.environ.get("BENCH_RECORD") and not QUICK and exitstatus == pytest.ExitCode.OK:
        record(ROOT / "docs" / "benchmarks.md", texts, told)
