"""Run the attack probes somewhere: which interpreter, which engine, which Landlock version."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from .conftest import plain_interpreter

ATTACKS = Path(__file__).parent / "attacks"
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Place:
    """Where probes run."""

    name: str
    engine: str = "any"
    landlock: int = 0

    def __str__(self) -> str:
        return "-".join((self.name, self.engine, *([f"landlock{self.landlock}"] if self.landlock else [])))


def attack(place: Place, *, only: str = "", heavy: bool = False) -> dict[str, list[object]]:
    """Run the probes and give what became of each: ``ok``, ``FAILED`` or ``SKIPPED`` with details."""
    # "root" is whoever runs the tests; the other places are reached from root alone.
    interpreter = sys.executable if place.name == "root" else plain_interpreter()
    if place.name != "root" and os.getuid() != 0:
        pytest.skip("only root can run the probes as somebody else")
    if interpreter is None:
        pytest.skip("no interpreter of this version can be reached by every user")
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as base:
        folder = Path(base)
        folder.chmod(0o1777)
        # An ordinary user may not be able to get to this clone.
        for name in ("kmnb", "tests/sandbox/attacks"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        return _run(place, folder, interpreter, only=only, heavy=heavy)


def _run(place: Place, folder: Path, interpreter: str, *, only: str, heavy: bool) -> dict[str, list[object]]:
    told = {
        "ADAPTER_ENGINE": place.engine,
        "ADAPTER_LANDLOCK": str(place.landlock),
        "ADAPTER_SITE": sysconfig.get_path("purelib"),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",
    }
    attacks, results = folder / "tests/sandbox/attacks", folder / "results.json"
    command = [sys.executable, attacks / "place.py", place.name, interpreter, attacks / "check.py"]
    options = ["--only", only, "--json", results, *(["--heavy"] if heavy else [])]
    log = folder / "log"
    # Into a file: a process that probes leave behind would hold a pipe open.
    with log.open("wb") as out:
        subprocess.run(
            [*command, attacks / "adapter.py", *options], env=told, stdout=out, stderr=out, timeout=900, check=False
        )
    assert results.exists(), log.read_text(errors="replace")[-3000:]
    found: dict[str, list[object]] = json.loads(results.read_text())
    return found


def failures(results: dict[str, list[object]]) -> dict[str, object]:
    """Probes that got through, with what was seen."""
    return {name: result[1] for name, result in results.items() if result[0] == "FAILED"}


def skipped(results: dict[str, list[object]]) -> dict[str, object]:
    """Probes that were left out, with the guarantee that is not claimed."""
    return {name: result[1] for name, result in results.items() if result[0] == "SKIPPED"}
