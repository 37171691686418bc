"""The spawner's interpreter stays small: each fork of it copies what it has imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kmnb.sandbox.inner import removals
from kmnb.sandbox.inner.records import field, record
from kmnb.sandbox.inner.removals import Removals

HEAVY = {"dataclasses", "typing", "inspect", "tempfile", "random", "threading", "pathlib", "importlib.metadata"}
SHOW = """
import json, sys
sys.path.insert(0, sys.argv[1])
import kmnb.sandbox.inner.main
print(json.dumps([*sys.modules]))
"""


def test_the_spawner_imports_little() -> None:
    interpreter = os.path.realpath(sys._base_executable)  # type: ignore[attr-defined]
    command = [interpreter, "-I", "-S", "-c", SHOW, str(Path(__file__).parents[2])]
    told = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=30).stdout)
    assert HEAVY & set(told) == set()
    assert len(told) < 120


REFUSED = """
import json, os, socket, sys
sys.path.insert(0, sys.argv[1])
from kmnb.sandbox.inner import messages
from kmnb.sandbox.inner.spawner import Spawner
from kmnb.sandbox.inner.users import Users

class Refusing:
    contained, name = True, "refusing"
    def fork(self):
        raise OSError(11, "no more processes")

ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
users = Users(53000)
spawner = Spawner(theirs, Refusing(), users)
before = len(os.listdir("/proc/self/fd"))
for number in range(200):
    messages.send(ours, {"op": "run", "id": number, "limits": {}}, [os.open("/dev/null", os.O_RDONLY)])
    spawner.step()
    told, _ = messages.receive(ours)
    assert (told["op"], told["id"], spawner.runs, users.taken) == ("ended", number, [], set())
print(told["error"], len(os.listdir("/proc/self/fd")) - before - 200)
"""


def test_a_fork_that_is_refused_ends_its_run_and_not_the_spawner() -> None:
    command = [sys.executable, "-I", "-S", "-c", REFUSED, str(Path(__file__).parents[2])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.stdout == "[Errno 11] no more processes 0\n", done.stderr


@record(slots=True)
class Example:
    first: int
    second: str = "b"
    third: list[int] = field(default_factory=list)


def test_a_record_is_made_as_a_dataclass_is() -> None:
    one, other = Example(1), Example(1, second="c", third=[2])
    assert (one.first, one.second, one.third) == (1, "b", [])
    assert (other.first, other.second, other.third) == (1, "c", [2])
    assert Example(1).third is not one.third


@pytest.mark.parametrize("given", [((), {}), ((1, "b", [], 4), {}), ((1,), {"fourth": 4})])
def test_a_record_takes_no_other_fields(given: tuple[tuple[object, ...], dict[str, object]]) -> None:
    with pytest.raises(TypeError, match="Example"):
        Example(*given[0], **given[1])  # type: ignore[arg-type]


def test_a_folder_that_takes_long_to_remove_is_left_to_a_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    (folder / "a" / "b").mkdir(parents=True)
    monkeypatch.setattr(removals, "OWN_SECONDS", -1.0)
    shed: list[int] = []
    told: list[object] = []
    mine = Removals(lambda: shed.append(1), told.append)
    mine.expected.add(str(folder))
    mine.remove(str(folder), {"op": "released"})
    assert (told, mine.expected, len(mine.due())) == ([], set(), 1)
    (child,) = mine._under_way
    pid, status = os.waitpid(child, 0)
    mine.ended(pid)
    assert (told, status, shed, folder.exists()) == ([{"op": "released"}], 0, [], False)


def test_the_server_does_not_wait_for_a_folder_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run" / "a").mkdir(parents=True)
    monkeypatch.setattr(removals, "OWN_SECONDS", -1.0)
    monkeypatch.setattr(removals, "TOLD_SECONDS", -1.0)
    told: list[object] = []
    mine = Removals(lambda: None, told.append)
    mine.expected.add(str(tmp_path / "run"))
    mine.remove(str(tmp_path / "run"), {"op": "ended"})
    (child,) = mine._under_way
    mine.look()
    assert told == [{"op": "ended"}]
    os.waitpid(child, 0)
    assert not (tmp_path / "run").exists()


def test_only_folders_of_runs_are_removed(tmp_path: Path) -> None:
    told: list[object] = []
    Removals(lambda: None, told.append).remove(str(tmp_path), {"op": "released"})
    assert (told, tmp_path.exists()) == ([{"op": "released"}], True)


ROUND = """
import json, socket, sys, time
sys.path.insert(0, sys.argv[1])
from kmnb.sandbox.inner import watch
from kmnb.sandbox.inner.run import Run
from kmnb.sandbox.inner.spawner import Spawner
from kmnb.sandbox.inner.users import Users

class Engine:
    contained, name = True, "none"

ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
spawner = Spawner(theirs, Engine(), Users(53000))
spawner.runs = [Run(ours, Engine(), None, 2**22 + at, folder=str(at), limits={"files": 9}) for at in range(3)]
seen, steps = [], []
watch.excess = lambda limits, pids, *, folders, **others: seen.append(folders[0])
for _ in range(5):
    spawner._look()
    steps.append([len(seen), spawner._next_look > time.monotonic()])
    spawner.runs[0].ended_at = 1.0
print(json.dumps([sorted(seen), steps]))
"""


def test_one_run_is_looked_at_in_a_step_and_the_others_in_the_next_ones() -> None:
    command = [sys.executable, "-I", "-S", "-c", ROUND, str(Path(__file__).parents[2])]
    done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr.decode()
    seen, steps = json.loads(done.stdout)
    # The first has ended before its turn; then a new round begins.
    assert seen == ["1", "1", "2", "2"]
    assert steps == [[1, False], [2, False], [2, True], [3, False], [4, False]]
