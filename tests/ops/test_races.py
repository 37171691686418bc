"""Numbers under a race of processes: each one once, no gap, nothing lost."""

from __future__ import annotations

import json

import pytest

from tests.children import python

# One interpreter that forks is much cheaper than fifty that start.
RACE = """
import os, sys, traceback
import kmnb, kmnb.ops.workspace, kmnb.formats._inspect, kmnb.storage, kmnb.frontends._settings
from kmnb import _plugins
url, namespace, what, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
_plugins.names("kmnb.storage.backends", "kmnb.backends")
def say(word):
    os.write(1, f"{word}\\n".encode())  # one write, so that the words of two processes do not mix
def work(number):
    with kmnb.connect(url, namespace=namespace, thread="t", agent="a", app=namespace, user="u", session="s",
                      config={"sweep_on_connect": False}) as ws:
        if what == "spill":
            say(ws.put(f"{number}", tool="x").key)
        elif what == "save":
            say(ws.save("f.txt", f"{number}").version)
        else:
            say(ws.append("f.txt", f"<{number}>").version)
children = []
for number in range(count):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(number)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush(); sys.stderr.flush()
            os._exit(code)
    children.append(child)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
sys.exit(f"exit codes of children: {codes}" if any(codes) else 0)
"""


def race(url: str, names: dict[str, str], what: str, count: int) -> list[str]:
    answer = python("-c", RACE, url, names["namespace"], what, str(count), seconds=110)
    assert answer.clean, answer
    return answer.out.split()


@pytest.fixture
def reader(shared_url: str, names: dict[str, str]):
    import kmnb

    with kmnb.connect(
        shared_url, namespace=names["namespace"], thread="t", app=names["namespace"], user="u", session="s",
        config={"sweep_on_connect": False},
    ) as ws:  # fmt: skip
        yield ws


def test_fifty_processes_get_fifty_keys_and_lose_nothing(shared_url, names, reader) -> None:
    keys = race(shared_url, names, "spill", 50)
    assert sorted(int(key.rpartition("-")[2]) for key in keys) == list(range(50))
    contents = {art.read(0, 10) for art in reader.list()}
    assert contents == {str(number).encode() for number in range(50)}


def test_fifty_processes_save_versions_0_to_49(shared_url, names, reader) -> None:
    race(shared_url, names, "save", 50)
    assert reader.versions("f.txt") == list(range(50))
    contents = {reader.load("f.txt", version=number).read(0, 10) for number in range(50)}
    assert contents == {str(number).encode() for number in range(50)}


def test_twenty_processes_append_and_every_chunk_is_kept(shared_url, names, reader) -> None:
    race(shared_url, names, "append", 20)
    assert reader.versions("f.txt") == list(range(20))
    last = reader.load("f.txt").read(0, 1000).decode()
    assert sorted(json.loads(last.replace("><", ",").replace("<", "[").replace(">", "]"))) == list(range(20))
