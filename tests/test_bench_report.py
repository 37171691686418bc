"""The page of measured results: sections are replaced one by one, and nothing on it names the machine."""

from __future__ import annotations

import platform
from pathlib import Path

from tests.bench.report import HEADING, Section, record, shown, surroundings


def test_a_recorded_section_replaces_its_own_predecessor_only(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Benchmarks\n\nWords.\n\n{HEADING}\nNone recorded yet.\n", "utf-8")
    record(page, {"b": "| old |", "a": "| a |"}, "Measured then.")
    record(page, {"b": "| new |"}, "Measured now.")
    expected = "### a\n\nMeasured then.\n\n| a |\n\n### b\n\nMeasured now.\n\n| new |\n"
    assert page.read_text("utf-8") == f"# Benchmarks\n\nWords.\n\n{HEADING}\n{expected}"


def test_a_section_is_a_table_of_figures_and_tables_of_growth() -> None:
    section = Section()
    section.figure("reading", "3 MB/s", budget="≥ 2", peer="1 MB/s")
    section.table("by size", "MiB", {"1": {"in": 1.23456, "out": 7.0}, "1,024": {"out": 12_345.6, "note": "slow"}})
    figures, table = section.text.split("\n\n", 1)
    assert figures.splitlines()[2:] == ["| reading | 3 MB/s | ≥ 2 | 1 MB/s |"]
    assert table.splitlines() == [
        "by size:",
        "",
        "| MiB | in | out | note |",
        "|---|---|---|---|",
        "| 1 | 1.23 | 7 |  |",
        "| 1,024 |  | 12,346 | slow |",
    ]
    assert [shown(value) for value in (0.00123, 5.678, 99.96, 1234.5)] == ["0.00123", "5.68", "100", "1,234"]


def test_what_a_result_was_measured_with_is_told_without_the_name_of_the_machine() -> None:
    told = surroundings()
    assert f"Python {platform.python_version()}" in told
    assert "cores of" in told
    assert not platform.node() or f" {platform.node()}" not in told
