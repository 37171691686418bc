"""`make bench`: figures side by side with the peer in the same run, as a table. No figure fails a test here.

A benchmark is a test that takes the fixture ``figure`` and calls it once a result::

    def test_reading_beats_the_peer(figure):
        figure("NATS read of 256 MiB", mine / seconds, "MB/s", budget="4 × nats-py", peer=f"nats-py {theirs:.0f} MB/s")

The table is printed at the end and left in ``.cache/bench.md``, dated and with the machine, to be copied into
``docs/benchmarks.md``.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

Figure = Callable[..., None]
_rows: list[str] = []


@pytest.fixture
def figure() -> Figure:
    """Record one measured figure: what, value, unit, and optionally the budget and what a peer reached."""

    def record(what: str, value: float, unit: str, *, budget: str = "", peer: str = "") -> None:
        shown = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
        _rows.append(f"| {what} | {shown} {unit} | {budget} | {peer} |")
        print(_rows[-1], flush=True)

    return record


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table and leave it in a file."""
    if not _rows:
        return
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}"
    head = [
        f"Measured on {datetime.now(UTC):%Y-%m-%d}; {machine}.",
        "",
        "| what | kmnb | budget | peer |",
        "|---|---|---|---|",
    ]
    table = "\n".join([*head, *_rows])
    terminalreporter.write_line(table)
    file = Path(__file__).resolve().parents[2] / ".cache" / "bench.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(table + "\n", "utf-8")
