"""Who may read what a store in a folder writes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import kmnb


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """A umask that lets everybody read."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}


def fill(url: str) -> None:
    with kmnb.connect(url, thread="t", agent="a", config={"sweep_on_connect": False}) as ws:
        ws.put(b"line\n" * 50_000, tool="t")
        ws.save("report.csv", "a\n1\n")
        ws.put("more", tool="t", thread="other")
        ws.close_thread("other")


def test_the_default_store_is_its_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("KMNB_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    with kmnb.connect(thread="t", agent="a") as ws:
        ws.put(b"line\n" * 50_000, tool="t")
        ws.save("report.csv", "a\n1\n")
        assert ws.url == f"file://{tmp_path}/kmnb/store"
    assert modes(tmp_path / "kmnb") == {0o700, 0o600}


def test_a_folder_that_was_named_obeys_the_umask(tmp_path: Path) -> None:
    fill(f"file://{tmp_path}/store")
    assert modes(tmp_path / "store") == {0o755, 0o644}


def test_a_folder_that_its_owner_closed_stays_closed(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o700)
    fill(f"file://{tmp_path}/store")
    assert modes(tmp_path / "store") == {0o700, 0o600}


def test_a_named_folder_can_be_asked_to_be_private(tmp_path: Path) -> None:
    fill(f"file://{tmp_path}/store?private=true")
    assert modes(tmp_path / "store") == {0o700, 0o600}
    with pytest.raises(kmnb.errors.BadRequest, match="private"):
        kmnb.open_store(f"file://{tmp_path}/store?private=perhaps")
