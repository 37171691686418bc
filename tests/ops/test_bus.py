"""The bus: forms A, B and C in the peer's order, and reading discussions tolerantly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import nats
import pytest

import kmnb
from kmnb._bridge import run
from kmnb.core.outcome import Outcome
from kmnb.errors import BadRequest, BoundExceeded, NotSupported
from kmnb.ops.threads import ThreadClosed


def overheard(url: str, namespace: str, act: Callable[[], Any], count: int) -> list[tuple[str, dict[str, Any]]]:
    """What a client of another make hears of a namespace while something is done."""

    async def listen() -> list[tuple[str, dict[str, Any]]]:
        client = await nats.connect(url)
        heard: list[tuple[str, dict[str, Any]]] = []
        full = asyncio.Event()

        async def take(message: Any) -> None:
            heard.append((message.subject, json.loads(message.data)))
            if len(heard) == count:
                full.set()

        await client.subscribe(f"kubemoot.*.{namespace}.>", cb=take)
        await client.flush()
        await asyncio.to_thread(act)
        await asyncio.wait_for(full.wait(), 10)
        await client.drain()
        return heard

    return asyncio.run(listen())


def test_another_client_hears_form_a_first_then_the_message_with_b_and_c(bus, nats_url, names) -> None:
    ws = bus()
    spill = ws.spill("row\n" * 2000, tool="x")
    namespace = names["namespace"]
    heard = overheard(nats_url, namespace, lambda: ws.publish(spill), 2)
    (first, form_a), (second, message) = heard
    assert first == f"kubemoot.artifacts.{namespace}.pilot.t1"
    assert second == f"kubemoot.discuss.{namespace}.pilot.broadcast.t1"
    assert form_a == {"artifact": spill.message["metadata"]["artifact"]}
    assert message["metadata"]["artifact"] == form_a["artifact"]
    assert message["content"] == spill.message["content"]
    assert (message["messageType"], message["agentName"], message["threadId"]) == ("agree", "kube", "t1")


def test_a_crewless_discussion_has_the_peers_subjects(bus, nats_url, names) -> None:
    ws = bus(crew="nocrew")
    namespace = names["namespace"]
    heard = overheard(nats_url, namespace, lambda: ws.publish(ws.spill("x" * 5000, tool="x")), 2)
    assert [subject for subject, _ in heard] == [
        f"kubemoot.artifacts.{namespace}.nocrew.t1",
        f"kubemoot.discuss.{namespace}.broadcast.t1",
    ]
    assert [len(message.artifacts) for message in ws.discussion()] == [1]


def test_a_consumer_that_shares_only_the_server_gets_handles(bus) -> None:
    tooler, consumer = bus(), bus(agent="analyst")
    tooler.publish(tooler.spill("a\nb\n" * 2000, tool="x"), "found it")
    tooler.publish(tooler.spill("small", tool="x"))
    tooler.publish("a remark")
    first, second, third = consumer.discussion("t1")
    assert (first.text, second.text, third.text) == ("found it", "small", "a remark")
    assert first.artifacts[0].head(1).values == ["a"]
    assert (first.agent, second.artifacts) == ("kube", ())
    assert list(consumer.discussion("t10")) == []


def test_an_outcome_is_published_with_its_evidence(bus, names) -> None:
    ws = bus()
    ws.publish(Outcome("42\n", "", 0))
    ws.publish(Outcome("x" * 5000, "boom", 3))
    small, large = ws.discussion()
    assert small.raw.metadata["exitCode"] == 0
    assert large.raw.metadata["exitCode"] == 3
    assert large.raw.metadata["stderr"] == "boom"
    assert large.artifacts[0].size == 5000


def test_a_message_on_two_subjects_is_seen_once(bus, names) -> None:
    ws = bus()
    message = json.dumps({"messageId": "same", "content": "x", "agentName": "a"}).encode()
    ws.publish("first")
    for channel in ("broadcast", "general"):
        subject = f"kubemoot.discuss.{names['namespace']}.pilot.{channel}.t1"
        run(ws.context.backend.bus.publish(subject, message, stored=True))
    assert [found.text for found in ws.discussion()] == ["first", "x"]


def test_what_is_no_message_and_references_elsewhere_are_passed_over(bus, names) -> None:
    ws = bus()
    subject = f"kubemoot.discuss.{names['namespace']}.pilot.broadcast.t1"
    for payload in (
        b"\xff",
        b"[]",
        b"{",
        json.dumps({"metadata": {"artifact": {"key": "other/pilot/t1/a/x-0"}}}).encode(),
    ):
        run(ws.context.backend.bus.publish(subject, payload, stored=True))
    ws.publish("after")
    assert [(found.text, found.artifacts) for found in ws.discussion()] == [("", ()), ("after", ())]


def test_a_follower_hears_what_is_stored_and_what_comes(bus) -> None:
    ws, other = bus(), bus()
    ws.publish("before")

    async def follow() -> list[str]:
        heard = []
        async for message in ws.discussion_async(follow=True):
            heard.append(message.text)
            if len(heard) == 1:
                await other.publish_async("after")
            if len(heard) == 2:
                break
        return heard

    assert asyncio.run(asyncio.wait_for(follow(), 10)) == ["before", "after"]


def test_publishing_registers_the_thread_and_is_refused_once_it_is_closed(bus) -> None:
    ws = bus(thread="t7")
    ws.publish("hello")
    assert [(thread.thread, str(thread.state)) for thread in ws.threads()] == [("t7", "active")]
    ws.close_thread("t7")
    with pytest.raises(ThreadClosed):
        ws.publish("late")


def test_what_cannot_be_published_is_refused(bus) -> None:
    ws = bus()
    with pytest.raises(BadRequest):
        ws.publish(7)
    with pytest.raises(BoundExceeded, match="Spill"):
        ws.publish("x" * 2_000_000)
    ws.publish("works on")


def test_a_store_without_a_bus_says_so() -> None:
    with kmnb.connect("memory://") as ws:
        for call in (lambda: ws.publish("x"), lambda: list(ws.discussion())):
            with pytest.raises(NotSupported, match="bus"):
                call()
