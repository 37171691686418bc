"""Workspaces on the three stores that need no cloud, each test in a namespace of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import kmnb
from kmnb._bridge import run
from kmnb.core.config import Names, Settings
from kmnb.ops.context import Context
from kmnb.ops.workspace import Workspace
from kmnb.storage import open_backend

_numbers = itertools.count()


@pytest.fixture(scope="session")
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One server for all tests."""
    with kmnb.open_store(f"nats+embedded://{tmp_path_factory.mktemp('nats')}") as store:
        assert store.server_url is not None
        yield store.server_url


@pytest.fixture(params=["memory", "file", "nats"])
def url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    """A store that several workspaces of this process can open."""
    if request.param == "memory":
        return f"memory://test-{next(_numbers)}"
    return f"file://{tmp_path}/store" if request.param == "file" else request.getfixturevalue("nats_url")


@pytest.fixture(params=["file", "nats"])
def shared_url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    """A store that several processes can open."""
    return f"file://{tmp_path}/store" if request.param == "file" else request.getfixturevalue("nats_url")


@pytest.fixture
def names() -> dict[str, str]:
    """Names that no other test has."""
    number = next(_numbers)
    return {"namespace": f"ns{number}", "crew": "pilot", "thread": "t1", "agent": "kube", "app": f"app{number}"}


Connect = Callable[..., Workspace]


@pytest.fixture
def connect(url: str, names: dict[str, str]) -> Iterator[Connect]:
    """Open workspaces on the store of this test; they are closed at its end."""
    opened: list[Workspace] = []

    def open_one(*, config: dict[str, Any] | None = None, **changes: Any) -> Workspace:
        given = {"sweep_on_connect": False, **(config or {})}
        workspace = kmnb.connect(url, config=given, **{**names, **changes})
        opened.append(workspace)
        return workspace

    yield open_one
    for workspace in opened:
        workspace.close()


@pytest.fixture
def ws(connect: Connect) -> Workspace:
    """A workspace."""
    return connect()


class Clock:
    """A clock that a test moves; it starts at the present, since stores stamp objects with their own."""

    def __init__(self) -> None:
        self.moment = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.moment

    def ahead(self, **amount: float) -> None:
        """Move on."""
        self.moment += timedelta(**amount)


@pytest.fixture
def clock() -> Clock:
    """A clock at the present."""
    return Clock()


@pytest.fixture
def virtual(url: str, names: dict[str, str], clock: Clock) -> Iterator[Callable[..., Workspace]]:
    """Open workspaces whose time is the test's clock; nothing runs in their background."""
    opened: list[Workspace] = []

    def open_one(*, settings: dict[str, Any] | None = None, **changes: str) -> Workspace:
        backend = run(open_backend(url))
        every = Names(**{**names, "session": "s1", "user": "me", **changes})
        workspace = Workspace(Context(backend, every, Settings(**(settings or {})), clock=clock))
        opened.append(workspace)
        return workspace

    yield open_one
    for workspace in opened:
        workspace.close()


@pytest.fixture
def bus(nats_url: str, names: dict[str, str]) -> Iterator[Callable[..., Workspace]]:
    """Open workspaces on a server with a bus."""
    opened: list[Workspace] = []

    def open_one(**changes: str) -> Workspace:
        opened.append(kmnb.connect(nats_url, config={"sweep_on_connect": False}, **{**names, **changes}))
        return opened[-1]

    yield open_one
    for workspace in opened:
        workspace.close()
