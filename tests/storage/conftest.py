"""Places on real NATS servers that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kmnb._bridge import run
from kmnb.storage import open_backend
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
