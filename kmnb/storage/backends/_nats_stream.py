"""One JetStream stream: made when it is missing, never altered; its messages fetched one by one."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kmnb.errors import StoreError, StoreUnavailable
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends._nats_layout import read_time
from kmnb.storage.backends._nats_link import Link

SECOND = 1_000_000_000
"""JetStream gives durations in nanoseconds."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One message of a stream."""

    subject: str
    """Its subject."""
    sequence: int
    """Its place."""
    data: bytes
    """Its payload."""
    stored_at: datetime | None
    """When it was stored."""
    pending: int | None = None
    """How many more of the same filter follow it; None where the server did not say."""
    is_marker: bool = False
    """Whether it marks a key-value entry as deleted."""


class Stream:
    """A stream and how to fetch from it."""

    def __init__(self, link: Link, config: Mapping[str, Any]) -> None:
        self.link, self.config = link, config
        self.stream = str(config["name"])
        self.allows_direct = config.get("allow_direct") is True
        self.replicas = int(config.get("num_replicas") or 1)

    @property
    def sends_batches(self) -> bool:
        """Whether one direct get can have many messages sent: server 2.11 and newer, where the stream allows it."""
        return self.allows_direct and self.link.server_version >= (2, 11)

    @property
    def ttl_seconds(self) -> float | None:
        """Age at which its messages expire; None for never."""
        age = self.config.get("max_age") or 0
        return age / SECOND if age else None

    async def last(self, subject: str, *, thing: str) -> Stored | None:
        """Fetch the last message of a subject; None when there is none."""
        # Followers answer direct gets too and may lag behind: what decides goes to the leader.
        if self.allows_direct and self.replicas == 1:
            return await self._direct({"last_by_subj": subject}, thing)
        return await self._from_leader({"last_by_subj": subject}, thing)

    async def next(self, subject: str, sequence: int, *, thing: str) -> Stored | None:
        """Fetch the first message of a subject at or after a place; None when there is none."""
        question = {"seq": max(1, sequence), "next_by_subj": subject}
        if self.allows_direct:
            return await self._direct({**question, "batch": 1}, thing)
        return await self._from_leader(question, thing)

    async def _direct(self, question: dict[str, Any], thing: str) -> Stored | None:
        data = json.dumps(question).encode()
        message = await self.link.request(f"{self.link.address.api}.DIRECT.GET.{self.stream}", data, thing=thing)
        headers = message.headers or {}
        status = headers.get("Status")
        if status == "404":
            return None
        if status is not None:
            reason = headers.get("Description", "no reason given")
            raise StoreError(thing, f"the server refused to read it: {status} {failures.no_secrets(reason)}")
        pending = headers.get("Nats-Num-Pending")
        return Stored(
            subject=headers["Nats-Subject"],
            sequence=int(headers["Nats-Sequence"]),
            data=message.data,
            stored_at=read_time(headers.get("Nats-Time-Stamp")),
            pending=None if pending is None else int(pending),
            is_marker="KV-Operation" in headers,
        )

    async def _from_leader(self, question: dict[str, Any], thing: str) -> Stored | None:
        try:
            answer = await self.link.api(f"STREAM.MSG.GET.{self.stream}", question, thing=thing)
        except failures.ApiError as error:
            if error.code == failures.NO_MESSAGE:
                return None
            raise failures.translate(error, thing, self.link.address.shown) from error
        message = answer["message"]
        return Stored(
            subject=message["subject"],
            sequence=int(message["seq"]),
            data=base64.b64decode(message.get("data") or ""),
            stored_at=read_time(message.get("time")),
            is_marker=b"KV-Operation:" in base64.b64decode(message.get("hdrs") or ""),
        )

    async def store(self, subject: str, data: bytes, *, thing: str, headers: dict[str, str] | None = None) -> int:
        """Publish one message and give its sequence.

        Raises:
            ApiError: The stream did not take it.
        """
        message = await self.link.request(subject, data, thing=thing, headers=headers)
        answer = json.loads(message.data)
        error = failures.ApiError.of(answer)
        if error is not None:
            raise error
        return int(answer["seq"])

    async def purge(self, subject: str, *, thing: str, up_to: int | None = None) -> None:
        """Remove the messages of a subject: all, or those up to a sequence, inclusive."""
        bound = {} if up_to is None else {"seq": up_to + 1}
        await self.api("STREAM.PURGE", {"filter": subject, **bound}, thing=thing)

    async def api(self, verb: str, question: dict[str, Any] | None = None, *, thing: str) -> dict[str, Any]:
        """Ask JetStream's API about this stream; its errors come translated."""
        try:
            return await self.link.api(f"{verb}.{self.stream}", question, thing=thing)
        except failures.ApiError as error:
            if error.code == failures.STREAM_NOT_FOUND:
                reason = "its stream is gone from the server"
                raise StoreUnavailable(thing, reason, "Connect again to make it anew") from error
            raise failures.translate(error, thing, self.link.address.shown) from error


async def find_stream(link: Link, name: str) -> dict[str, Any] | None:
    """Give the configuration of a stream; None when there is none."""
    try:
        answer = await link.api(f"STREAM.INFO.{name}", thing=f"stream {name}")
    except failures.ApiError as error:
        if error.code == failures.STREAM_NOT_FOUND:
            return None
        raise failures.translate(error, f"stream {name}", link.address.shown) from error
    config: dict[str, Any] = answer["config"]
    return config


async def ensure_stream(link: Link, config: dict[str, Any]) -> dict[str, Any]:
    """Make a stream unless there is one of that name, which stays as it is; give its configuration."""
    name = config["name"]
    found = await find_stream(link, name)
    if found is not None:
        return found
    try:
        answer = await link.api(f"STREAM.CREATE.{name}", config, thing=f"stream {name}")
    except failures.ApiError as error:
        found = await find_stream(link, name) if error.code == failures.NAME_IN_USE else None
        if found is None:
            raise failures.translate(error, f"stream {name}", link.address.shown) from error
        return found
    made: dict[str, Any] = answer["config"]
    return made
