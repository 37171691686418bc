"""The embedded server: found, shared by processes, and gone with the last of them however they end."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kmnb.errors import StoreUnavailable
from kmnb.storage import _embedded
from kmnb.storage._embedded import EmbeddedServer
from tests.children import ROOT
from tests.storage.nats_places import eventually

SECONDS = 15.0
USER = """
import sys
from pathlib import Path
from kmnb.storage._embedded import EmbeddedServer
server = EmbeddedServer.open(Path(sys.argv[1]))
print(server.url, flush=True)
sys.stdin.readline()
if sys.argv[2] == "close":
    server.close()
"""


class User:
    """Another process with a lease on the server."""

    def __init__(self, folder: Path, ending: str = "close", **options: bool) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(folder), ending],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            **options,
        )
        self.url = self.process.stdout.readline().strip()

    def end(self, number: int | None = None) -> None:
        if number is not None:
            self.process.send_signal(number)
        self.process.communicate("\n" if number is None else None, timeout=SECONDS)


def facts(folder: Path) -> dict[str, int]:
    return json.loads((folder / "server.json").read_text())


def gone(pids: list[int]) -> bool:
    """Whether processes end in time."""
    return eventually(lambda: not any(map(_runs, pids)))


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "store"
    try:
        found = facts(tmp_path / "store")
    except FileNotFoundError:
        return
    assert gone([found["pid"], found["keeper"]])


def test_two_leases_of_a_process_share_one_server_that_ends_with_the_second(folder: Path) -> None:
    one, two = EmbeddedServer.open(folder), EmbeddedServer.open(folder)
    assert one.url == two.url
    pids = [facts(folder)["pid"], facts(folder)["keeper"]]
    one.close()
    assert all(map(_runs, pids))
    two.close()
    assert not _runs(pids[0])
    assert gone(pids)


def test_closing_twice_is_harmless(folder: Path) -> None:
    one, two = EmbeddedServer.open(folder), EmbeddedServer.open(folder)
    one.close()
    one.close()
    assert _runs(facts(folder)["pid"])
    two.close()


def test_processes_share_the_server_and_the_last_one_ends_it(folder: Path) -> None:
    first, second = User(folder), User(folder)
    assert first.url == second.url
    pids = [facts(folder)["pid"], facts(folder)["keeper"]]
    first.end()
    assert all(map(_runs, pids))
    second.end()
    assert gone(pids)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_ends_with_a_user_that_was_killed(folder: Path, number: int) -> None:
    user = User(folder)
    pids = [facts(folder)["pid"], facts(folder)["keeper"]]
    user.end(number)
    assert gone(pids)


def test_the_server_ends_with_a_user_that_never_closed(folder: Path) -> None:
    user = User(folder, "forget")
    pids = [facts(folder)["pid"], facts(folder)["keeper"]]
    user.end()
    assert gone(pids)


def test_an_interrupt_of_the_notebooks_process_group_leaves_the_server_alone(folder: Path) -> None:
    starter = User(folder, start_new_session=True)
    mine = EmbeddedServer.open(folder)
    pids = [facts(folder)["pid"], facts(folder)["keeper"]]
    os.killpg(starter.process.pid, signal.SIGINT)
    starter.end()
    assert all(map(_runs, pids))
    mine.close()
    assert gone(pids)


def test_a_server_that_was_killed_is_started_anew(folder: Path) -> None:
    first = EmbeddedServer.open(folder)
    pids = [facts(folder)["pid"], facts(folder)["keeper"]]
    os.kill(pids[0], signal.SIGKILL)
    assert gone(pids)
    second = EmbeddedServer.open(folder)
    assert facts(folder)["pid"] != pids[0]
    first.close()
    second.close()


def test_a_keeper_that_was_killed_takes_its_server_along(folder: Path) -> None:
    first = EmbeddedServer.open(folder)
    old = facts(folder)
    os.kill(old["keeper"], signal.SIGKILL)
    assert gone([old["pid"], old["keeper"]])
    second = EmbeddedServer.open(folder)
    assert facts(folder)["pid"] != old["pid"]
    first.close()
    second.close()


def test_a_forked_child_does_not_keep_the_server(folder: Path) -> None:
    server = EmbeddedServer.open(folder)
    pids = [facts(folder)["pid"], facts(folder)["keeper"]]
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    os.close(reading)
    server.close()
    assert gone(pids)
    os.close(writing)
    os.waitpid(child, 0)


def test_many_openers_at_once_get_one_server(folder: Path) -> None:
    users = [
        subprocess.Popen(
            [sys.executable, "-c", USER, str(folder), "close"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for _ in range(6)
    ]
    urls = {user.stdout.readline() for user in users}
    pids = [facts(folder)["pid"], facts(folder)["keeper"]]
    for user in users:
        user.communicate("\n", timeout=SECONDS)
    assert len(urls) == 1
    assert gone(pids)


def test_a_stale_record_of_a_server_is_not_believed(folder: Path) -> None:
    folder.mkdir()
    (folder / "server.json").write_text('{"name": "kmnb-0", "port": 1, "pid": 1, "keeper": 1}')
    server = EmbeddedServer.open(folder)
    assert facts(folder)["port"] != 1
    server.close()


def test_only_the_user_can_enter_the_folder_and_only_loopback_is_served(folder: Path) -> None:
    server = EmbeddedServer.open(folder)
    addresses = {
        item.laddr.ip for item in psutil.Process(facts(folder)["pid"]).net_connections("tcp") if not item.raddr
    }
    server.close()
    assert folder.stat().st_mode & 0o77 == 0
    assert addresses == {"127.0.0.1"}


def test_without_a_binary_the_error_names_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_embedded.shutil, "which", lambda name: None)
    monkeypatch.setattr(_embedded, "_packaged_server", lambda: None)
    _embedded.find_server.cache_clear()
    with pytest.raises(StoreUnavailable, match=r"kmnb\[embedded\]"):
        EmbeddedServer.open(folder)
    _embedded.find_server.cache_clear()


def test_an_old_server_on_the_path_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "nats-server"
    old.write_text("#!/bin/sh\necho 'nats-server: v2.9.10'\n")
    old.chmod(0o755)
    monkeypatch.setattr(_embedded.shutil, "which", lambda name: str(old))
    _embedded.find_server.cache_clear()
    assert _embedded.find_server() != old
    monkeypatch.setattr(_embedded, "_packaged_server", lambda: None)
    _embedded.find_server.cache_clear()
    with pytest.raises(StoreUnavailable, match=r"2\.9\.10.*2\.11 or newer"):
        _embedded.find_server()
    _embedded.find_server.cache_clear()


def test_a_binary_that_does_not_start_is_an_error_with_the_reason(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_embedded, "find_server", lambda: tmp_path / "nothing")
    with pytest.raises(StoreUnavailable, match="No such file"):
        EmbeddedServer.open(folder)


def test_a_folder_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="embedded store"):
        EmbeddedServer.open(tmp_path / "file" / "below")


def test_an_idle_keeper_uses_no_time(folder: Path) -> None:
    server = EmbeddedServer.open(folder)
    keeper = psutil.Process(facts(folder)["keeper"])
    before = keeper.cpu_times()
    other = EmbeddedServer.open(folder)
    other.close()
    after = keeper.cpu_times()
    server.close()
    assert (after.user + after.system) - (before.user + before.system) < 0.05


def test_the_lock_of_users_is_free_when_nobody_is_left(folder: Path) -> None:
    EmbeddedServer.open(folder).close()
    with (folder / "users.lock").open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert not (folder / "server.json").exists()
