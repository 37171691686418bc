"""What every backend guarantees, one small protocol a verb.

A backend is one file in ``storage/backends`` that exposes ``BACKEND``. It opens a :class:`Backend`: two object
areas, a record area for small conditional records, and possibly a bus. All verbs are coroutines that run on kmnb's
own loop; blocking libraries are called in worker threads.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from typing import Any, BinaryIO, Protocol, TypeAlias, runtime_checkable

from kmnb.core.metadata import Capability, ObjectInfo

Source: TypeAlias = (
    bytes | bytearray | memoryview | PathLike[str] | BinaryIO | Iterable[bytes] | AsyncIterable[bytes | memoryview]
)
"""What may be stored; anything but bytes is streamed in bounded memory."""
Attributes: TypeAlias = Mapping[str, str] | Callable[[], Mapping[str, str]]
"""Small texts kept with the object; a function is called once, after the last byte of the source was read."""
Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with bytes done and, where known, bytes in all."""


class ObjectArea(Protocol):
    """Objects under keys. ``backend.discussions`` and ``backend.named`` are areas."""

    async def put(
        self,
        key: str,
        source: Source,
        *,
        create_only: bool = False,
        attributes: Attributes | None = None,
        progress: Progress | None = None,
    ) -> ObjectInfo:
        """Store an object; it becomes visible whole, with its attributes, or not at all.

        Args:
            key: At most 1,024 UTF-8 bytes, segments separated by ``/``.
            source: What to store; its sha256 is computed on the way.
            create_only: Whether an existing object is an error. Atomic under a race.
            attributes: Small texts kept with the object.
            progress: Called about every window.

        Returns:
            Facts of the new object, digest and attributes included.

        Raises:
            KeySyntaxError: No object can have that key.
            AlreadyExists: ``create_only`` was asked for and the key is taken.
            StoreError: The store failed; nothing is visible.
        """

    async def get_range(self, key: str, start: int, end: int, *, info: ObjectInfo | None = None) -> bytes:
        """Read some bytes, moving about as many.

        Args:
            key: The object.
            start: First byte, from 0.
            end: End, exclusive; past the object's end means its end.
            info: What an earlier ``head`` said; spares asking again. The object must still be that one.

        Raises:
            ArtifactNotFound: No such object.
            BadRequest: Negative, or reversed.
            DigestMismatch: The object is not the one of ``info``, or its chunks do not add up.
        """

    def stream(self, key: str, *, info: ObjectInfo | None = None) -> AsyncIterator[bytes]:
        """Read all of it in windows of at most 1 MiB; size and digest are checked before the end is reported.

        Raises:
            ArtifactNotFound: No such object.
            DigestMismatch: Short, long, changed or corrupt.
        """

    async def head(self, key: str) -> ObjectInfo:
        """Tell size, digest, time and attributes.

        Raises:
            ArtifactNotFound: No such object.
        """

    def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        """Walk the objects below a prefix of whole segments, sorted by key, with size and time.

        ``a/t1`` gives ``a/t1/x`` and ``a/t1`` itself, never ``a/t10/x``. The trailing slash is optional.
        """

    async def delete(self, key: str) -> None:
        """Remove an object; silent when there is none."""


@dataclass(frozen=True, slots=True)
class Record:
    """One small record with its revision."""

    key: str
    """The record's key."""
    value: bytes
    """Its bytes, at most 64 KiB."""
    revision: str
    """Opaque; changes with every write."""


class RecordArea(Protocol):
    """Small records with conditional writes: thread registry, leases, version marks."""

    async def get(self, key: str) -> Record:
        """Read a record. Raises ArtifactNotFound when there is none."""

    async def put(self, key: str, value: bytes, *, expected: str | None) -> str:
        """Write a record if it is still as expected.

        Args:
            key: The record.
            value: Its new bytes.
            expected: Revision it must have; None when it must not exist.

        Returns:
            The new revision.

        Raises:
            VersionConflict: It was not as expected; nothing was written.
        """

    async def delete(self, key: str) -> None:
        """Remove a record; silent when there is none."""

    def list(self, prefix: str = "") -> AsyncIterator[Record]:
        """Walk the records below a prefix of whole segments, sorted by key."""


