"""All attack probes, the heavy ones too, in every place: users, containers, old versions of Landlock.

``PROOF_RECORD=1`` writes what became of them into the documentation.
"""

from __future__ import annotations

import os

import pytest

from tests.sandbox import attack_table
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
_seen: dict[str, dict[str, list[object]]] = {}


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_nothing_gets_through(place: Place) -> None:
    results = _seen[str(place)] = attack(place, heavy=True)
    assert set(failures(results)) == KNOWN.get(str(place), set())
    assert set(skipped(results)) == (set() if place.engine == "ns" else {"FS-19"})
    assert set(results) == set(attack_table.probes())


def test_what_was_seen_is_a_page() -> None:
    page = attack_table.page(_seen)
    assert page.count("| ✓") >= 70 * len(_seen)
    if os.environ.get("PROOF_RECORD") and len(_seen) == len(PLACES):
        attack_table.PAGE.write_text(page, "utf-8")
