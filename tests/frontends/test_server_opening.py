"""Requests that find no workspace share one attempt to open it, and its failure."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kmnb.errors import StoreUnavailable
from kmnb.frontends import _server_app
from kmnb.frontends._server_app import KmnbServer
from tests.frontends.jupyter import running_server

REQUESTS = 10
SECONDS = 20.0


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def address(silent: socket.socket) -> str:
    return f"nats://127.0.0.1:{silent.getsockname()[1]}?connect_seconds=0.5"


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The URLs that were opened."""
    found, original = list[str | None](), _server_app._open

    async def counted(url: str | None) -> Any:
        found.append(url)
        return await original(url)

    monkeypatch.setattr(_server_app, "_open", counted)
    return found


def test_those_who_wait_share_one_attempt_and_its_failure(silent: socket.socket, attempts: list[str | None]) -> None:
    async def story() -> None:
        state = KmnbServer(url=address(silent))
        for turn in (1, 2):
            answers = await asyncio.gather(*(state.workspace() for _ in range(REQUESTS)), return_exceptions=True)
            assert [type(answer) for answer in answers] == [StoreUnavailable] * REQUESTS
            assert len(attempts) == turn

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_one_who_goes_away_does_not_end_it_for_the_others(tmp_path: Path, attempts: list[str | None]) -> None:
    async def story() -> None:
        state = KmnbServer(url=f"file://{tmp_path}/store")
        first, second = (asyncio.ensure_future(state.workspace()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        workspace = await second
        assert await state.workspace() is workspace
        assert first.cancelled()
        assert len(attempts) == 1
        await workspace.close_async()

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_requests_to_a_running_server_are_told_at_the_same_time(silent: socket.socket, tmp_path: Path) -> None:
    with running_server(tmp_path, "--KmnbServer.sweep_minutes=0", KMNB_URL=address(silent)) as server:

        async def ask() -> float:
            begin = time.monotonic()
            reply = await asyncio.to_thread(server.ask, "kmnb/artifacts")
            assert reply.status == 503
            return time.monotonic() - begin

        async def story() -> list[float]:
            return await asyncio.gather(*(ask() for _ in range(REQUESTS)))

        waited = asyncio.run(asyncio.wait_for(story(), SECONDS))
    assert max(waited) < min(waited) + 3  # one after the other they would be 4.5 s apart