@dataclass(frozen=True, slots=True)
class BusMessage:
    """One message of the bus."""

    subject: str
    """Where it was published."""
    data: bytes
    """Its payload."""
    sequence: int | None = None
    """Place in its stream; None for messages that are in no stream."""


class Bus(Protocol):
    """Messages beside the objects; only where the backend has the capability ``bus``."""

    async def publish(self, subject: str, data: bytes, *, stored: bool) -> None:
        """Send a message; ``stored`` ones are acknowledged by the stream that keeps them."""

    def history(self, subject: str) -> AsyncIterator[BusMessage]:
        """Walk the stored messages of a subject (wildcards allowed), oldest first, up to the present end."""

    def subscribe(self, subject: str) -> AsyncIterator[BusMessage]:
        """Follow a subject live; the subscription stands when the first item is awaited."""


@dataclass(frozen=True, slots=True)
class Remnant:
    """Something in a store that is no object, and that nobody needs."""

    name: str
    """Where it is, in the store's own words."""
    reason: str
    """Why nobody needs it."""
    size: int | None = None
    """Its bytes; None where the store does not tell."""


class Backend(Protocol):
    """An opened store: two areas of objects, one of records, perhaps a bus."""

    @property
    def url(self) -> str:
        """The store's address without user info or secrets."""

    @property
    def server_url(self) -> str | None:
        """Address of the server that other clients may connect to; None where there is no server."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What this store can do beyond the verbs."""

    @property
    def discussions(self) -> ObjectArea:
        """Temporary objects."""

    @property
    def named(self) -> ObjectArea:
        """Lasting objects."""

    @property
    def records(self) -> RecordArea:
        """Small conditional records."""

    @property
    def bus(self) -> Bus | None:
        """The bus; None where there is none."""

    async def now(self) -> datetime:
        """The store's clock where it has one, else this machine's; UTC."""

    async def describe(self) -> dict[str, Any]:
        """Facts for ``doctor``: server, versions, TTL, usage, warnings. No secrets."""

    async def collect(self, *, dry_run: bool = False) -> list[Remnant]:
        """Remove what killed writers left, and marks of deletions that nobody needs any more.

        Args:
            dry_run: Whether only to find it.

        Returns:
            What was found. Nothing of it can be listed or read as an object.
        """

    async def close(self) -> None:
        """Let go of connections, threads and files. Closing twice is harmless."""


@runtime_checkable
class ExpiringBackend(Protocol):
    """What a backend offers besides, whose store can remove old discussion artifacts by itself."""

    @property
    def ttl_seconds(self) -> float | None:
        """Age at which it does; None while it does not. No I/O."""

    async def set_ttl(self, seconds: float) -> None:
        """Have it do so from now on. Raises StoreDenied where these credentials may not."""


class LifecycleRules(Protocol):
    """The rules by which a bucket removes old objects itself."""

    async def read(self) -> list[dict[str, Any]]:
        """Give all rules of the bucket, as the store tells them."""

    async def apply(self, document: Mapping[str, Any]) -> None:
        """Put rules beside those of others. Raises StoreDenied or NotSupported where these credentials may not."""


@runtime_checkable
class LifecycleBackend(Protocol):
    """What a backend offers besides, whose bucket may have such rules."""

    @property
    def lifecycle(self) -> LifecycleRules | None:
        """The rules; None where they cannot be reached from here."""

    @property
    def prefix(self) -> str:
        """What stands before everything of kmnb, with its trailing slash where it is not empty."""


@runtime_checkable
class PeerBackend(Protocol):
    """What a store offers besides, whose named artifacts lie in a peer's layout."""

    @property
    def layout(self) -> str:
        """Name of the layout."""

    @property
    def unplaced(self) -> tuple[int, list[str]]:
        """How many things the last walk over everything could not read as a version, and the first of them."""

    def faults(self, app: str, prefixes: tuple[str, ...], *, most: int) -> AsyncIterator[str]:
        """Walk what is wrong with an application's name and with the versions of some scopes, one line each."""


class BackendPlugin(Protocol):
    """What a file in ``storage/backends`` exposes as ``BACKEND``."""

    schemes: tuple[str, ...]
    """URL schemes that it opens."""
    summary: str
    """One line for people."""

    async def open(self, url: str, options: Mapping[str, Any]) -> Backend:
        """Open a store. Creates what is missing; raises StoreUnavailable within the connect time-out."""
