"""A simulated week of garbage collection, judged by a model that knows nothing of the rules' code.

Processes open and close threads, store results, crash, and run on clocks that are wrong by up to ten minutes. The
registry breaks for a while and is lost once; sweeps are killed in the middle. The model keeps the truth: who lives,
what was closed when. After each sweep it checks that nothing alive went and that nothing dead is overdue.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from kmnb.core.config import Names, Settings
from kmnb.ops.context import Context
from kmnb.ops.reap import close_thread
from kmnb.ops.sweeping import sweep
from kmnb.ops.threads import renew_leases, touch_thread
from tests.ops.virtual_store import Killed, VirtualBackend

STEP = timedelta(minutes=10)
SWEEP_EVERY = 3
SKEW = timedelta(minutes=10)
HOUR = timedelta(hours=1)
FOREIGN = -1
"""Process number of threads that somebody else owns."""


@dataclass
class Thread:
    """The truth about one thread."""

    name: str
    process: int
    started: datetime
    keys: list[str] = field(default_factory=list)
    closed: datetime | None = None


@dataclass
class Process:
    """The truth about one process."""

    context: Context
    died: datetime | None = None


class Week:
    """The world: its clock, its processes and threads, and what must be true of the store."""

    def __init__(self, *, seed: int, threads: int, objects: int, days: int) -> None:
        self.chance = random.Random(seed)
        self.start = self.time = datetime(2026, 6, 1, tzinfo=UTC)
        self.end = self.start + timedelta(days=days)
        self.backend = VirtualBackend(lambda: self.time)
        self.processes: list[Process] = []
        self.threads: list[Thread] = []
        self.plan = sorted(0.9 * self.chance.random() for _ in range(threads))
        self.per_thread = objects // threads
        self.created: dict[str, datetime] = {}
        self.owner: dict[str, Thread] = {}
        self.lost_at: datetime | None = None
        self.broken_until: datetime | None = None
        self.checks = 0

    def new_process(self) -> None:
        skew = SKEW * self.chance.uniform(-1, 1)
        clock = lambda: self.time + skew  # noqa: E731
        context = Context(self.backend, Names("ns", "crew"), Settings(), clock=clock)  # type: ignore[arg-type]
        self.processes.append(Process(context))

    @property
    def running(self) -> list[int]:
        return [number for number, process in enumerate(self.processes) if process.died is None]

    async def run(self) -> None:
        for _ in range(20):
            self.new_process()
        step = 0
        while self.time < self.end:
            await self.act(step)
            self.time += STEP
            step += 1
        # Nobody is left: everything must go within the rules.
        for number in self.running:
            self.processes[number].died = self.time
        self.new_process()
        self.time += timedelta(hours=52)
        await self.sweep(len(self.processes) - 1)
        assert self.backend.discussions.objects == {}

    async def act(self, step: int) -> None:
        await self.disasters()
        if self.backend.records.broken:
            if step % SWEEP_EVERY == 0:
                await self.sweep(self.chance.choice(self.running))
            return
        for number in self.running:
            await renew_leases(self.processes[number].context)
        await self.foreign()
        await self.open_threads()
        for thread in self.threads[-200:]:
            await self.work(thread)
        if step % SWEEP_EVERY == 0:
            await self.sweep(self.chance.choice(self.running))

    async def disasters(self) -> None:
        records, age = self.backend.records, self.time - self.start
        if self.chance.random() < 0.02 and len(self.running) > 5:
            self.processes[self.chance.choice(self.running)].died = self.time
            self.new_process()
        if self.broken_until is not None and self.time >= self.broken_until:
            records.broken, self.broken_until = False, None
        elif self.chance.random() < 0.004:
            records.broken, self.broken_until = True, self.time + timedelta(minutes=30)
        if self.lost_at is None and age > (self.end - self.start) / 2:
            records.records.clear()
            self.lost_at = self.time

    async def open_threads(self) -> None:
        share = (self.time - self.start) / (self.end - self.start)
        while self.plan and self.plan[0] <= share:
            self.plan.pop(0)
            thread = Thread(f"t{len(self.threads)}", self.chance.choice(self.running), self.time)
            self.threads.append(thread)
            await self.store(thread)

    async def work(self, thread: Thread) -> None:
        process = self.processes[thread.process]
        if process.died is not None or thread.closed is not None:
            return
        if len(thread.keys) < self.per_thread:
            await self.store(thread)
        elif self.chance.random() < 0.05:
            await self.close(thread, process)

    async def close(self, thread: Thread, process: Process) -> None:
        thread.closed = self.time
        area = self.backend.discussions
        if self.chance.random() < 0.2:
            area.die_after = self.chance.randrange(5)
        try:
            report = await close_thread(process.context, thread.name)
        except Killed:
            return
        finally:
            area.die_after = None
        assert not report.failures
        assert {verdict.key for verdict in report.verdicts} <= set(thread.keys)
        left = [key for key in thread.keys if key in area.objects]
        assert not left, f"closing left {left[:3]}"

    async def foreign(self) -> None:
        """Another coordinator stores something under the same crew; the registry never hears of it."""
        thread = Thread(f"foreign{len(self.created)}", FOREIGN, self.time)
        key = f"ns/crew/{thread.name}/agent/agree-uuid"
        await self.backend.discussions.put(key, b"x")
        self.created[key], self.owner[key] = self.time, thread

    async def store(self, thread: Thread) -> None:
        context = self.processes[thread.process].context
        await touch_thread(context, thread.name)
        for _ in range(min(10, self.per_thread - len(thread.keys))):
            key = f"ns/crew/{thread.name}/agent/tool-{len(thread.keys)}"
            # A store without a clock of its own stamps objects with the writer's.
            await self.backend.discussions.put(key, b"x", created_at=context.clock() if context.clock else None)
            thread.keys.append(key)
            self.created[key], self.owner[key] = self.time, thread

    async def sweep(self, number: int) -> None:
        area = self.backend.discussions
        area.deleted.clear()
        broken = self.backend.records.broken
        if self.chance.random() < 0.1:
            area.die_after = self.chance.randrange(50)
        try:
            await sweep(self.processes[number].context)
        except Killed:
            area.die_after = None
            self.check_nothing_alive_went()
            area.deleted.clear()
            await sweep(self.processes[number].context)
        area.die_after = None
        self.check_nothing_alive_went()
        if broken:
            assert not area.deleted, "a registry that cannot be read must delete nothing"
        else:
            self.check_nothing_dead_is_overdue()
        self.checks += 1

    def died(self, thread: Thread) -> datetime | None:
        return None if thread.process == FOREIGN else self.processes[thread.process].died

    def check_nothing_alive_went(self) -> None:
        for key in self.backend.discussions.deleted:
            thread, age = self.owner[key], self.time - self.created[key]
            alive = thread.closed is None and self.died(thread) is None
            assert not (alive and age < 48 * HOUR - 2 * SKEW), f"{key} of a living thread went at the age of {age}"
            assert age > 2 * HOUR - 2 * SKEW, f"{key} went within the grace window, at the age of {age}"

    def check_nothing_dead_is_overdue(self) -> None:
        for key in self.backend.discussions.objects:
            thread, age = self.owner[key], self.time - self.created[key]
            assert age <= 48 * HOUR + 2 * SKEW, f"{key} outlived the TTL: {age}"
            died = thread.closed or self.died(thread)
            if died is None or (self.lost_at is not None and died <= self.lost_at):
                # The registry of those that died before it was lost is lost: the TTL remains.
                continue
            if self.lost_at is not None and thread.started <= self.lost_at <= died < self.lost_at + 2 * STEP:
                continue
            overdue = self.time - max(died + 2 * HOUR, self.created[key] + 2 * HOUR)
            assert overdue <= 2 * SKEW, f"{key} of a dead process is overdue by {overdue}"


def simulate(**options: int) -> Week:
    """Play it; an assertion fails where a rule is broken."""
    week = Week(**options)
    asyncio.run(week.run())
    return week
