"""Stores that the tests of this folder share: places on real NATS servers, and a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kmnb._bridge import run
from kmnb.storage import Store, open_backend, open_store
from kmnb.storage.backends._nats_area import NatsArea
from kmnb.storage.backends.nats import NatsBackend
from kmnb.testing._nats import NatsServer
from tests.storage.nats_places import fresh


@pytest.fixture(scope="session")
def server() -> Iterator[NatsServer]:
    """One server for all files here; who ends or pauses one has its own."""
    running = NatsServer()
    yield running
    running.close()


@pytest.fixture
def backend(server: NatsServer) -> Iterator[NatsBackend]:
    """An empty store on it."""
    opened = run(open_backend(fresh(server.url)))
    yield opened
    run(opened.close())


@pytest.fixture
def area(backend: NatsBackend) -> NatsArea:
    """Its discussions."""
    return backend.discussions


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where :func:`store` keeps its files."""
    return tmp_path / "store"


@pytest.fixture
def store(root: Path) -> Iterator[Store]:
    """An empty file store."""
    with open_store(f"file://{root}") as opened:
        yield opened
