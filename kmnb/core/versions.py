"""Version numbers and sequence numbers: what a counter's record holds, and how people pin a version."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from kmnb.core.references import read_time
from kmnb.errors import BadRequest

TOMBSTONES_MAX = 500
"""Most removed versions that one counter remembers singly; the oldest ones are forgotten first."""
WRITING_MAX = 400
"""Most numbers under way that one counter remembers; the oldest signs of life are forgotten first."""

_PIN = re.compile(r"(?P<name>.+)@(?P<pin>[A-Za-z0-9][A-Za-z0-9._-]{0,63})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Counter:
    """What the record of one name, or of one tool in a thread, remembers."""

    following: int = 0
    """Number that is given out next; everything below was given out."""
    floor: int = 0
    """Every version below this one was removed together."""
    removed: Mapping[int, datetime] = field(default_factory=dict)
    """Versions that were removed singly, and when."""
    labels: Mapping[str, int] = field(default_factory=dict)
    """Labels that people move, and the versions they stand at."""
    moved_at: datetime | None = None
    """When a number was given out last, UTC; kept for counters that are collected one day."""
    writing: Mapping[int, datetime] = field(default_factory=dict)
    """Numbers of versions under way, and when their writers gave the last sign of life; complete ones may linger."""

    def to_bytes(self) -> bytes:
        """Write the record."""
        raw: dict[str, object] = {"next": self.following}
        if self.floor:
            raw["floor"] = self.floor
        if self.removed:
            raw["removed"] = {str(number): moment.isoformat() for number, moment in self.removed.items()}
        if self.labels:
            raw["labels"] = dict(self.labels)
        if self.moved_at is not None:
            raw["at"] = self.moved_at.isoformat()
        if self.writing:
            raw["writing"] = {str(number): moment.isoformat() for number, moment in self.writing.items()}
        return json.dumps(raw).encode()

    @classmethod
    def from_bytes(cls, raw: bytes) -> Counter | None:
        """Read a record; None where it is damaged."""
        try:
            value = json.loads(raw)
            following, floor = value["next"], value.get("floor", 0)
            removed = {int(number): read_time(text) for number, text in value.get("removed", {}).items()}
            writing = {int(number): read_time(text) for number, text in value.get("writing", {}).items()}
            labels = {str(name): int(number) for name, number in value.get("labels", {}).items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        if not all(isinstance(number, int) and 0 <= number < 10**18 for number in (following, floor)):
            return None
        times = {number: moment for number, moment in removed.items() if moment is not None}
        if len(times) != len(removed):
            return None
        beats = {number: moment for number, moment in writing.items() if moment is not None}
        return cls(following, floor, times, labels, read_time(value.get("at")), beats)

    def reserved(self, number: int, moment: datetime | None = None) -> Counter:
        """The record after a number was given out, at a time where that matters."""
        return replace(self, following=number + 1, moved_at=moment)

    def written_by(self, number: int, moment: datetime) -> Counter:
        """The record after the writer of a number gave a sign of life."""
        newest = sorted([*{**self.writing, number: moment}.items()], key=lambda item: item[1])[-WRITING_MAX:]
        return replace(self, writing=dict(newest))

    def given_up(self, number: int) -> Counter:
        """The record after a number is no longer under way."""
        return replace(self, writing={at: moment for at, moment in self.writing.items() if at != number})

    def without(self, number: int, moment: datetime) -> Counter:
        """The record after one version was removed."""
        newest = sorted([*self.removed.items(), (number, moment)], key=lambda item: item[1])[-TOMBSTONES_MAX:]
        labels = {name: at for name, at in self.labels.items() if at != number}
        return replace(self, removed=dict(newest), labels=labels)

    def labelled(self, label: str, number: int | None) -> Counter:
        """The record after a label was put at a version, or taken away where that is None."""
        labels = {name: at for name, at in self.labels.items() if name != label}
        return replace(self, labels=labels if number is None else {**labels, label: number})

    def emptied(self) -> Counter:
        """The record after every version was removed; no number of them is given out again."""
        return Counter(self.following, self.following, moved_at=self.moved_at, writing=self.writing)

    def joined(self, other: Counter) -> Counter:
        """The record after that of the same name in another store was carried over; labels here stay where they are."""
        removed = {**other.removed, **self.removed}
        newest = sorted(removed.items(), key=lambda item: item[1])[-TOMBSTONES_MAX:]
        return replace(
            self,
            following=max(self.following, other.following),
            floor=max(self.floor, other.floor),
            removed=dict(newest),
            labels={**other.labels, **self.labels},
        )

    def is_gone(self, number: int) -> bool:
        """Whether a version is known to have been removed."""
        return number < self.floor or number in self.removed


def split_pin(name: str) -> tuple[str, str | None]:
    """Split ``name@pin`` as people write it.

    Args:
        name: A file name, perhaps with ``@3``, ``@latest`` or ``@label`` at its end.

    Returns:
        The name, and the pin without ``@``; None where there is none.
    """
    found = _PIN.fullmatch(name)
    return (found["name"], found["pin"]) if found else (name, None)


def check_label(label: str) -> str:
    """Check a label that people move between versions.

    Raises:
        BadRequest: A number, ``latest``, or with other characters than letters, digits, ``.``, ``_`` and ``-``.
    """
    if not isinstance(label, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]{0,63}", label) or label == "latest":
        raise BadRequest(f"label {label!a:.80}", "cannot be a label", "Begin with a letter; 'latest' is taken.")
    return label


def latest_of(versions: Iterable[int]) -> int | None:
    """The newest of some versions; None where there is none."""
    return max(versions, default=None)
