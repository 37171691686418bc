"""The bus on NATS: messages sent, followed live, and read again from the streams that keep them."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, suppress
from typing import Any

from kmnb.core.bounds import MIB
from kmnb.errors import KmnbError, StoreError, StoreUnavailable
from kmnb.storage._life import Life
from kmnb.storage._protocols import BusMessage
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends._nats_link import Link
from kmnb.storage.backends._nats_patience import SILENT_SECONDS
from kmnb.storage.backends._nats_stream import SECOND, ensure_stream

_HOUR = 3600
BATCH = 256
"""Messages asked for at once when the past is read."""
IDLE_SECONDS = 30
"""How long the server keeps a consumer of the past that nobody asks."""
LOST_CONSUMERS_MAX = 3
"""How many consumers may get lost one after the other without a message."""
NO_MESSAGES = "404"
"""Status of an answer that nothing is left."""
WAITING_MESSAGES, WAITING_BYTES = 16_384, 16 * MIB
"""How far a follower may lag behind before messages are lost, and it is told so."""
_STREAMS: Mapping[str, Mapping[str, Any]] = {
    "kubemoot.discuss.": {
        "name": "KUBEMOOT_DISCUSS",
        "subjects": ["kubemoot.discuss.>"],
        "max_age": 24 * _HOUR * SECOND,
        "max_msgs": 5_000,
    },
    "kmnb.events.": {
        "name": "KMNB_EVENTS",
        "subjects": ["kmnb.events.>"],
        "max_age": 48 * _HOUR * SECOND,
        "max_msgs": 100_000,
    },
}
"""Streams that are made when something is to be kept in them; the first is as Kubemoot makes it."""


class NatsBus:
    """Messages on NATS."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._made: set[str] = set()

    async def publish(self, subject: str, data: bytes, *, stored: bool) -> None:
        """Send a message; see the protocol."""
        thing = f"message on {subject}"
        if not stored:
            client = await self._link.client()
            try:
                await client.publish(subject, data)
                await self._link.pings.flush(client)
            except Exception as error:
                raise failures.translate(error, thing, self._link.address.shown) from error
            return
        await self._ensure(subject)
        try:
            message = await self._link.request(subject, data, thing=thing)
            refused = failures.ApiError.of(json.loads(message.data))
        except ValueError:
            raise StoreError(thing, "no stream acknowledged it") from None
        except StoreUnavailable as error:
            if not isinstance(error.__cause__, failures.no_responders()):
                raise
            raise StoreError(thing, "no stream keeps messages of that subject") from error
        if refused is not None:
            raise failures.translate(refused, thing, self._link.address.shown)

    async def _ensure(self, subject: str) -> None:
        for prefix, settings in _STREAMS.items():
            if subject.startswith(prefix) and prefix not in self._made:
                config = {
                    "storage": "file",
                    "retention": "limits",
                    "discard": "old",
                    "num_replicas": self._link.address.replicas,
                }
                await ensure_stream(self._link, {**config, **settings})
                self._made.add(prefix)

    async def history(self, subject: str) -> AsyncIterator[BusMessage]:
        """Walk the stored messages of a subject; see the protocol."""
        thing = f"messages on {subject}"
        try:
            names = (await self._link.api("STREAM.NAMES", {"subject": subject}, thing=thing)).get("streams") or []
        except failures.ApiError as error:
            raise failures.translate(error, thing, self._link.address.shown) from error
        for name in sorted(names):
            async for message in self._walk(name, subject, thing):
                yield message

    async def _walk(self, stream: str, subject: str, thing: str) -> AsyncIterator[BusMessage]:
        following, idle = 1, 0
        while idle < LOST_CONSUMERS_MAX:
            before = following
            async with aclosing(self._page(stream, subject, following, thing=thing)) as page:
                async for message in page:
                    if message is None:
                        return
                    following = (message.sequence or following) + 1
                    yield message
            # The consumer is gone: its reader took long, or the server restarted. Another goes on from here.
            idle = idle + 1 if following == before else 0
        raise StoreUnavailable(
            thing, "the server loses its consumers", "Read it again", server=self._link.address.shown
        )

    async def _page(
        self, stream: str, subject: str, first: int, *, thing: str
    ) -> AsyncGenerator[BusMessage | None, None]:
        """Walk messages from a sequence on by one consumer; None tells that these were all."""
        question = {
            "stream_name": stream,
            "config": {
                "deliver_policy": "by_start_sequence",
                "opt_start_seq": first,
                "ack_policy": "none",
                "filter_subject": subject,
                "inactive_threshold": IDLE_SECONDS * SECOND,
                "mem_storage": True,
                "num_replicas": 1,
            },
        }
        answer = await self._consumer(f"CONSUMER.CREATE.{stream}", question, thing)
        name, left = answer["name"], int(answer.get("num_pending") or 0)
        client = await self._link.client()
        inbox = client.new_inbox()
        seconds = min(SILENT_SECONDS, self._link.address.request_seconds)
        subscription = await client.subscribe(inbox)
        try:
            while left > 0:
                batch = min(BATCH, left)
                await client.publish(
                    f"{self._link.address.api}.CONSUMER.MSG.NEXT.{stream}.{name}",
                    json.dumps({"batch": batch, "no_wait": True}).encode(),
                    reply=inbox,
                )
                for _ in range(batch):
                    message = await subscription.next_msg(timeout=seconds)
                    if status := (message.headers or {}).get("Status"):
                        if status == NO_MESSAGES:
                            yield None
                        return
                    left -= 1
                    yield BusMessage(message.subject, message.data, message.metadata.sequence.stream)
            yield None
        except Exception as error:
            raise failures.translate(error, thing, self._link.address.shown) from error
        finally:
            await subscription.unsubscribe()
            # Best effort: the server removes it by itself soon, and may have done so already.
            with suppress(KmnbError):
                await self._consumer(f"CONSUMER.DELETE.{stream}.{name}", None, thing)

    async def _consumer(self, verb: str, question: dict[str, Any] | None, thing: str) -> dict[str, Any]:
        try:
            return await self._link.api(verb, question, thing=thing)
        except failures.ApiError as error:
            raise failures.translate(error, thing, self._link.address.shown) from error

    async def subscribe(self, subject: str) -> AsyncIterator[BusMessage]:
        """Follow a subject live; see the protocol.

        Raises:
            StoreError: The follower lags so far behind that messages were lost; or the store was closed.
        """
        client, inbox = await self._link.client(), _Inbox(subject, self._link.life)
        try:
            subscription = await client.subscribe(subject, cb=inbox.put)
            try:
                await self._link.pings.flush(client)
            except ConnectionError:
                # The connection is made again with all its subscriptions.
                await self._link.client()
        except Exception as error:
            raise failures.translate(error, f"subject {subject}", self._link.address.shown) from error
        try:
            with self._link.life.watched(inbox.wake):
                while True:
                    yield await inbox.get()
        finally:
            if not client.is_closed:
                await subscription.unsubscribe()


class _Inbox:
    """Messages that a follower has not taken yet; their number and size are bounded."""

    def __init__(self, subject: str, life: Life) -> None:
        self._subject, self._life = subject, life
        self._messages: deque[BusMessage] = deque()
        self._bytes = self._lost = 0
        self._changed = asyncio.Event()

    async def put(self, message: Any) -> None:
        """Keep a message; called by nats-py."""
        if len(self._messages) >= WAITING_MESSAGES or self._bytes + len(message.data) > WAITING_BYTES:
            self._lost += 1
        else:
            self._messages.append(BusMessage(message.subject, message.data))
            self._bytes += len(message.data)
        self._changed.set()

    def wake(self) -> None:
        """Have whoever waits look again."""
        self._changed.set()

    async def get(self) -> BusMessage:
        """Take the next one; wait for it."""
        while not self._messages:
            if self._lost:
                reason = f"{self._lost} messages were lost: they came faster than they were taken"
                raise StoreError(f"subject {self._subject}", reason, "Read the history, then follow again")
            self._life.check()
            self._changed.clear()
            await self._changed.wait()
        message = self._messages.popleft()
        self._bytes -= len(message.data)
        return message
