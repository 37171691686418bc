"""The answer of a sip: bounded values, and what is needed to trust and continue them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kmnb.core.cards import slice_card
from kmnb.core.display import bundle, plain
from kmnb.core.records import Problem


@dataclass(frozen=True, slots=True)
class Match:
    """One line that grep found."""

    number: int
    """Line number from 1, as ``grep -n`` counts."""
    index: int
    """Line number from 0, as ``lines(start=)`` counts."""
    offset: int
    """Byte offset of the line in the decoded content."""
    text: str
    """The line without its line end."""
    before: tuple[str, ...] = ()
    """Lines before it, as many as ``context`` asked for."""
    after: tuple[str, ...] = ()
    """Lines after it, as many as ``context`` asked for."""


@dataclass(frozen=True)
class Slice:
    """A bounded answer. Its text never exceeds the cap, and what is missing is said in fields."""

    values: list[Any]
    """Lines as text, matches, rows as dicts, or JSON values."""
    text: str
    """What the command line prints; the peer's text form, position line included."""
    complete: bool
    """Whether nothing that was asked for is missing."""
    shown: int
    """Number of values in this answer."""
    total: int | None
    """Number of values that the whole answer would have; None where it cannot be known."""
    total_is_lower_bound: bool = False
    """Whether there may be more than ``total``."""
    cursor: str | None = None
    """Opaque way to go on, bound to the artifact's digest; None when there is nothing more."""
    fetched_bytes: int = 0
    """Bytes that this answer moved from the store."""
    scanned_bytes: int = 0
    """Bytes of decoded content that were looked at."""
    skipped: int = 0
    """Records that could not be used."""
    problems: tuple[Problem, ...] = ()
    """The first 20 of them."""
    notes: tuple[str, ...] = ()
    """Remarks for people: cut lines, colour codes met, a guessed encoding."""
    receipt: dict[str, Any] | None = None
    """Operation, parameters, artifact digest and text digest."""

    def __repr__(self) -> str:
        return plain(slice_card(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(slice_card(self))
