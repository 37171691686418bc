"""A thousand runs leave nothing: no process, folder, descriptor or memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kmnb._bridge import run as wait_for
from kmnb.sandbox import _api
from kmnb.sandbox._host import Host
from tests.sandbox.conftest import ENGINES, descendants


def resident(pid: int) -> int:
    """Resident bytes of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_thousand_runs_leave_nothing(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(engines=(engine,))
    wait_for(host.start())
    monkeypatch.setattr(_api, "default_host", lambda: host)
    tmp_path.chmod(0o711)
    for _ in range(50):
        _api.run("print(1)", run_parent=tmp_path)
    spawner = host._process.pid  # type: ignore[union-attr]
    before = len(os.listdir("/proc/self/fd")), resident(os.getpid()), resident(spawner)
    for number in range(1000):
        assert _api.run(f"print({number})", run_parent=tmp_path).stdout == f"{number}\n"
    after = len(os.listdir("/proc/self/fd")), resident(os.getpid()), resident(spawner)
    assert after[0] <= before[0]
    assert after[1] - before[1] < 8 << 20
    assert after[2] - before[2] < 2 << 20
    assert list(tmp_path.iterdir()) == []
    wait_for(host.close())
    assert descendants(spawner) == {}
