"""Where to read: windows over a content, and what is known of it before a byte is moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kmnb.core.bounds import WINDOW_BYTES


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in decoded content where a line begins."""

    line: int
    """Number of the line, from 0."""
    offset: int
    """Byte offset of its first byte."""


class LineMap(Protocol):
    """Knows where some of the lines begin; the stored index is one."""

    def before(self, line: int) -> Spot:
        """Give the nearest known line start that is not after a line number, counted from 0."""

    def at(self, offset: int) -> Spot:
        """Give the nearest known line start that is not after a byte offset."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of decoded content before it is read. Unknown facts are None."""

    size: int | None = None
    """Size in bytes."""
    lines: int | None = None
    """Number of lines."""
    map: LineMap | None = None
    """Where some of the lines begin."""
    seekable: bool = False
    """Whether reading may begin anywhere; compressed or transcoded content can only be walked."""
    rows: int | None = None
    """Number of records, as the format defines them."""
    skipped: int = 0
    """Number of those that could not be used and are not in it."""
    long_line: int | None = None
    """Number of the first line that is longer than the cap, from 0; None where none is known."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which stretch of the decoded content a sip wants to be fed."""

    start: int = 0
    """First byte."""
    end: int | None = None
    """End, exclusive; None for the end of the content."""


@runtime_checkable
class PlannedRun(Protocol):
    """A sip under way that need not be fed from the first byte to the last."""

    @property
    def full(self) -> bool:
        """Whether more input could only tell how much there is in all."""

    def plan(self, facts: Facts) -> Plan:
        """Say what to feed; called once, before the first feed."""

    def end(self) -> None:
        """Hear that the last byte of the content was fed; not called when feeding stopped before it."""


def windows(start: int, end: int, size: int = WINDOW_BYTES) -> Iterator[tuple[int, int]]:
    """Cut a range into windows.

    Args:
        start: First byte.
        end: End, exclusive.
        size: Largest window in bytes.

    Yields:
        Pairs of start and exclusive end, in order, without gaps.
    """
    while start < end:
        stop = min(start + size, end)
        yield start, stop
        start = stop
