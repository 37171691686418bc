"""Everything else that piles up is found and collected by the same sweep, each with a reason."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kmnb._bridge import run
from kmnb.ops.holders import started_at
from kmnb.ops.leftovers import FOLDER_SECONDS, stale_folders
from kmnb.ops.workspace import Workspace
from kmnb.sandbox.inner.users import BLOCK, BLOCKS, LOWEST
from tests.children import python
from tests.ops.conftest import Clock


def ended_process() -> int:
    """Number of a process that is gone."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_folders_of_processes_that_are_gone_are_stale_and_others_are_not(tmp_path: Path) -> None:
    gone, mine = f"kmnb-turn-{ended_process()}-a", f"kmnb-turn-{os.getpid()}-a"
    for name in (
        gone,
        mine,
        "kmnb-compute-old",
        "kmnb-compute-new",
        "kmnb-run-old",
        "kmnb-artifacts-old",
        "other-old",
        "kmnb-other",
    ):
        (tmp_path / name / "deep").mkdir(parents=True)
    old = time.time() - FOLDER_SECONDS - 60
    for name in ("kmnb-compute-old", "kmnb-run-old", "kmnb-artifacts-old", "other-old", mine):
        os.utime(tmp_path / name, (old, old))
    (tmp_path / "kmnb-run-link").symlink_to(tmp_path / "other-old")
    assert {path.name for path in stale_folders(tmp_path)} == {
        gone,
        "kmnb-compute-old",
        "kmnb-run-old",
        "kmnb-artifacts-old",
    }


def test_a_folder_of_a_process_whose_number_was_given_out_again_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kmnb.ops import leftovers

    assert abs((started_at(os.getpid()) or 0) - time.time()) < 3600
    assert started_at(ended_process()) is None
    folder = tmp_path / f"kmnb-run-{os.getpid()}-a"
    folder.mkdir()
    for hours, stale in ((-1, []), (23, []), (25, [folder])):
        monkeypatch.setattr(leftovers, "started_at", lambda _, hours=hours: time.time() + hours * 3600)
        assert stale_folders(tmp_path) == stale


def test_folders_of_kernels_are_looked_for_where_kernels_make_them(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kmnb.ops import leftovers

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(leftovers, "SHORT_PARENT", tmp_path / "short")
    stale = tmp_path / "short" / f"kmnb-cell-{ended_process()}-x"
    stale.mkdir(parents=True)
    assert ws.sweep().explain(f"folder:{stale}") is not None
    assert not stale.exists()


def test_a_sweep_removes_stale_folders_and_says_so(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    stale = tmp_path / f"kmnb-turn-{ended_process()}-a"
    (stale / "artifacts").mkdir(parents=True)
    (stale / "artifacts" / "x").write_text("d")
    assert ws.sweep(dry_run=True).explain(f"folder:{stale}") is not None
    assert stale.exists()
    assert ws.sweep().by_reason["leftover"][0] >= 1
    assert not stale.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root's runs have users of their own")
def test_what_a_killed_run_of_root_left_is_swept_whoever_owns_it_and_however_deep(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    last = LOWEST + BLOCKS * BLOCK - 1
    names = {user: f"kmnb-run-{ended_process()}-{user}" for user in (LOWEST, last, last + 1, 1000, LOWEST - 1)}
    for user, name in names.items():
        (tmp_path / name).mkdir()
        os.chown(tmp_path / name, user, user)
    deep = os.open(tmp_path / names[LOWEST], os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=deep)
        inner = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = inner
    os.close(deep)
    ws.sweep()
    assert {path.name for path in tmp_path.glob("kmnb-run-*")} == {names[1000], names[LOWEST - 1], names[last + 1]}


KILLED = """
import os, signal, sys, kmnb
ws = kmnb.connect(sys.argv[1], namespace=sys.argv[2], config={"sweep_on_connect": False})
art = ws.put("d", tool="x")
with ws.turn(art) as turn:
    print(turn.folder.parent, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_notebook_left_is_collected(shared_url: str, names: dict[str, str], tmp_path: Path) -> None:
    import kmnb

    answer = python("-c", KILLED, shared_url, names["namespace"], TMPDIR=str(tmp_path))
    folder = Path(answer.out.strip())
    assert folder.is_dir(), answer
    assert stale_folders(tmp_path) == [folder]
    with kmnb.connect(shared_url, namespace=names["namespace"]) as ws:
        assert [str(thread.state) for thread in ws.threads()] == ["active"]


def test_counters_go_long_after_their_last_number(virtual: Callable[..., Workspace], clock: Clock) -> None:
    ws = virtual()
    ws.put("d", tool="x")
    clock.ahead(days=80)
    ws.sweep()
    assert ws.put("d", tool="x", thread="t2").key.endswith("/x-0")
    ws.open_thread("t1")
    assert ws.put("d", tool="x").key.endswith("/x-1")
    clock.ahead(days=95)
    ws.sweep()
    counters = run(_records(ws, f"counters/{ws.namespace}"))
    assert counters == []


async def _records(ws: Workspace, prefix: str) -> list[str]:
    return [record.key async for record in ws.context.backend.records.list(prefix)]


def test_after_everything_has_ended_nothing_is_left(virtual: Callable[..., Workspace], clock: Clock) -> None:
    ws = virtual()
    art = ws.put("d", tool="x")
    art.hold("audit")
    ws.close_thread("t1")
    for _ in range(3):
        clock.ahead(days=40)
        ws.sweep()
    left = {name: run(_records(ws, f"{name}/{ws.namespace}")) for name in ("threads", "holds", "counters")}
    assert left == {"threads": [], "holds": [], "counters": []}
    assert list(ws.list(ws.namespace)) == []
