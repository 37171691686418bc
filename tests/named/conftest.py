"""Services that the tests of a file share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from kmnb.testing import Scratch, ScratchUnavailable, scratch

_numbers = itertools.count()


@pytest.fixture(scope="module")
def services() -> Iterator[dict[str, Scratch]]:
    """Services by scheme, started when they are asked for first."""
    running: dict[str, Scratch] = {}
    yield running
    for service in running.values():
        service.close()


@pytest.fixture
def fresh(services: dict[str, Scratch]) -> Any:
    """Give the address of an empty store of a scheme."""

    def of(scheme: str) -> str:
        if scheme not in services:
            try:
                services[scheme] = scratch(scheme)
            except ScratchUnavailable as reason:
                pytest.skip(str(reason))
        return services[scheme].fresh()

    return of
