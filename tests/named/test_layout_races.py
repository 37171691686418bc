"""Writers and deleters of one version in a peer's layout: one wins with its own facts; nothing raw is raised."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.core.addresses import NamedAddress
from kmnb.errors import AlreadyExists
from kmnb.storage import open_backend

ROUNDS, WRITERS, STEPS = 6, 4, 15


@pytest.fixture(params=["agent-mesh", "adk"])
def layout(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["file", "memory"])
def area(request: pytest.FixtureRequest, layout: str, tmp_path: Path) -> Any:
    url = f"file://{tmp_path}/base" if request.param == "file" else "memory://"
    return run(open_backend(url, layout=layout)).named


def key(version: int) -> str:
    return NamedAddress.of("r.csv", app="app", user="u", session="s").version_key(version)


async def put(area: Any, version: int, writer: int) -> bool:
    try:
        told = {"writer": str(writer), "content-type": f"text/x{writer}"}
        await area.put(key(version), b"%d" % writer * 100, create_only=True, attributes=told)
    except AlreadyExists:
        return False
    return True


def test_a_winner_keeps_its_own_facts(area: Any) -> None:
    async def race() -> None:
        for version in range(ROUNDS):
            wins = await asyncio.gather(*(put(area, version, writer) for writer in range(WRITERS)))
            assert wins.count(True) == 1
            data = b"".join([window async for window in area.stream(key(version))])
            assert data == b"%d" % wins.index(True) * 100
            head = await area.head(key(version))
            assert head.attributes["writer"] == str(wins.index(True))
            assert head.digest is not None

    run(race())


def test_writers_and_deleters_get_no_raw_errors(area: Any) -> None:
    async def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(STEPS):
            if chance.random() < 0.5:
                await put(area, chance.randrange(2), seed)
            else:
                await area.delete(key(chance.randrange(2)))

    async def race() -> list[str]:
        await asyncio.gather(*map(work, range(WRITERS)))
        await asyncio.gather(*(area.delete(key(version)) for version in range(2)))
        assert await put(area, 0, 0)
        await area.delete(key(0))
        return [info.key async for info in area.list("")]

    assert run(race()) == []


def test_a_number_with_zeros_before_it_is_no_version(tmp_path: Path) -> None:
    """The peer looks for version 7 under ``7``; listed, it could not be read."""
    area = run(open_backend(f"file://{tmp_path}/base", layout="agent-mesh")).named
    run(area.put(key(0), b"1"))
    (tmp_path / "base/app/u/s/r.csv/007").write_bytes(b"x")

    async def listed() -> list[str]:
        return [info.key async for info in area.list("")]

    assert run(listed()) == [key(0)]


def test_facts_that_an_older_version_kept_are_read(area: Any) -> None:
    run(area.put(key(0), b"1", attributes={"rows": "7"}))

    async def as_before() -> None:
        (facts,) = [info async for info in area._own.list("")]
        kept = (await area._own.head(facts.key)).attributes
        await area._own.put(key(0), b"", attributes=kept)
        await area._own.delete(facts.key)

    run(as_before())
    assert run(area.head(key(0))).attributes["rows"] == "7"
    run(area.delete(key(0)))
