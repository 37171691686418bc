"""What a query wants of JSON content, and what it is handed while the content passes by.

A format walks the content and knows where records begin; a query knows what it wants. They meet in these words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from kmnb.core.records import Problem

Path = tuple[str, ...]
"""Keys from the top of a document down to a value."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What is wanted of every document."""

    decode: Callable[[bytes], list[Any]]
    """Turns the text of a JSON array into its elements; raises ValueError for text that is not JSON."""
    records: Path | None = None
    """Where the array stands whose elements are wanted one after the other; None for no array."""
    values: frozenset[Path] = frozenset()
    """Where values stand that are wanted whole."""
    keys: Path | None = None
    """Where an object stands of which only the keys are wanted; None for none."""
    is_whole: bool = False
    """Whether every document is wanted whole, as one record."""


@dataclass(frozen=True, slots=True)
class Records:
    """Consecutive elements of the walked array, or consecutive documents, in source order."""

    rows: Sequence[Any]
    """What ``Walk.decode`` made of them."""
    problems: Sequence[Problem] = field(default=())
    """Documents of this stretch that are not JSON."""
    offset: int | None = None
    """Where in the walked text the first of them begins; None where that is not known."""
    before: bytes = b""
    """Some bytes of the text before that place."""
    places: Sequence[int] | None = None
    """Number of each row where problems stand between them; None where they follow one another."""


@dataclass(frozen=True, slots=True)
class Found:
    """A value that stands at a wanted place, or in its way."""

    path: Path
    """Where it stands; shorter than the wanted path when it is in the way."""
    data: bytes
    """Its JSON text; only the first byte for an array or an object that is in the way."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the object whose keys are wanted."""

    name: str
    """The key."""


@dataclass(frozen=True, slots=True)
class Begins:
    """The walked array, or the object whose keys are wanted, is there; what is in it follows."""


@dataclass(frozen=True, slots=True)
class DocumentEnds:
    """The document is over."""


Event = Records | Found | Key | Begins | DocumentEnds
"""What a walker hands over."""
Shape = Literal["document", "rows"]
"""Whether the content is one or more documents, or one document a line."""


class Walker(Protocol):
    """Walks decoded content that is fed in order, in blocks of any size."""

    def feed(self, block: bytes) -> Sequence[Event]:
        """Take the next block and give what has passed by."""

    def finish(self) -> Sequence[Event]:
        """Give what is left at the end of the content."""


class WalkPlugin(Protocol):
    """A format that can walk."""

    def walk(self, walk: Walk, *, strict: bool) -> Walker:
        """Make a walker; ``strict`` raises for documents that are not JSON where they could be left out."""


class WalkingRun(Protocol):
    """A sip under way that is handed what its walk wants."""

    def walk(self, shape: Shape) -> Walk:
        """Say what is wanted; called once, before the first feed."""

    @property
    def skippable(self) -> int:
        """How many of the first records, of the first document, need not be seen; asked once, after :meth:`walk`."""

    def passed(self, count: int) -> None:
        """Hear that so many of the first records are left out from the walk, those that were seen among them."""


def tree(walk: Walk) -> Mapping[str, Any]:
    """Arrange the wanted paths as a tree.

    Returns:
        Nested dicts by key. ``""`` holds what is wanted there: ``records``, ``value`` or ``keys``.
    """
    root: dict[str, Any] = {}
    for path in walk.values:
        _branch(root, path)[""] = "value"
    if walk.keys is not None:
        _branch(root, walk.keys)[""] = "keys"
    if walk.records is not None:
        _branch(root, walk.records)[""] = "records"
    return root


def _branch(node: dict[str, Any], path: Path) -> dict[str, Any]:
    for key in path:
        node = node.setdefault(f".{key}", {})
    return node
