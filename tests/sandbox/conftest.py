"""Sandboxes of one engine each, for tests that compare engines."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kmnb._bridge import run as wait_for
from kmnb.errors import SandboxUnavailable
from kmnb.sandbox import _api
from kmnb.sandbox._host import Host

ENGINES = ("ns", "flat")
LEVELS = {"ns": 3, "flat": 2}


@pytest.fixture(scope="module", params=ENGINES)
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    """A spawner that isolates in one way; the other way where this machine refuses that one."""
    one = Host(engines=(request.param,))
    try:
        wait_for(one.start())
    except SandboxUnavailable as error:
        pytest.skip(f"this machine refuses the engine {request.param}: {error}")
    yield one
    wait_for(one.close())


@pytest.fixture
def run(host: Host, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``kmnb.sandbox.run`` on that spawner."""
    monkeypatch.setattr(_api, "default_host", lambda: host)
    return _api.run


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can get to; what lies above pytest's own is closed again by each pytest that begins."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def descendants(pid: int) -> dict[int, str]:
    """Processes below one, with their states."""
    parents: dict[int, list[int]] = {}
    states: dict[int, str] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        parents.setdefault(int(fields[1]), []).append(int(name))
        states[int(name)] = fields[0]
    found, waiting = {}, [pid]
    while waiting:
        for child in parents.get(waiting.pop(), ()):
            found[child] = states[child]
            waiting.append(child)
    return found


def plain_interpreter() -> str | None:
    """An interpreter of this version that every user can reach; None when there is none."""
    own = os.path.realpath(sys._base_executable)  # type: ignore[attr-defined]
    for path in (own, f"/usr/bin/python{platform.python_version_tuple()[0]}.{platform.python_version_tuple()[1]}"):
        folder = os.path.dirname(path)
        open_to_all = os.path.exists(path)
        while open_to_all and folder != "/":
            open_to_all = bool(os.stat(folder).st_mode & 1)
            folder = os.path.dirname(folder)
        if open_to_all:
            return path
    return None
