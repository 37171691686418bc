"""Two ways to have a stream send chunks down a lane: direct gets, and a consumer where these are not to be had."""

from __future__ import annotations

import contextlib
import json
from typing import Protocol

from kmnb.errors import StoreError
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends._nats_bucket import Bucket
from kmnb.storage.backends._nats_lane import Lane
from kmnb.storage.backends._nats_stream import SECOND
from kmnb.storage.backends._nats_wire import Frame


class Feed(Protocol):
    """How to ask for messages of one subject, and where an answer stands."""

    ends: frozenset[str]
    """Statuses that end a batch and say nothing worse."""
    overlaps: bool
    """Whether two requests under way may send the same message; one must then wait for the other to be safe."""

    async def start(self, sequence: int) -> None:
        """Begin at a place in the stream."""

    def ask(self, lane: Lane, token: int, *, sequence: int, count: int) -> None:
        """Have the next messages sent, the first at or after a place."""

    def spot(self, frame: Frame) -> tuple[int, int] | None:
        """Tell a message's place and how many follow it; None when it is no message of this feed."""

    async def stop(self) -> None:
        """Leave nothing on the server."""


class DirectFeed:
    """Batched direct gets: any replica answers, the server keeps no state. Server 2.11 and newer."""

    ends = frozenset({"204", "404"})
    overlaps = True

    def __init__(self, bucket: Bucket, subject: str) -> None:
        self._subject = subject
        self._ask = f"{bucket.link.address.api}.DIRECT.GET.{bucket.stream}"

    async def start(self, sequence: int) -> None:
        """Nothing to begin."""

    def ask(self, lane: Lane, token: int, *, sequence: int, count: int) -> None:
        """Send one request for a batch."""
        question = {"seq": max(1, sequence), "next_by_subj": self._subject, "batch": count}
        lane.send(self._ask, token, json.dumps(question).encode())

    def spot(self, frame: Frame) -> tuple[int, int] | None:
        """Read the headers that the server added."""
        sequence, pending = frame.number(b"Nats-Sequence"), frame.number(b"Nats-Num-Pending")
        if frame.status or sequence is None or pending is None:
            return None
        return sequence, pending

    async def stop(self) -> None:
        """Nothing to leave."""


class ConsumerFeed:
    """A pull consumer that vanishes by itself: for old servers, and buckets without direct access."""

    ends = frozenset({"404", "408"})
    overlaps = False

    def __init__(self, bucket: Bucket, subject: str, *, thing: str, headers_only: bool = False) -> None:
        self._bucket, self._subject, self._thing, self._headers_only = bucket, subject, thing, headers_only
        self._name = ""
        self.pending = 0

    async def start(self, sequence: int, *, lasting_seconds: int = 30) -> None:
        """Make the consumer; ``pending`` then says how many messages it will give."""
        await self.stop()
        question = {
            "stream_name": self._bucket.stream,
            "config": {
                "deliver_policy": "by_start_sequence",
                "opt_start_seq": max(1, sequence),
                "ack_policy": "none",
                "filter_subject": self._subject,
                "headers_only": self._headers_only,
                "inactive_threshold": lasting_seconds * SECOND,
                "mem_storage": True,
                "num_replicas": 1,
            },
        }
        answer = await self._bucket.api("CONSUMER.CREATE", question, thing=self._thing)
        self._name, self.pending = str(answer["name"]), int(answer.get("num_pending") or 0)

    def ask(self, lane: Lane, token: int, *, sequence: int, count: int) -> None:
        """Pull the next messages."""
        if not self._name:
            raise StoreError(self._thing, "a consumer was asked before it was made")
        question = json.dumps({"batch": count, "no_wait": True}).encode()
        root = f"{self._bucket.link.address.api}.CONSUMER.MSG.NEXT"
        lane.send(f"{root}.{self._bucket.stream}.{self._name}", token, question)

    def spot(self, frame: Frame) -> tuple[int, int] | None:
        """Read the reply subject: ``$JS.ACK.[domain.account.]stream.consumer.n.sequence.n.time.pending[.random]``."""
        tokens = frame.reply.split(b".")
        shift = {9: 0, 12: 2}.get(len(tokens))
        if shift is None or tokens[:2] != [b"$JS", b"ACK"] or tokens[3 + shift] != self._name.encode():
            return None
        return int(tokens[5 + shift]), int(tokens[8 + shift])

    async def stop(self) -> None:
        """Remove the consumer."""
        name, self._name = self._name, ""
        if name:
            # It vanishes by itself in any case; a refusal must not hide what happened before.
            with contextlib.suppress(StoreError, failures.ApiError):
                verb = f"CONSUMER.DELETE.{self._bucket.stream}.{name}"
                await self._bucket.link.api(verb, thing=self._thing)
