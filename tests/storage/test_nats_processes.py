"""Stores and processes: forks, interrupts, exits, and the embedded server behind them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path

import pytest

import kmnb
from kmnb._bridge import run
from kmnb.errors import BadRequest
from kmnb.storage import _embedded, open_backend
from kmnb.testing._nats import NatsServer
from tests.children import python
from tests.storage.nats_places import MIB, SECONDS, eventually, fresh, keys, read
from tests.storage.test_embedded import facts, gone

FORK = """
import os, sys
import kmnb
store = kmnb.open_store(sys.argv[1])
store.put("parent", b"1" * 300_000)
assert b"".join(store.stream("parent")) == b"1" * 300_000
child = os.fork()
if child == 0:
    try:
        assert b"".join(store.stream("parent")) == b"1" * 300_000
        store.put("child", b"2" * 300_000)
        assert store.get_range("child", 200_000, 200_001) == b"2"
        os._exit(0)
    finally:
        os._exit(1)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert sorted(info.key for info in store.list()) == ["child", "parent"]
assert b"".join(store.stream("child")) == b"2" * 300_000
store.close()
"""


def test_a_forked_child_has_its_own_connections(server: NatsServer) -> None:
    answer = python("-W", "ignore::DeprecationWarning", "-c", FORK, fresh(server.url))
    assert answer.clean, answer


def test_a_forked_child_holds_the_embedded_server_as_long_as_it_uses_it(tmp_path: Path) -> None:
    answer = python("-W", "ignore::DeprecationWarning", "-c", FORK, f"nats+embedded://{tmp_path}/store")
    assert answer.clean, answer


EXIT = """
import sys
import kmnb
store = kmnb.open_store(sys.argv[1])
store.put("x", b"1" * 5_000_000)
walk = store.stream("x")
next(iter(walk))
"""


def test_a_program_that_closes_nothing_ends_at_once_and_takes_the_server_along(tmp_path: Path) -> None:
    begin = time.monotonic()
    answer = python("-c", EXIT, f"nats+embedded://{tmp_path}/store")
    assert answer.clean, answer
    assert time.monotonic() - begin < 15
    assert not (tmp_path / "store" / "server.json").exists()


def test_a_store_in_the_default_folder_needs_no_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with kmnb.open_store("nats+embedded://") as store:
        store.put("x", b"1")
        assert store.url == f"nats+embedded://{tmp_path}/kmnb/nats"
    with kmnb.open_store("nats+embedded://") as store:
        assert b"".join(store.stream("x")) == b"1"


def test_an_embedded_store_asks_for_no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NATS_CREDS", "/nothing/here")
    with kmnb.open_store(f"nats+embedded://{tmp_path}/s") as store:
        store.put("x", b"1")
        assert b"".join(store.stream("x")) == b"1"


def test_a_mistake_in_the_options_leaves_no_server(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="does not have it"):
        run(open_backend(f"nats+embedded://{tmp_path}/s?bukket=x"))
    assert eventually(lambda: not (tmp_path / "s" / "server.json").exists())


def test_an_interrupt_while_the_server_starts_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = _embedded._run_keeper

    def slow(folder: Path, binary: Path) -> str:
        time.sleep(0.3)
        return original(folder, binary)

    monkeypatch.setattr(_embedded, "_run_keeper", slow)

    async def story() -> float:
        task = asyncio.ensure_future(open_backend(f"nats+embedded://{tmp_path}/s"))
        await asyncio.sleep(0.1)
        task.cancel()
        begin = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - begin

    assert run(story()) < 0.15
    log, facts_file = tmp_path / "s" / "server.log", tmp_path / "s" / "server.json"
    assert eventually(lambda: log.exists() and not facts_file.exists())


def test_the_data_outlive_the_server(tmp_path: Path) -> None:
    url = f"nats+embedded://{tmp_path}/a folder/störe"
    with kmnb.open_store(url) as store:
        store.put("x", b"kept")
        pids = [facts(tmp_path / "a folder" / "störe")[name] for name in ("pid", "keeper")]
    assert gone(pids)
    with kmnb.open_store(url) as store:
        assert b"".join(store.stream("x")) == b"kept"


def test_what_was_acknowledged_survives_the_death_of_the_embedded_server(tmp_path: Path) -> None:
    async def story() -> None:
        backend = await open_backend(f"nats+embedded://{tmp_path}/s?request_seconds=1")
        await backend.discussions.put("x", b"kept" * MIB)
        os.kill(json.loads((tmp_path / "s" / "server.json").read_text())["pid"], signal.SIGKILL)
        await backend.close()
        backend = await open_backend(f"nats+embedded://{tmp_path}/s")
        assert await keys(backend.discussions) == ["x"]
        assert await read(backend.discussions, "x") == b"kept" * MIB
        await backend.close()

    run(asyncio.wait_for(story(), SECONDS))
