"""After the TTL: the server removes by itself, references say "expired", named artifacts stay."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import nats
import pytest

import kmnb
from kmnb.errors import ArtifactNotFound
from kmnb.ops.workspace import Workspace
from kmnb.testing._nats import NatsServer
from tests.children import python
from tests.ops.conftest import Clock
from tests.ops.test_doctor import make_bucket


@pytest.fixture
def short_lived(nats_url: str, names: dict[str, str]) -> Iterator[Callable[[], Workspace]]:
    """Open workspaces on a bucket whose objects live for two seconds."""
    bucket = f"short-{names['namespace']}"
    asyncio.run(make_bucket(nats_url, bucket, 2))
    opened: list[Workspace] = []

    def open_one() -> Workspace:
        opened.append(kmnb.connect(f"{nats_url}/{bucket}", config={"sweep_on_connect": False}, **names))
        return opened[-1]

    yield open_one
    for workspace in opened:
        workspace.close()


async def objects(url: str, bucket: str) -> list[str] | None:
    """What a client of another make finds in a bucket; None where it does not tell in time.

    Its listing waits for the messages that there were when it began, for ever where one of them expires meanwhile.
    """
    client = await nats.connect(url)
    try:
        store = await client.jetstream().object_store(bucket)
        try:
            return [info.name for info in await asyncio.wait_for(store.list(), 2)]
        except TimeoutError:
            return None
        except nats.js.errors.NotFoundError:
            return []
    finally:
        await client.close()


def wait_until_empty(url: str, bucket: str, *, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while asyncio.run(objects(url, bucket)) != []:
        assert time.monotonic() < deadline, "the server removed nothing"
        time.sleep(0.2)


def test_the_server_removes_without_any_kmnb_process_and_named_artifacts_stay(short_lived, nats_url, names) -> None:
    with short_lived() as ws:
        art = ws.put("x" * 5000, tool="x")
        reference = art.envelope()
        ws.save("kept.txt", "named")
        held = ws.put("held", tool="y")
        held.hold("audit")
    wait_until_empty(nats_url, f"short-{names['namespace']}", seconds=15)
    ws = short_lived()
    assert ws.load("kept.txt").read(0, 10) == b"named"
    assert ws.get(held.key).read(0, 10) == b"held"
    with pytest.raises(ArtifactNotFound, match=r"expired 0\.000\d* h after it was stored"):
        ws.get(reference).head(1)
    with pytest.raises(ArtifactNotFound, match="never existed, was deleted or has expired"):
        ws.get(art.key)


def test_an_old_reference_says_how_long_after_it_expired(virtual: Callable[..., Workspace], clock: Clock) -> None:
    ws = virtual()
    art = ws.put("x" * 5000, tool="x")
    reference = art.envelope()
    assert reference["expiresAt"] > reference["createdAt"]
    ws.delete(art)
    clock.ahead(hours=49)
    for handle in (art, ws.get(reference)):
        with pytest.raises(ArtifactNotFound, match="expired 48 h after it was stored"):
            handle.head(1)
    peer = {"key": art.key, "createdAt": reference["createdAt"]}
    with pytest.raises(ArtifactNotFound, match="expired 48 h after it was stored"):
        ws.get(peer).head(1)


def test_an_artifact_that_goes_after_its_facts_were_read_is_explained(ws: Workspace) -> None:
    art = ws.get(ws.put("a\nb\n" * 1000, tool="x").key)
    ws.delete(art)
    for read in (lambda: art.head(1), lambda: art.read(0, 10), lambda: art.grep("a")):
        with pytest.raises(ArtifactNotFound, match="deleted before it expired"):
            read()


def test_a_plain_connect_sweeps_what_expired_meanwhile(
    url: str, names: dict[str, str], virtual: Any, clock: Clock
) -> None:
    from kmnb._bridge import run
    from kmnb.ops.background import start_background

    ws = virtual()
    ws.put("x", tool="x")
    clock.ahead(hours=49)
    later = virtual()

    async def begin() -> None:
        start_background(later.context)

    run(begin())
    deadline = time.monotonic() + 10
    while list(ws.list()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


FILLED = """
import sys, kmnb
with kmnb.connect(sys.argv[1], thread="t", agent="a", config={"sweep_on_connect": False}) as ws:
    ws.put("x" * 5000, tool="x")
    ws.save("kept.txt", "named")
"""

LOOKED = """
import asyncio, sys, time, nats
async def main():
    client = await nats.connect(sys.argv[1])
    named = await client.jetstream().object_store("kmnb_named_artifacts")
    gone, deadline = False, time.monotonic() + 15
    first = None
    while not gone and time.monotonic() < deadline:
        info = await client.jetstream().stream_info("OBJ_" + sys.argv[2])
        first = info.state.messages if first is None else first
        gone = info.state.messages == 0
        await asyncio.sleep(0.1)
    kept = [info.name for info in await named.list()]
    print(first > 0, gone, len(kept), (await named.get(kept[0])).data.decode())
    await client.close()
asyncio.run(main())
assert not any(name.partition(".")[0] == "kmnb" for name in sys.modules)
"""


def test_a_server_alone_removes_what_doctor_told_it_to() -> None:
    """A bare nats-server; kmnb sets the TTL and stores, ends, and a client that knows nothing of kmnb looks."""
    server = NatsServer()
    try:
        asyncio.run(make_bucket(server.url, "plain", 0))
        url, short = f"{server.url}/plain", {"KMNB_TTL_SECONDS": "2", "KMNB_SWEEP_ON_CONNECT": "false"}
        noticed = python("-m", "kmnb", "--url", url, "--json", "doctor", KMNB_TTL_SECONDS="2")
        assert ttl_of(noticed) == "warning"
        assert ttl_of(python("-m", "kmnb", "--url", url, "--json", "doctor", "--fix", **short)) == "ok"
        assert python("-c", FILLED, url, **short).code == 0
        looked = python("-c", LOOKED, server.url, "plain")
    finally:
        server.close()
    assert looked.code == 0, looked
    assert looked.out.split() == ["True", "True", "1", "named"]


def ttl_of(answer: Any) -> str:
    assert answer.code == 0, answer
    (found,) = [one["status"] for one in json.loads(answer.out)["findings"] if one["name"] == "ttl"]
    return found


def test_the_default_store_is_swept_by_a_plain_connect_two_days_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asks for anything: no URL, no setting, no sweep."""
    for name in [name for name in os.environ if name.startswith("KMNB_")]:
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with kmnb.connect() as ws:
        gone = [ws.put("x" * 5000, tool="x", thread=thread) for thread in ("default", "other")]
        held = ws.put("held", tool="y")
        held.hold("audit")
        ws.save("kept.txt", "named")
        assert str(tmp_path) in ws.url
    kind = type(ws.context.backend)
    real = kind.now

    async def later(self: Any) -> datetime:
        return await real(self) + timedelta(hours=49)

    monkeypatch.setattr(kind, "now", later)
    with kmnb.connect() as ws:
        deadline = time.monotonic() + 20
        while {art.key for art in ws.list(ws.namespace)} & {art.key for art in gone}:
            assert time.monotonic() < deadline, "nothing was swept"
            time.sleep(0.05)
        assert ws.get(held.key).read(0, 10) == b"held"
        assert ws.load("kept.txt").read(0, 10) == b"named"
