"""A receipt names the artifacts that a run opened, or says that it names all that it could."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kmnb._bridge import run as wait_for
from kmnb.sandbox import _observe
from kmnb.sandbox._observe import Observer
from kmnb.sandbox.kernels import run_cell
from kmnb.sandbox.kernels._pool import Pool

KEYS = ("ns/one", "ns/two", "three")
FACTS = [{"key": key, "digest": f"sha256:{key}", "size": 1} for key in KEYS]


@pytest.fixture
def shelf(open_folder: Path) -> Iterator[Path]:
    """A folder with artifacts that every user can reach."""
    for key in KEYS:
        path = open_folder / "shelf" / key
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        path.write_text(key)
    yield open_folder / "shelf"
    assert Observer._everyone == {}


def named(outcome: Any) -> tuple[list[str], list[str], str]:
    """Keys that a receipt names, those it lists as not opened, and how sure it is."""
    receipt = outcome.receipt
    return [one["key"] for one in receipt.artifacts], [one["key"] for one in receipt.unopened], receipt.artifacts_are


@pytest.mark.parametrize("language", ["python", "bash"])
def test_what_was_opened_is_named_and_what_was_listed_is_not(run: Any, shelf: Path, language: str) -> None:
    code = {
        "python": "import os; w = os.environ['KMNB_ARTIFACTS']; print(os.listdir(w), open(w + '/ns/two').read())",
        "bash": 'ls -R "$KMNB_ARTIFACTS"; cat "$KMNB_ARTIFACTS/ns/two"',
    }[language]
    outcome = run(code, language=language, artifacts_folder=shelf, artifacts=FACTS)
    assert outcome.ok, outcome.stderr
    assert named(outcome) == (["ns/two"], ["ns/one", "three"], "opened")


@pytest.mark.parametrize("way", [
    "os.close(os.open(w + '/ns/../three', os.O_RDONLY))",
    "os.chdir(w); print(open('three').read())",
    "fd = os.open(w, os.O_RDONLY); print(os.read(os.open('three', os.O_RDONLY, dir_fd=fd), 9))",
    "os.symlink(w + '/three', 'link'); print(open('link').read())",
    "fd = os.open(w + '/three', os.O_PATH); os.open(f'/proc/self/fd/{fd}', os.O_RDONLY)",
    "os.fork() or os.execvp('cat', ['cat', w + '/three']); os.wait()",
    "import sys; sys.addaudithook = None; [open(w + '/three').read() for _ in range(30_000)]",
])  # fmt: skip
def test_no_way_of_opening_is_missed(run: Any, shelf: Path, way: str) -> None:
    code = f"import os; w = os.environ['KMNB_ARTIFACTS']; {way}"
    outcome = run(code, artifacts_folder=shelf, artifacts=FACTS)
    assert outcome.ok, outcome.stderr
    assert named(outcome) == (["three"], ["ns/one", "ns/two"], "opened")


def test_two_runs_over_the_same_files_at_the_same_time_name_all(run: Any, shelf: Path, tmp_path: Path) -> None:
    both = "import os, time; open(os.environ['KMNB_ARTIFACTS'] + '/three').read(); time.sleep(0.5)"
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda _: run(both, artifacts_folder=shelf, artifacts=FACTS), range(2)))
    assert [named(one) for one in outcomes] == [(list(KEYS), [], "mounted")] * 2


def test_more_than_can_be_watched_is_named_whole(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in (2, 3):
        monkeypatch.setattr(_observe, "WATCHED_MAX", limit)
        with Observer(shelf, FACTS) as observer:
            (shelf / "three").read_text()
        assert observer.inputs().are == ("mounted" if limit == 2 else "opened")
        assert len(observer.inputs().artifacts) == (3 if limit == 2 else 1)


def test_of_a_folder_whose_content_was_not_told_nothing_is_claimed(run: Any, shelf: Path) -> None:
    outcome = run("import os; print(open(os.environ['KMNB_ARTIFACTS'] + '/three').read())", artifacts_folder=shelf)
    assert (outcome.stdout, named(outcome)) == ("three\n", ([], [], "mounted"))


@pytest.mark.parametrize("key", ["gone", "again"])
def test_what_is_not_there_or_is_there_twice_makes_it_unsure(shelf: Path, key: str) -> None:
    os.link(shelf / "three", shelf / "again")
    before = len(os.listdir("/proc/self/fd"))
    with Observer(shelf, [*FACTS, {"key": key}]) as observer:
        pass
    assert (observer.inputs().are, len(observer.inputs().artifacts)) == ("mounted", 4)
    assert len(os.listdir("/proc/self/fd")) == before


def test_cells_name_what_they_opened_and_sessions_all_that_they_could_know(shelf: Path) -> None:
    pool = Pool()
    read = "import os; print(open(os.environ['KMNB_ARTIFACTS'] + '/three').read())"
    given: dict[str, Any] = {"artifacts_folder": shelf, "pool": pool, "required_level": 0}
    try:
        assert named(wait_for(run_cell(read, artifacts=FACTS, **given)))[0] == ["three"]
        wait_for(run_cell(read, artifacts=FACTS[2:], session="s", **given))
        later = wait_for(run_cell("1", artifacts=FACTS[:1], session="s", **given))
        assert named(later) == (["three", "ns/one"], [], "mounted")
    finally:
        wait_for(pool.close())
