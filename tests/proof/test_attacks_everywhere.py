"""All attack probes, the heavy ones too, in every place: users, containers, old versions of Landlock."""

from __future__ import annotations

import pytest

from tests.sandbox.places import Place, attack, failures, skipped

PLACES = (
    Place("root", "ns"),
    Place("user", "ns"),
    Place("root", "flat"),
    Place("user", "flat"),
    Place("docker"),
    Place("restricted"),
    *(Place("restricted", landlock=version) for version in (5, 4, 3, 2, 1)),
)
KNOWN = {"restricted-any-landlock1": {"FS-13"}}
"""Landlock 1 refuses every move between folders, so that a program cannot use its own folder quite as it likes."""


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_nothing_gets_through(place: Place) -> None:
    results = attack(place, heavy=True)
    assert set(failures(results)) == KNOWN.get(str(place), set())
    assert set(skipped(results)) == (set() if place.engine == "ns" else {"FS-19"})
    assert len(results) == 77
