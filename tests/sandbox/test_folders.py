"""What a program leaves in its folder goes, and what it leaves as output is taken with care."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Any

import pytest

from kmnb.errors import BadRequest
from kmnb.sandbox._collect import Taken, collect
from kmnb.sandbox._host import Host
from kmnb.sandbox._limits import Limits
from kmnb.sandbox.inner.folders import remove_folder

DEEP = """
import os
for _ in range(3000):
    os.mkdir("d"); os.chdir("d")
"""
HOSTILE = """
import os
os.makedirs("a/b/c")
open("a/b/c/file", "w").close()
os.chmod("a/b", 0)
os.symlink("/", "root")
os.mkfifo("pipe")
os.mkdir("locked"); os.chmod("locked", 0)
"""
OUTPUT = """
import os
out = os.environ["KMNB_OUTPUT"]
os.makedirs(out + "/sub")
open(out + "/sub/table.csv", "w").write("a,b\\n1,2\\n")
open(out + "/plain.txt", "w").write("x")
os.chmod(out + "/plain.txt", 0)
os.symlink("/etc/passwd", out + "/link")
os.mkfifo(out + "/pipe")
open(os.fsencode(out) + b"/bad-\\xff", "w").close()
"""


def test_a_deep_chain_of_folders_is_removed(run: Any, tmp_path: Path) -> None:
    tmp_path.chmod(0o711)
    outcome = run(DEEP, run_parent=tmp_path)
    assert outcome.ok or outcome.reason == "disk"  # it may be seen under way
    assert list(tmp_path.iterdir()) == []


def test_locked_folders_links_and_pipes_are_removed(run: Any, tmp_path: Path) -> None:
    tmp_path.chmod(0o711)
    assert run(HOSTILE, run_parent=tmp_path).ok
    assert list(tmp_path.iterdir()) == []


def test_removal_follows_no_link(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    gone = tmp_path / "gone"
    (gone / "deep").mkdir(parents=True)
    (gone / "deep" / "link").symlink_to(kept)
    (gone / "link").symlink_to(kept)
    assert remove_folder(str(gone))
    assert not gone.exists()
    assert (kept / "file").read_text() == "x"
    assert remove_folder(str(gone))


def test_regular_files_of_the_output_folder_are_taken_and_nothing_else(run: Any, tmp_path: Path) -> None:
    target = tmp_path / "taken"
    target.mkdir()
    outcome = run(OUTPUT, output_folder=target)
    assert outcome.ok, outcome.stderr
    found = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    assert found == {"plain.txt", "sub/table.csv"}
    assert (target / "sub/table.csv").read_text() == "a,b\n1,2\n"
    assert sorted(note.split(" was ")[0] for note in outcome.notes) == ["'bad-\\udcff'", "'link'", "'pipe'"]


def test_the_output_of_a_run_that_was_ended_is_taken_too(run: Any, tmp_path: Path) -> None:
    code = "import os, time\nopen(os.environ['KMNB_OUTPUT'] + '/part', 'w').write('x')\ntime.sleep(30)"
    assert run(code, output_folder=tmp_path, timeout_seconds=0.5).timed_out
    assert os.listdir(tmp_path) == ["part"]


def taken_from(folder: Path, target: Path, **options: Any) -> tuple[str, ...]:
    source = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return collect(source, target, Limits(), **options)
    finally:
        os.close(source)


def test_what_somebody_may_still_write_to_is_read_as_it_is(tmp_path: Path) -> None:
    outside, folder, target = tmp_path / "outside", tmp_path / "out", tmp_path / "taken"
    for one in (outside, folder, target):
        one.mkdir()
    outside.chmod(0o751)
    (folder / "link").symlink_to(outside)
    (folder / "file").write_text("1")
    (folder / "file").chmod(0o640)
    known: Taken = {}
    assert [note.partition(" was")[0] for note in taken_from(folder, target, taken=known, alive=True)] == ["'link'"]
    assert (folder / "file").stat().st_mode & 0o777 == 0o640
    assert outside.stat().st_mode & 0o777 == 0o751
    (target / "file").unlink()
    taken_from(folder, target, taken=known, alive=True)
    assert list(target.iterdir()) == []
    (folder / "file").write_text("2")
    taken_from(folder, target, taken=known)
    assert (target / "file").read_text() == "2"


def test_many_folders_take_few_descriptors(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / "out" / str(number)).mkdir(parents=True)
        (tmp_path / "out" / str(number) / "file").touch()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 20, before[1]))
    try:
        assert taken_from(tmp_path / "out", tmp_path / "taken") == ()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert len(list((tmp_path / "taken").rglob("file"))) == 200


@pytest.fixture
def shelf(open_folder: Path) -> Path:
    """A folder that every user can get to, with one artifact."""
    (open_folder / "ns").mkdir()
    (open_folder / "ns" / "data.csv").write_text("1\n2\n")
    return open_folder


def test_artifacts_are_where_the_level_says(run: Any, shelf: Path) -> None:
    code = "import os\nw = os.environ['KMNB_ARTIFACTS']\nprint(open(w + '/ns/data.csv').read().split(), w)"
    outcome = run(code, artifacts_folder=shelf)
    where = "/artifacts" if outcome.level == 3 else str(shelf)
    assert outcome.stdout == f"['1', '2'] {where}\n"


def test_code_that_names_artifacts_where_there_are_none_is_told_before_it_runs(
    run: Any, host: Host, shelf: Path
) -> None:
    code = "print(open('/artifacts/ns/data.csv').read())"
    if host.isolation is not None and host.isolation.level == 3:
        assert run(code, artifacts_folder=shelf).stdout == "1\n2\n\n"
    else:
        with pytest.raises(BadRequest, match="KMNB_ARTIFACTS"):
            run(code, artifacts_folder=shelf)


def test_artifacts_that_the_run_cannot_get_to_are_told_before_it_runs(run: Any, host: Host, shelf: Path) -> None:
    shelf.chmod(0o700)
    code = "import os; print(os.listdir(os.environ['KMNB_ARTIFACTS']))"
    if host.own_user:
        with pytest.raises(BadRequest, match=r"chmod o\+x"):
            run(code, artifacts_folder=shelf)
    else:
        assert run(code, artifacts_folder=shelf).exit_code in (0, 1)
