"""What a peer's layout must offer, so that its versions are objects of kmnb's named area."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from kmnb.core.addresses import NamedAddress, Place
from kmnb.storage.backends._file_disk import Staged


@dataclass(frozen=True, slots=True)
class Slot:
    """A version as a listing tells of it."""

    address: NamedAddress
    """The name."""
    version: int
    """Its number."""
    size: int
    """Bytes."""
    modified: datetime
    """When it was written, UTC."""


@dataclass(frozen=True, slots=True)
class Told:
    """What lies beside the bytes of a version."""

    size: int
    """Bytes."""
    modified: datetime
    """When it was written, UTC."""
    identity: str
    """Changes whenever the version is written again."""
    attributes: Mapping[str, str]
    """What the peer keeps, as attributes of kmnb."""
    mark: str | None = None
    """Names the facts that kmnb keeps of it elsewhere; None for what the peer wrote."""
    faults: tuple[str, ...] = ()
    """What is wrong with it."""


@dataclass(frozen=True, slots=True)
class About:
    """What is written beside the bytes of a version."""

    attributes: Mapping[str, str]
    """Everything that kmnb knows of it."""
    mark: str
    """See :attr:`Told.mark`."""
    moment: datetime
    """When it is written, UTC."""
    size: int
    """Bytes."""


@dataclass(slots=True)
class Unplaced:
    """What a walk met and could not read as a version of one name."""

    paths: list[str] = field(default_factory=list)
    """The first hundred of them."""
    count: int = 0
    """How many there were."""

    def add(self, path: str) -> None:
        """Take note of one."""
        self.count += 1
        if len(self.paths) < 100:
            self.paths.append(path)


class Shelf(Protocol):
    """Versions in a peer's layout. All calls are about addresses that were checked."""

    has_companions: bool
    """Whether each name has a second one that ends with ``.metadata.json`` and describes it."""
    staging: str | None
    """Folder where larger data waits until it is whole; None for the system's."""
    unplaced: Unplaced
    """What the last walk could not read."""

    def check(self, address: NamedAddress) -> None:
        """Raise KeySyntaxError for an address that the layout cannot hold apart from another one."""

    def warnings(self, app: str) -> list[str]:
        """Tell what is known to be wrong with an application's name in this layout."""

    def walk(self, place: Place | None, *, app: str | None = None) -> AsyncIterator[Slot]:
        """Walk the versions of a place, or of everything, in no order; an application that is named settles doubts."""

    async def head(self, address: NamedAddress, version: int) -> Told:
        """Tell what lies beside a version. Raises ArtifactNotFound."""

    async def read(self, address: NamedAddress, version: int, span: tuple[int, int]) -> tuple[bytes, str]:
        """Read bytes that lie inside, end exclusive; gives the identity of what was read too."""

    async def write(self, address: NamedAddress, version: int, data: bytes | Staged, *, about: About) -> None:
        """Store a version whole or not at all. Raises AlreadyExists where the number is taken."""

    async def delete(self, address: NamedAddress, version: int) -> None:
        """Remove a version; silent when there is none."""
