"""The quick part of the attack probes at the two levels that this machine may have.

``make proof`` runs all of them everywhere.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from .conftest import ENGINES
from .places import Place, attack, failures, skipped

QUICK = "^(NET-0|NET-1|PRC|FS-(08|10|11|12|13|19)|KIL-(03|13)|RES-06|ENV|COD-(07|13|29|31)|PY|KRN-(01|03|08))"


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, list[object]]]:
    """What became of the probes under each engine, both at once: most of their time is waiting."""
    with ThreadPoolExecutor(len(ENGINES)) as both:
        return dict(zip(ENGINES, both.map(lambda one: attack(Place("root", one), only=QUICK), ENGINES), strict=True))


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_gets_through(results: dict[str, dict[str, list[object]]], engine: str) -> None:
    assert failures(results[engine]) == {}
    assert set(skipped(results[engine])) == ({"FS-19"} if engine == "flat" else set())
    assert len(results[engine]) > 25
