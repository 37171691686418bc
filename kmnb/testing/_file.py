"""Throw-away folders."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from kmnb.testing._scratch import Scratch


def start() -> Scratch:
    """Make a store in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="kmnb-scratch-"))
    return Scratch(
        f"file://{folder}/0",
        fresh=lambda number: f"file://{folder}/{number}",
        close=lambda: shutil.rmtree(folder, ignore_errors=True),
    )
