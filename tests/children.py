"""Child interpreters for tests that must see a fresh one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def python(*arguments: str, seconds: float = 60, cwd: Path | None = None, **environment: str) -> Answer:
    """Run this interpreter with kmnb importable, warnings as errors, without input, for a bounded time."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    finished = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        cwd=cwd,
        check=False,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )
    return Answer(finished.returncode, finished.stdout, finished.stderr)


class Answer:
    """How a child ended and what it said."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def __repr__(self) -> str:
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"

    @property
    def clean(self) -> bool:
        """Whether it ended well and complained of nothing."""
        return self.code == 0 and not self.err
