"""Events: saved and deleted, live, with what was missed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.events import DELETED, EXPIRED, SAVED, Event, missed, read_event
from kmnb.ops.workspace import Workspace
from tests.ops.conftest import Clock


def test_a_save_is_told_once_its_metadata_can_be_read(connect: Callable[..., Workspace]) -> None:
    ws, other = connect(session="s"), connect(session="s")
    with other.events() as events:
        art = ws.save("report.csv", "a\n1\n", metadata={"description": "numbers", "tags": ["x"]})
        event = next(events)
    assert (event.type, event.filename, event.version) == (SAVED, "report.csv", 0)
    assert event.facts["mime_type"] == "text/csv"
    assert event.facts["size_bytes"] == 4
    assert (event.facts["description"], event.facts["tags"]) == ("numbers", ["x"])
    assert event.scope == (ws.app, ws.user, "s")
    assert event.uri is not None
    assert other.get(event.uri).digest == art.digest


def test_results_removals_and_deletions_are_told_and_reads_are_not(ws: Workspace) -> None:
    with ws.events() as events:
        art = ws.put("d", tool="x")
        ws.get(art.key).head(1)
        ws.delete(art)
        ws.save("x", "y")
        ws.save("x", "z")
        ws.delete(ws.load("x"))
        ws.remove("x")
        told = [(event.type, event.filename) for event in islice(events, 6)]
    assert told == [
        (SAVED, art.key), (DELETED, art.key), (SAVED, "x"), (SAVED, "x"), (DELETED, "x"), (DELETED, "x"),
    ]  # fmt: skip


def test_other_scopes_are_not_heard_and_the_users_files_are(connect: Callable[..., Workspace]) -> None:
    ws = connect(session="s", user="me")
    elsewhere = [connect(session="other", user="me"), connect(user="you"), connect(app="another"), connect(crew="c2")]
    with ws.events() as events:
        for other in elsewhere:
            other.save("x", "y")
        elsewhere[3].put("d", tool="x")
        elsewhere[0].save("user:shared", "y")
        assert next(events).filename == "user:shared"


def test_events_can_be_awaited(ws: Workspace) -> None:
    async def follow() -> str:
        events = await ws.events_async()
        await ws.save_async("x", "y")
        async for event in events:
            await events.close_async()
            return event.filename
        return ""

    assert asyncio.run(asyncio.wait_for(follow(), 10)) == "x"


def test_events_can_be_walked_without_being_awaited_first(ws: Workspace) -> None:
    async def follow() -> str:
        walk = aiter(ws.events_async())
        first = asyncio.ensure_future(anext(walk))
        while not first.done():  # it begins to follow with its first step
            await ws.save_async("x", "y")
        await walk.aclose()
        return (await first).filename

    assert asyncio.run(asyncio.wait_for(follow(), 10)) == "x"


def test_what_was_missed_comes_first_where_the_store_keeps_it(bus: Callable[..., Workspace]) -> None:
    ws = bus()
    with ws.events() as events:
        ws.save("a", "1")
        cursor = next(events).cursor
    ws.save("b", "2")
    with ws.events(after=cursor) as events:
        ws.save("c", "3")
        assert [event.filename for event in islice(events, 2)] == ["b", "c"]


def test_what_a_sweep_collects_has_expired_and_what_a_closing_deletes_was_deleted(
    virtual: Callable[..., Workspace], clock: Clock
) -> None:
    ws, other = virtual(), virtual()
    with other.events() as events:
        one, two, held = (ws.put("data", tool="x", thread=thread) for thread in ("t1", "t2", "t3"))
        held.hold("audit")
        ws.sweep(dry_run=True)
        ws.close_thread("t2", dry_run=True)
        ws.close_thread("t2")
        clock.ahead(hours=5)
        ws.sweep()
        saved = list(islice(events, 3))
        gone = list(islice(events, 2))
        ws.save("end", "x")
        assert next(events).filename == "end", "nothing else is told"
    assert [event.type for event in saved] == [SAVED] * 3
    told = [(event.type, event.filename, event.facts["reason"], event.facts["size_bytes"]) for event in gone]
    assert told == [(DELETED, two.key, "thread-closed", 4), (EXPIRED, one.key, "thread-lapsed", 4)]
    assert [event.scope[2] for event in gone] == ["t2", "t1"]
    assert gone[1].uri == one.uri


def test_after_the_ttl_the_sweep_says_expired(virtual: Callable[..., Workspace], clock: Clock, url: str) -> None:
    if url.startswith("nats"):
        return  # the server removes by itself, and tells nobody
    ws = virtual()
    ws.put("data", tool="x")
    with ws.events() as events:
        clock.ahead(hours=49)
        ws.open_thread("t1")
        ws.sweep()
        event = next(events)
    assert (event.type, event.facts["reason"]) == (EXPIRED, "expired")


def test_many_deletions_of_one_thread_are_told_at_once(
    virtual: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kmnb.ops import events as module

    monkeypatch.setattr(module, "GONE_MAX", 3)
    ws = virtual()
    for number in range(5):
        ws.put(f"{number}", tool="x")
    with ws.events() as events:
        ws.close_thread("t1")
        event = next(events)
    assert (event.type, event.uri) == (DELETED, None)
    assert (event.filename, event.facts["objects"], event.facts["size_bytes"]) == (f"{ws.namespace}/pilot/t1/", 5, 5)
    assert event.scope == (ws.namespace, "pilot", "t1")


def test_a_large_sweep_tells_each_thread_once(
    virtual: Callable[..., Workspace], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kmnb.ops import events as module

    monkeypatch.setattr(module, "GONE_MAX", 3)
    ws = virtual()
    for number in range(5):
        ws.put(f"{number}", tool="x", thread=f"t{number % 2}")
    single = ws.put("alone", tool="x", thread="t9")
    clock.ahead(hours=5)
    with ws.events() as events:
        ws.sweep()
        told = {(event.filename, event.facts.get("objects")) for event in islice(events, 3)}
        ws.save("end", "x")
        assert next(events).filename == "end"
    start = f"{ws.namespace}/pilot"
    assert told == {(f"{start}/t0/", 3), (f"{start}/t1/", 2), (single.key, None)}


def test_a_bus_that_fails_does_not_undo_a_save(bus: Callable[..., Workspace], monkeypatch, caplog: Any) -> None:
    ws = bus()

    async def broken(*args: Any, **options: Any) -> None:
        raise OSError("the wire was cut")

    monkeypatch.setattr(type(ws.context.backend.bus), "publish", broken)
    assert ws.save("x", "y").version == 0
    assert "the wire was cut" in caplog.text


EVENTS = st.builds(
    Event,
    st.sampled_from([SAVED, DELETED]),
    st.tuples(st.text(), st.text(), st.text()),
    st.booleans(),
    st.text(),
    st.none(),
    st.dictionaries(st.sampled_from(["version", "uri"]), st.integers(), max_size=2),
    st.text(),
).filter(lambda event: not any(0xD800 <= ord(char) <= 0xDFFF for char in str(event)))


@given(EVENTS)
def test_an_event_comes_back_from_its_message(event: Event) -> None:
    assert read_event(event.to_bytes()) == event


@given(st.lists(st.integers(0, 50), unique=True), st.integers(0, 50))
def test_a_cursor_gives_exactly_what_stands_behind_its_event(numbers: list[int], chosen: int) -> None:
    events = [Event(SAVED, ("a", "u", "s"), True, "x", None, {}, f"id{number}") for number in numbers]
    after = Event(SAVED, ("a", "u", "s"), True, "x", None, {}, f"id{chosen}").cursor
    expected = numbers[numbers.index(chosen) + 1 :] if chosen in numbers else numbers
    assert [event.identity for event in missed(events, after)] == [f"id{number}" for number in expected]


@given(st.binary())
def test_what_is_no_event_is_none(data: bytes) -> None:
    assert read_event(data) is None
