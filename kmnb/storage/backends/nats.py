"""NATS JetStream: objects in object stores, records in a key-value bucket, the bus beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from kmnb.core.bounds import TTL_SECONDS
from kmnb.core.metadata import Capability
from kmnb.storage._embedded import EmbeddedServer, Running
from kmnb.storage._protocols import Remnant
from kmnb.storage._threads import in_thread_detached
from kmnb.storage._urls import split_url
from kmnb.storage.backends._nats_address import Address, read_address
from kmnb.storage.backends._nats_area import NatsArea
from kmnb.storage.backends._nats_bucket import Bucket
from kmnb.storage.backends._nats_bus import NatsBus
from kmnb.storage.backends._nats_lanes import Lanes
from kmnb.storage.backends._nats_layout import read_time
from kmnb.storage.backends._nats_leftovers import collect_leftovers
from kmnb.storage.backends._nats_link import Link
from kmnb.storage.backends._nats_login import Login
from kmnb.storage.backends._nats_records import NatsRecords, open_records

_CAPABILITIES = frozenset({Capability.RANGE, Capability.CROSS_PROCESS, Capability.BUS})


class NatsBackend:
    """A store on a NATS server."""

    def __init__(self, address: Address, link: Link, embedded: EmbeddedServer | None) -> None:
        self._address, self._link, self._embedded = address, link, embedded
        self._bus = NatsBus(link)
        self._lanes = Lanes(link)
        self._discussions: NatsArea
        self._named: NatsArea
        self._records: NatsRecords

    async def start(self) -> None:
        """Connect and make what is missing."""
        address = self._address
        await self._lanes.warm()
        discussions = await Bucket.open(self._link, address.bucket, ttl_seconds=TTL_SECONDS)
        named = await Bucket.open(self._link, address.named_bucket, ttl_seconds=None)
        self._discussions, self._named = NatsArea(discussions, self._lanes), NatsArea(named, self._lanes)
        self._records = await open_records(self._link, self._lanes, address.records_bucket)

    @property
    def url(self) -> str:
        """The store's address without user info or secrets."""
        if self._embedded is not None:
            return f"nats+embedded://{self._embedded.folder}"
        return f"{self._address.servers[0]}/{self._address.bucket}"

    @property
    def server_url(self) -> str | None:
        """Address of the server that other clients may connect to; an embedded one's has user and password in it."""
        return self._address.servers[0] if self._embedded is None else self._embedded.running.login_url

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What this store can do beyond the verbs."""
        bucket, more = self._discussions.bucket, set()
        if bucket.ttl_seconds:
            more.add(Capability.TTL)
        if bucket.config.get("storage") == "file":
            more.add(Capability.DURABLE)
        return _CAPABILITIES | more

    @property
    def discussions(self) -> NatsArea:
        """Temporary objects."""
        return self._discussions

    @property
    def named(self) -> NatsArea:
        """Lasting objects."""
        return self._named

    @property
    def records(self) -> NatsRecords:
        """Small conditional records."""
        return self._records

    @property
    def bus(self) -> NatsBus | None:
        """Messages."""
        return self._bus

    @property
    def ttl_seconds(self) -> float | None:
        """Age at which the server removes discussion artifacts; None while it does not."""
        return self._discussions.bucket.ttl_seconds

    async def set_ttl(self, seconds: float) -> None:
        """Have the server remove discussion artifacts of an age in seconds."""
        await self._discussions.bucket.set_ttl(seconds)

    async def now(self) -> datetime:
        """The server's clock; this machine's where an old server does not tell it."""
        answer = await self._discussions.bucket.api("STREAM.INFO", thing=f"bucket {self._address.bucket}")
        return read_time(answer.get("ts")) or datetime.now(UTC)

    async def describe(self) -> dict[str, Any]:
        """Facts for ``doctor``; see the protocol."""
        client = await self._link.client()
        buckets = {area.bucket.name: await _facts(area) for area in (self._discussions, self._named)}
        warnings = []
        if (ttl := self._discussions.bucket.ttl_seconds) != TTL_SECONDS:
            has = "no TTL" if ttl is None else f"a TTL of {ttl / 3600:g} h"
            warnings.append(f"bucket {self._address.bucket} has {has}, not {TTL_SECONDS // 3600} h")
        if self._named.bucket.ttl_seconds is not None:
            warnings.append(f"bucket {self._address.named_bucket} has a TTL: named artifacts will expire")
        version = client.connected_server_version
        return {
            "kind": "nats",
            "url": self.url,
            "server_url": self._link.address.servers[0],
            "server_version": f"{version.major}.{version.minor}.{version.patch}",
            "embedded": None if self._embedded is None else str(self._embedded.folder),
            "ttl_seconds": ttl,
            "buckets": buckets,
            "warnings": warnings,
        }

    async def collect(self, *, dry_run: bool = False) -> list[Remnant]:
        """Remove chunks of objects that never became visible, and old marks of deletions."""
        now, found = await self.now(), []
        for bucket in (self._discussions.bucket, self._named.bucket):
            found += await collect_leftovers(bucket, self._lanes, now=now, dry_run=dry_run)
        return found

    async def disconnect(self) -> None:
        """Let go of the connections."""
        self._lanes.close()
        await self._link.close()

    async def close(self) -> None:
        """Let go of the connections, and of the embedded server."""
        await self.disconnect()
        if self._embedded is not None:
            await in_thread_detached(self._embedded.close)


async def _facts(area: NatsArea) -> dict[str, Any]:
    answer = await area.bucket.api("STREAM.INFO", thing=f"bucket {area.bucket.name}")
    config, state = answer["config"], answer["state"]
    return {
        "ttl_seconds": area.bucket.ttl_seconds,
        "storage": config.get("storage"),
        "replicas": config.get("num_replicas"),
        "max_bytes": config.get("max_bytes"),
        "bytes": state.get("bytes"),
        "messages": state.get("messages"),
    }


def _default_folder() -> Path:
    """Name the folder of the embedded store when the URL names none."""
    import platformdirs

    return Path(platformdirs.user_data_dir("kmnb", appauthor=False)) / "nats"


async def _join_server(folder: Path) -> EmbeddedServer:
    """Join or start the server of a folder; it can take seconds, so an interrupt does not wait for it."""
    joining = asyncio.ensure_future(in_thread_detached(lambda: EmbeddedServer.open(folder)))
    try:
        return await asyncio.shield(joining)
    except asyncio.CancelledError:
        joining.add_done_callback(_leave_server)
        raise


def _leave_server(joined: asyncio.Future[EmbeddedServer]) -> None:
    if not joined.cancelled() and joined.exception() is None:
        joined.result().release()


def _at(address: Address, running: Running) -> Address:
    return replace(address, servers=(running.url,), login=Login(user=running.user, password=running.password))


async def _find_again(embedded: EmbeddedServer, address: Address) -> Address:
    return _at(address, await in_thread_detached(embedded.find_again))


class _Plugin:
    schemes: tuple[str, ...] = ("nats", "nats+embedded")
    summary = "NATS JetStream object store, by server address or embedded"

    async def open(self, url: str, options: Mapping[str, Any]) -> NatsBackend:
        """Open a store; see the protocol."""
        parts = split_url(url)
        if parts.scheme != "nats+embedded":
            address = read_address(url, options)
            return await _started(NatsBackend(address, Link(address), None))
        if parts.host not in ("", "localhost") or "\0" in parts.path:
            step = "Write nats+embedded:///absolute/path, or nats+embedded:// for your data folder"
            raise parts.refused("it names no absolute path", step)
        embedded = await _join_server(Path(parts.path) if parts.path.strip("/") else _default_folder())
        try:
            address = read_address(embedded.url, {**parts.options, **options}, with_login=False)
            address = _at(address, embedded.running)
            link = Link(address, after_fork=embedded.rejoin, find=partial(_find_again, embedded))
            return await _started(NatsBackend(address, link, embedded))
        except BaseException:
            embedded.release()
            raise


async def _started(backend: NatsBackend) -> NatsBackend:
    try:
        await backend.start()
    except BaseException:
        await backend.disconnect()
        raise
    return backend


BACKEND = _Plugin()
