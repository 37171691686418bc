"""What a collection of garbage did, or would do: a reason for every object, counts and bytes by reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kmnb.core.answers import cell
from kmnb.core.display import Card, bundle, plain, size_text
from kmnb.core.retention import SENTENCES, Reason, Verdict

ROWS_MAX = 1000
"""Most single objects that the JSON form of a report lists; the counts are always whole."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be deleted; the rest went on."""

    key: str
    """The object's key."""
    reason: str
    """What the store said."""


@dataclass(frozen=True)
class Report:
    """Answer of ``close_thread`` and ``sweep``."""

    action: str
    """``close`` or ``sweep``."""
    scope: str
    """Prefix that was judged."""
    started_at: datetime
    """When, by the store's clock, UTC."""
    verdicts: tuple[Verdict, ...] = ()
    """One verdict for each object and leftover."""
    failures: tuple[Failure, ...] = ()
    """Deletions that failed; a later sweep finishes them."""
    dry_run: bool = False
    """Whether nothing was done."""
    notes: tuple[str, ...] = ()
    """Remarks for people: an unreadable registry, another sweep under way."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def deleted(self) -> int:
        """How many objects went; in a dry run, how many would go."""
        return sum(verdict.deletes for verdict in self._unhindered())

    @property
    def kept(self) -> int:
        """How many objects stay."""
        return sum(not verdict.deletes for verdict in self.verdicts)

    @property
    def deleted_bytes(self) -> int:
        """Bytes of the objects that went, as far as the store told their sizes."""
        return sum(verdict.size or 0 for verdict in self._unhindered() if verdict.deletes)

    def _unhindered(self) -> Iterable[Verdict]:
        failed = {failure.key for failure in self.failures}
        return (verdict for verdict in self.verdicts if verdict.key not in failed)

    @property
    def by_reason(self) -> Mapping[str, tuple[int, int]]:
        """Number of objects and bytes for each reason that occurred, in alphabetical order."""
        return _tally(self.verdicts)

    def explain(self, key: str) -> Verdict | None:
        """Give the verdict on one object; None where it was not judged."""
        return next((verdict for verdict in self.verdicts if verdict.key == key), None)

    def to_json(self) -> dict[str, Any]:
        """Give the report as plain JSON values; single objects up to :data:`ROWS_MAX`, those that go first."""
        listed = sorted(self.verdicts, key=lambda verdict: (not verdict.deletes, verdict.key))[:ROWS_MAX]
        return {
            "action": self.action,
            "scope": self.scope,
            "dryRun": self.dry_run,
            "startedAt": self.started_at.isoformat(),
            "seconds": round(self.seconds, 3),
            "deleted": self.deleted,
            "deletedBytes": self.deleted_bytes,
            "kept": self.kept,
            "byReason": {name: {"objects": count, "bytes": size} for name, (count, size) in self.by_reason.items()},
            "objects": [_row(verdict) for verdict in listed],
            "objectsLeftOut": len(self.verdicts) - len(listed),
            "failures": [{"key": failure.key, "reason": failure.reason} for failure in self.failures],
            "notes": list(self.notes),
        }

    @property
    def text(self) -> str:
        """What the command line prints: one line for people, then ``reason<TAB>objects<TAB>bytes`` lines."""
        lines = [self.title, *(f"{name}\t{count}\t{size}" for name, (count, size) in self.by_reason.items())]
        lines += [f"failed\t{cell(failure.key)}\t{cell(failure.reason)}" for failure in self.failures[:20]]
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        return plain(self._card())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self._card())

    @property
    def title(self) -> str:
        """One line that answers by itself."""
        verb = "would delete" if self.dry_run else "deleted"
        objects = f"{self.deleted:,} object{'' if self.deleted == 1 else 's'}"
        failed = f", {len(self.failures)} failed" if self.failures else ""
        size = size_text(self.deleted_bytes)
        return f"{self.action} {self.scope}: {verb} {objects} ({size}), kept {self.kept:,}{failed}"

    def _card(self) -> Card:
        rows = [
            (name, count, size_text(size), SENTENCES[Reason(name)]) for name, (count, size) in self.by_reason.items()
        ]
        notes = [*self.notes, *(f"failed: {failure.key}: {failure.reason}" for failure in self.failures[:5])]
        return Card(self.title, columns=("reason", "objects", "size", "meaning"), rows=rows, notes=notes)


def _row(verdict: Verdict) -> dict[str, Any]:
    row = {"key": verdict.key, "deletes": verdict.deletes, "reason": str(verdict.reason), "bytes": verdict.size}
    return row | ({"detail": verdict.detail} if verdict.detail else {})


def _tally(verdicts: Iterable[Verdict]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for verdict in verdicts:
        count, size = found.get(verdict.reason, (0, 0))
        found[str(verdict.reason)] = (count + 1, size + (verdict.size or 0))
    return dict(sorted(found.items()))
