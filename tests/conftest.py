"""What every test stands on: nothing of the person who runs the tests is read or written."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
ON_REQUEST = (TESTS / "proof", TESTS / "bench")
"""Folders that run only when they are named: `make proof`, `make bench`."""

ALONE = ("browser", "sandbox", "frontends/test_complete.py", "frontends/test_interrupt.py", "test_demo.py")
"""What is marked ``alone``: it watches processes, memory or a clock, and `make test` runs nothing beside it."""

LOOP_ANSWERS_SECONDS = 20

_FOREIGN = ("KMNB_", "AWS_", "GOOGLE_", "AZURE_", "GCS_", "NATS_")
_OWN_FOLDERS = (
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "IPYTHONDIR",
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTER_RUNTIME_DIR",
)


def _isolate() -> None:
    """Hide settings and credentials of the caller, and send what would go into their folders to a temporary one.

    It happens when this file is imported, so that child processes and session fixtures see it too. The cache folder
    stays: it holds downloads that are worth keeping between runs.
    """
    for name in list(os.environ):
        if name.startswith(_FOREIGN):
            del os.environ[name]
    home = Path(tempfile.mkdtemp(prefix="kmnb-t-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for name in _OWN_FOLDERS:
        folder = home / name.lower()
        folder.mkdir(mode=0o700)
        os.environ[name] = str(folder)
    os.environ["JUPYTER_PLATFORM_DIRS"] = "1"


_isolate()

settings.register_profile("house", derandomize=True, deadline=None, database=None, print_blob=True)
settings.load_profile("house")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the long suites out unless their folder is named on the command line."""
    if collection_path not in ON_REQUEST:
        return None
    named = [Path(str(config.invocation_params.dir), arg.partition("::")[0]).resolve() for arg in config.args]
    return None if any(path == collection_path or collection_path in path.parents for path in named) else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs alone; browser tests come last: Playwright keeps a loop running in the main thread."""
    alone = {TESTS / name for name in ALONE}
    for item in items:
        if alone & {item.path, *item.path.parents}:
            item.add_marker("alone")
    items.sort(key=lambda item: (TESTS / "browser") in item.path.parents)


def pytest_collection_finish() -> None:
    """Keep what was collected out of later collections of garbage: thousands of tests make each take half a second."""
    gc.collect()
    gc.freeze()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """End the run when kmnb's loop is stuck: every later test would wait for its own time-out."""
    if report.failed and report.when == "call":
        from kmnb import _bridge

        alive = threading.Event()
        _bridge.call_soon(alive.set)
        if not alive.wait(LOOP_ANSWERS_SECONDS):
            pytest.exit(f"kmnb's loop does not answer since {report.nodeid}\n{report.longreprtext}", returncode=1)
