"""The quick part of the attack probes at the two levels that this machine may have, and a few of them elsewhere.

``make proof`` runs all of them everywhere.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from . import attack_table
from .attack_table import page
from .conftest import ENGINES
from .places import Place, attack, failures, skipped

QUICK = (
    "^(NET-0|NET-1|PY|KRN-(01|03|08)|RES-(06|15|16|17))",
    "^(PRC|FS-(08|10|11|12|13|19|21)|KIL-(03|13)|ENV|COD-(07|13|29|31))",
)
"""Two halves that run at the same time: most of a probe's time is waiting for what might be left of it."""


FEW = "^(NET-01|PRC-01|PRC-13|PRC-21|FS-(08|12|19|21)|KIL-03|ENV-01|KRN-01|RES-1[5-7])"
ELSEWHERE = (Place("user", "ns"), Place("docker"), Place("restricted"), Place("restricted", landlock=2))


@pytest.fixture(scope="module")
def elsewhere() -> dict[Place, dict[str, list[object]]]:
    """What became of a few probes as other users, in containers, and with an old Landlock."""
    with ThreadPoolExecutor(len(ELSEWHERE)) as all_at_once:
        return dict(zip(ELSEWHERE, all_at_once.map(lambda one: attack(one, only=FEW), ELSEWHERE), strict=True))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can run the probes as somebody else")
@pytest.mark.parametrize("place", ELSEWHERE, ids=str)
def test_a_few_get_through_nowhere(elsewhere: dict[Place, dict[str, list[object]]], place: Place) -> None:
    assert failures(elsewhere[place]) == {}
    assert set(skipped(elsewhere[place])) == (set() if place.engine == "ns" else {"FS-19"})
    assert len(elsewhere[place]) == 14


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, list[object]]]:
    """What became of the probes under each engine."""
    shares = [(engine, half) for engine in ENGINES for half in QUICK]
    with ThreadPoolExecutor(len(shares)) as all_at_once:
        found = list(all_at_once.map(lambda one: attack(Place("root", one[0]), only=one[1]), shares))
    return {engine: {**found[2 * place], **found[2 * place + 1]} for place, engine in enumerate(ENGINES)}


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_gets_through(results: dict[str, dict[str, list[object]]], engine: str) -> None:
    assert failures(results[engine]) == {}
    assert set(skipped(results[engine])) == ({"FS-19"} if engine == "flat" else set())
    assert len(results[engine]) > 25


def test_the_recorded_page_names_every_probe_in_every_place() -> None:
    probes = set(attack_table.probes())
    held: dict[str, list[object]] = {probe: ["ok"] for probe in probes}
    other: dict[str, list[object]] = {"FS-13": ["FAILED", "x"], "FS-19": ["SKIPPED", "not claimed: fs_hidden"]}
    made = page({"root-ns": held, "restricted-any-landlock1": other})
    assert f"| root ns | {len(probes)} | 0 | 0 |\n| landlock 1 | 0 | 1 | 1 |" in made
    assert "| ✓ | ✗ |" in made
    assert "| ✓ | fs_hidden |" in made
    for text in (made, attack_table.PAGE.read_text("utf-8")):
        # One page with one table of them.
        assert text.count("# Attack probes") == 1
        table = text.partition("| probe |")[2].partition("\n\n")[0]
        assert {line.split()[1] for line in table.splitlines()[2:]} == probes
