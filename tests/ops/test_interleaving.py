"""Holders, spillers, closers and sweepers at once, in an order that chance decides: nothing held or new is lost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.core.config import Names, Settings
from kmnb.errors import ArtifactNotFound
from kmnb.ops import holds, reap, spill
from kmnb.ops.context import Context
from kmnb.ops.sweeping import sweep
from kmnb.ops.threads import ThreadClosed
from kmnb.ops.workspace import Workspace
from kmnb.storage import open_backend
from tests.ops.conftest import Clock

_numbers = count()
SLOW = ("put", "head", "delete", "get")


class Late:
    """Passes calls on, now and then a little later, and now and then with a late answer."""

    def __init__(self, inner: Any, chance: random.Random) -> None:
        self._inner, self._chance = inner, chance

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._inner, name)
        if name not in SLOW:
            return real

        async def late(*given: Any, **options: Any) -> Any:
            await self._pause()
            answer = await real(*given, **options)
            await self._pause()
            return answer

        return late

    async def _pause(self) -> None:
        for _ in range(self._chance.randrange(3)):
            await asyncio.sleep(0)
        if self._chance.random() < 0.2:
            await asyncio.sleep(self._chance.random() * 0.003)


class LateBackend:
    """A store whose areas are late."""

    def __init__(self, inner: Any, chance: random.Random) -> None:
        self._inner = inner
        self.discussions, self.named = Late(inner.discussions, chance), Late(inner.named, chance)
        self.records = Late(inner.records, chance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Crowd:
    """Several workspaces on one store, and what they were promised."""

    def __init__(self, url: str, seed: int) -> None:
        self.chance, self.clock = random.Random(seed), Clock()
        self.names = Names(f"crowd{next(_numbers)}", "c", "t0", "a", session="s")
        self.settings = Settings(grace_seconds=60, lease_seconds=120)
        self.people = [self._open(url) for _ in range(4)]
        self.held: set[str] = set()
        self.stored: dict[str, str] = {}
        self.closed: set[str] = set()

    def _open(self, url: str) -> Workspace:
        backend: Any = LateBackend(run(open_backend(url)), self.chance)
        return Workspace(Context(backend, self.names, self.settings, clock=self.clock))

    async def _soon(self) -> str:
        await asyncio.sleep(self.chance.random() * 0.01)
        return f"t{self.chance.randrange(4)}"

    async def holder(self, person: Workspace, keys: list[str]) -> None:
        for key in self.chance.sample(keys, 4):
            await self._soon()
            try:
                await (await person.get_async(key)).hold_async("needed")
            except ArtifactNotFound:
                continue
            self.held.add(key)

    async def spiller(self, person: Workspace) -> None:
        for _ in range(3):
            thread = await self._soon()
            try:
                self.stored[(await person.put_async("new", tool="y", thread=thread)).key] = thread
            except ThreadClosed:
                continue

    async def closer(self, person: Workspace) -> None:
        thread = await self._soon()
        self.closed.add(thread)
        await person.close_thread_async(thread)

    async def sweeper(self, person: Workspace) -> None:
        await self._soon()
        await sweep(person.context)

    async def story(self) -> list[str]:
        """Let it happen; gives the promises that were broken."""
        one, two, three, four = self.people
        before = await self._claims()
        keys = [(await one.put_async(f"{n}", tool="x", thread=f"t{n % 4}")).key for n in range(12)]
        self._forget(minutes=10)
        work: list[Awaitable[None]] = [self.holder(one, keys), self.holder(two, keys), self.sweeper(three)]
        work += [self.sweeper(four), self.closer(three), self.spiller(two), self.spiller(four)]
        await asyncio.gather(*work)
        promised = self.held | {key for key, at in self.stored.items() if at not in self.closed}
        broken = [f"lost: {key}" for key in promised if not await self._is_there(key)]
        self._forget(minutes=10)
        await sweep(one.context)
        left = {info.key async for info in one.context.backend.discussions.list(self.names.namespace)}
        broken += [f"immortal: {key}" for key in left - self.held]
        return broken + [f"claim: {name}" for name in await self._claims() - before]

    async def _claims(self) -> set[str]:
        """Records of claims; those of sweeps that other tests killed on the same server are not ours."""
        return {record.key async for record in self.people[0].context.backend.records.list("claims")}

    def _forget(self, **amount: float) -> None:
        """Let time pass in which nobody gives a sign of life."""
        self.clock.ahead(**amount)
        for person in self.people:
            person.context.live.threads.clear()
            person.context.live.followed.clear()

    async def _is_there(self, key: str) -> bool:
        try:
            await (await self.people[0].get_async(key)).read_async(0, 10)
        except ArtifactNotFound:
            return False
        return True


def broken_promises(url: str, seed: int) -> list[str]:
    crowd = Crowd(url, seed)
    try:
        return run(asyncio.wait_for(crowd.story(), 60))
    finally:
        for person in crowd.people:
            person.close()


@pytest.mark.parametrize("seed", range(8))
def test_nothing_held_or_new_is_lost_and_nothing_dead_stays(url: str, seed: int) -> None:
    assert broken_promises(url, seed) == []


Virtual = Callable[..., Workspace]
REOPEN = {"late_spill": "reopen"}


def test_a_spill_that_a_whole_closing_overtakes_is_stored_again(
    virtual: Virtual, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws, other = virtual(settings=REOPEN), virtual()
    real = spill.check_open

    async def overtaken(context: Any, thread: str) -> None:
        assert (await other.close_thread_async(thread)).deleted >= 1
        await real(context, thread)

    monkeypatch.setattr(spill, "check_open", overtaken)
    art = ws.put("data", tool="x")
    assert (ws.get(art.key).read(0, 10), art.key.rpartition("/")[2]) == (b"data", "x-1")
    with pytest.raises(ThreadClosed):
        ws.put(iter([b"read ", b"once"]), tool="x")
    assert [str(thread.state) for thread in ws.threads()] == ["active"]


def test_a_closing_that_is_overtaken_by_a_reopening_spill_spares_its_result(
    virtual: Virtual, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws, other = virtual(settings=REOPEN), virtual()
    listed, stored = asyncio.Event(), asyncio.Event()
    real_check, real_delete = spill.check_open, reap.delete_claimed

    async def late_delete(*given: Any, **options: Any) -> Any:
        listed.set()
        await stored.wait()
        return await real_delete(*given, **options)

    async def both() -> tuple[Any, Any]:
        closing: list[asyncio.Task[Any]] = []

        async def overtaken(context: Any, thread: str) -> None:
            closing.append(asyncio.create_task(other.close_thread_async(thread)))
            await listed.wait()
            await real_check(context, thread)

        monkeypatch.setattr(spill, "check_open", overtaken)
        monkeypatch.setattr(reap, "delete_claimed", late_delete)
        art = await ws.put_async("data", tool="x")
        stored.set()
        return art, await closing[0]

    art, report = run(asyncio.wait_for(both(), 30))
    assert (report.deleted, str(report.explain(art.key).reason)) == (0, "thread-active")
    assert ws.get(art.key).read(0, 10) == b"data"


def test_a_refused_late_spill_leaves_nothing(virtual: Virtual, monkeypatch: pytest.MonkeyPatch) -> None:
    ws, other = virtual(), virtual()
    real = spill.check_open

    async def overtaken(context: Any, thread: str) -> None:
        assert (await other.close_thread_async(thread)).deleted == 1
        await real(context, thread)

    monkeypatch.setattr(spill, "check_open", overtaken)
    with pytest.raises(ThreadClosed):
        ws.put("data", tool="x")
    with pytest.raises(ThreadClosed):
        ws.put("data", tool="x")
    assert list(ws.list()) == []


async def nobody(*_: Any) -> None:
    """Wait for nothing."""


WRONG: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a hold that reads no claims": lambda patch: patch.setattr(holds, "wait_for_claims", nobody),
    "a sweep that reads the holds too early": lambda patch: patch.setattr(reap, "spared", lambda verdict, _: verdict),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_the_crowd_notices(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    WRONG[wrong](monkeypatch)
    url = f"memory://crowd-{next(_numbers)}"
    assert any(broken_promises(url, seed) for seed in range(60))
