"""The embedded server takes its owner alone, shows no password, and is found again after it died."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nats
import psutil
import pytest
from nats.errors import Error as NatsError

import kmnb
from kmnb._bridge import run
from kmnb.storage import Store, _embedded, open_backend
from kmnb.storage._embedded import EmbeddedServer
from kmnb.storage.backends.nats import NatsBackend
from tests.children import ROOT
from tests.storage.nats_places import eventually

SECONDS = 20.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with kmnb.open_store(f"nats+embedded://{folder}") as opened:
        yield opened


def facts(folder: Path) -> dict[str, object]:
    return json.loads((folder / "server.json").read_text())


async def connected(url: str) -> str:
    """Connect as any program does, and say who the server takes us for."""

    async def quiet(error: Exception) -> None:
        """A refusal is told by what is raised."""

    client = await nats.connect(url, max_reconnect_attempts=1, reconnect_time_wait=0, connect_timeout=3, error_cb=quiet)
    try:
        account = await client.jetstream().account_info()
        return f"{account.streams} streams"
    finally:
        await client.close()


@pytest.mark.parametrize("info", ["", "kmnb:@", "kmnb:wrong@", "kmnb@", "other:wrong@"])
def test_a_client_without_the_password_is_refused(store: Store, folder: Path, info: str) -> None:
    port = facts(folder)["port"]
    with pytest.raises(NatsError):
        asyncio.run(asyncio.wait_for(connected(f"nats://{info}127.0.0.1:{port}"), SECONDS))
    with pytest.raises(kmnb.KmnbError):
        kmnb.open_store(f"nats://{info}127.0.0.1:{port}", connect_seconds=2)


def test_the_servers_address_is_all_that_another_client_needs(store: Store) -> None:
    assert asyncio.run(asyncio.wait_for(connected(store.server_url), SECONDS)) == "3 streams"
    store.put("a/b", b"1")
    with kmnb.open_store(store.server_url) as other:
        assert b"".join(other.stream("a/b")) == b"1"


def test_the_password_is_new_at_every_start_and_shown_nowhere(folder: Path) -> None:
    seen = set()
    for _ in range(2):
        with kmnb.open_store(f"nats+embedded://{folder}") as store:
            password = str(facts(folder)["password"])
            assert len(password) == 48
            assert password in store.server_url
            seen.add(password)
            commands = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout
            assert str(folder) in commands
            backend = store._backend
            told = [
                repr(store),
                store.url,
                repr(backend),
                str(run(backend.describe())),
                repr(backend._embedded.running),
            ]
            told += [repr(backend._link.address), (folder / "server.log").read_text(), commands]
            environments = [Path(f"/proc/{facts(folder)[name]}/environ").read_text() for name in ("pid", "keeper")]
            assert [text for text in (*told, *environments) if password in text] == []
    assert len(seen) == 2


def test_a_workspace_shows_no_password(folder: Path) -> None:
    with kmnb.connect(f"nats+embedded://{folder}", thread="t") as ws:
        password = str(facts(folder)["password"])
        art = ws.put(b"line\n" * 5000, tool="t")
        told = [repr(ws), str(ws.doctor()), str(ws.settings), ws.url, repr(ws.context), str(art.envelope()), repr(art)]
    assert [text for text in told if password in text] == []


def test_only_the_owner_reads_what_the_server_writes(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    (folder / "server.conf").write_text("# readable for all")
    (folder / "server.conf").chmod(0o644)
    with kmnb.open_store(f"nats+embedded://{folder}") as store:
        store.put("a/b", bytes(300_000))
        found = [path for path in folder.rglob("*") if stat.S_IMODE(path.lstat().st_mode) & 0o77]
    assert found == []


def test_a_server_that_an_older_keeper_started_is_joined_without_a_password(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = _embedded._KEEPER.read_text()
    begin, end = text.index("authorization {{"), text.index("jetstream {{")
    old = (text[:begin] + text[end:]).replace('| {"user": USER, "password": password}', "")
    (tmp_path / "keeper.py").write_text(old)
    with monkeypatch.context() as patch:
        patch.setattr(_embedded, "_KEEPER", tmp_path / "keeper.py")
        server = EmbeddedServer.open(folder)
    assert "password" not in facts(folder)
    with kmnb.open_store(f"nats+embedded://{folder}") as store:
        store.put("a/b", b"1")
        assert store.server_url == server.url
    server.close()
    with kmnb.open_store(f"nats+embedded://{folder}") as store:
        assert b"".join(store.stream("a/b")) == b"1"
        assert "@" in store.server_url


def test_a_server_that_took_the_port_of_a_dead_one_is_not_told_the_password(folder: Path) -> None:
    first = EmbeddedServer.open(folder)
    told = (folder / "server.json").read_text()
    first.close()
    (folder / "server.json").write_text(told)
    assert _embedded._running(folder) is None


USER = """
import sys
from pathlib import Path
from kmnb.storage._embedded import EmbeddedServer
server = EmbeddedServer.open(Path(sys.argv[1]))
print(server.url, flush=True)
sys.stdin.readline()
server.close()
"""


def ended(pid: object) -> bool:
    return eventually(lambda: not psutil.pid_exists(int(str(pid))))


@pytest.mark.parametrize("victim", ["pid", "keeper"])
def test_a_server_that_died_is_started_again_by_whoever_needs_it(folder: Path, victim: str) -> None:
    async def story() -> None:
        backend = await open_backend(f"nats+embedded://{folder}")
        assert isinstance(backend, NatsBackend)
        await backend.discussions.put("a/b", b"1" * 2_000_000)
        before, address = facts(folder), backend.server_url
        followed = backend.bus.subscribe("some.subject")
        message = asyncio.ensure_future(anext(followed))
        await backend.bus.publish("another.subject", b"", stored=False)
        os.kill(int(str(before[victim])), signal.SIGKILL)
        assert await asyncio.to_thread(ended, before["pid"])
        assert (await backend.discussions.head("a/b")).size == 2_000_000
        assert len(await backend.discussions.get_range("a/b", 5, 1_500_000)) == 1_499_995
        await backend.discussions.put("a/c", b"2" * 2_000_000)
        assert facts(folder)["pid"] != before["pid"]
        assert backend.server_url != address
        await backend.bus.publish("some.subject", b"still here", stored=False)
        assert (await message).data == b"still here"
        await followed.aclose()
        await backend.close()

    run(asyncio.wait_for(story(), SECONDS))


def test_a_server_that_another_process_started_again_is_found(folder: Path) -> None:
    with kmnb.connect(f"nats+embedded://{folder}", thread="t") as ws:
        art = ws.put(b"line\n" * 5000, tool="t")
        pid = facts(folder)["pid"]
        os.kill(int(str(pid)), signal.SIGKILL)
        assert ended(pid)
        command = [sys.executable, "-c", USER, str(folder)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as other:
            url = other.stdout.readline().strip()
            assert "line" in str(art.head(1))
            assert ws.put(b"more\n" * 5000, tool="t").size == 25_000
            assert ws.context.backend._embedded.url == url
            other.communicate("\n", timeout=SECONDS)


def test_a_store_that_was_closed_starts_no_server(folder: Path) -> None:
    server = EmbeddedServer.open(folder)
    server.close()
    with pytest.raises(kmnb.errors.StoreUnavailable, match="closed"):
        server.find_again()
    assert not (folder / "server.json").exists()
