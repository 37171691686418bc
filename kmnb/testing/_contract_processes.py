"""Many processes: races, reading what another one wrote, and writers that are killed."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from typing import Any

from kmnb.core.metadata import Capability
from kmnb.errors import ArtifactNotFound
from kmnb.storage import Store, open_store
from kmnb.testing._contract_base import MIB, ContractBase, content
from kmnb.testing._contract_races import WRITERS, create

OPENING = 8
"""Processes that open the store at the same time."""
ANSWER_SECONDS = 60
"""How long a process may take for a step."""
KILLS = 20
"""Writers that are killed, each at another moment."""
KILL_SECONDS = 0.25
"""They are killed within this time after their first object was stored."""


class ProcessContract(ContractBase):
    """What holds between processes; a store without ``cross_process`` claims none of it."""

    processes = WRITERS
    """Processes that race for one name; each costs its start, so a service may be content with fewer."""
    kills = KILLS

    def test_one_of_many_processes_creates_a_name(self, store: Store, url: str) -> None:
        """Exactly one process wins, and what is there is what it wrote."""
        if not _is_shared(store):
            return
        children: list[tuple[Any, Any]] = []
        for number in range(self.processes):
            children.append(_start(_race, url, number))
            if number >= OPENING:
                assert _told(children[number - OPENING][1]) == "ready"
        assert [_told(pipe) for _, pipe in children[-OPENING:]] == ["ready"] * min(OPENING, self.processes)
        for _, pipe in children:
            pipe.send("go")
        won = [_told(pipe) for _, pipe in children]
        for child, _ in children:
            child.join(30)
        assert sorted(won, key=str) == [False] * (self.processes - 1) + [True]
        assert b"".join(store.stream("race")) == content(1000, won.index(True))

    def test_another_process_reads_what_was_written(self, store: Store, url: str) -> None:
        """Bytes, attributes and listing are the same in a second process."""
        store.put("a/b", content(70_000), attributes={"preview": "é"})
        if not _is_shared(store):
            return
        child, here = _start(_read, url)
        assert _told(here) == (content(70_000), {"preview": "é"}, ["a/b"])
        child.join(30)

    def test_a_killed_writer_leaves_nothing_half_written(self, store: Store, url: str) -> None:
        """Writers that are killed at random moments leave whole objects, or nothing, and never a broken store."""
        if not _is_shared(store):
            return
        chance, seen = random.Random(7), 0  # noqa: S311 - moments, not secrets
        for turn in range(self.kills):
            child, pipe = _start(_write_for_ever, url, turn)
            assert _told(pipe) == "first"
            time.sleep(chance.uniform(0, KILL_SECONDS))  # the moment of the kill, not a wait for something
            child.kill()
            child.join(30)
            pipe.close()
            seen += _check_all(store, turn)
        assert seen > self.kills
        store.put("after", b"1", create_only=True)
        assert b"".join(store.stream("after")) == b"1"


def _start(work: Any, *arguments: Any) -> tuple[Any, Any]:
    """Start a child and give it with this end of a pipe to it.

    It is forked from a process that has kmnb loaded already and no thread; credentials are told to it anew.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["kmnb.testing._contract_processes", "kmnb.storage._obstore"])
    here, there = context.Pipe()
    child = context.Process(target=_child, args=(dict(os.environ), work, (*arguments, there)), daemon=True)
    child.start()
    there.close()
    return child, here


def _child(environment: dict[str, str], work: Any, arguments: tuple[Any, ...]) -> None:
    os.environ.update(environment)
    try:
        work(*arguments)
    except BaseException as error:
        arguments[-1].send(f"failed: {error!r}")
        raise


def _told(pipe: Any) -> Any:
    """What a child says next, within a bounded time."""
    assert pipe.poll(ANSWER_SECONDS), "a child said nothing in time"
    return pipe.recv()


def _race(url: str, number: int, pipe: Any) -> None:
    """One writer, in a process of its own."""
    with open_store(url) as store:
        pipe.send("ready")
        _told(pipe)
        pipe.send(create(store, number, size=1000))


def _read(url: str, pipe: Any) -> None:
    with open_store(url) as store:
        data, info = b"".join(store.stream("a/b")), store.head("a/b")
        pipe.send((data, dict(info.attributes), [found.key for found in store.list()]))


def _is_shared(store: Store) -> bool:
    """Whether other processes see it; those that do not are not tried, which their capabilities say."""
    return Capability.CROSS_PROCESS in store.capabilities


def _write_for_ever(url: str, turn: int, pipe: Any) -> None:
    with open_store(url) as store:
        for number in range(1_000_000):
            size = (100, 3 * MIB, 9 * MIB)[number % 3]
            store.put(f"{turn}/{number}", content(size, number), create_only=True, attributes={"n": str(number)})
            store.put("again", content(size, number), attributes={"n": str(number)})
            if number == 0:
                pipe.send("first")


def _check_all(store: Store, turn: int) -> int:
    """Read everything that a killed writer left, and remove it; tells how much it was.

    A request that was sent before the kill may be answered after it, so objects of earlier turns may appear.
    """
    keys = [info.key for info in store.list()]
    assert {f"{turn}/0", "again"} <= set(keys)
    for key in keys:
        number = int(store.head(key).attributes["n"])
        assert key == "again" or (int(key.partition("/")[0]) <= turn and key.endswith(f"/{number}"))
        assert b"".join(store.stream(key)) == content((100, 3 * MIB, 9 * MIB)[number % 3], number)
        store.delete(key)
        try:
            store.head(key)
        except ArtifactNotFound:
            continue
        raise AssertionError(f"{key} is still there")
    return len(keys)
