"""What differs between two contents: by rows and columns, by JSON paths, or by lines. Pure; sizes are the caller's."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from kmnb.core.shown import Shown

if TYPE_CHECKING:
    from kmnb.core.display import Card

_PLAIN = re.compile(r"[^\W\d][\w-]*")
LINES_MAX = 1000
"""Most lines of a difference that are told; the counts are always whole."""
EXACT_MAX = 4_000_000
"""Largest product of the numbers of differing lines that is compared in order."""
DEPTH_MAX = 100
"""Deepest place of a JSON document that is looked into."""


@dataclass(frozen=True, slots=True)
class Diff(Shown):
    """How one content became another."""

    kind: Literal["rows", "paths", "lines", "bytes"]
    """What was compared."""
    added: int
    """Rows, paths or lines that only the new content has."""
    removed: int
    """Rows, paths or lines that only the old content has."""
    changed: int
    """Paths whose values differ. Rows and lines are added and removed instead; only the end of the last line counts."""
    text: str
    """The differences, one a line, at most :data:`LINES_MAX`."""
    columns_added: tuple[str, ...] = ()
    """Columns that only the new content has."""
    columns_removed: tuple[str, ...] = ()
    """Columns that only the old content has."""

    def card(self) -> Card:
        """The counts, then the differences."""
        from kmnb.core.display import Card

        title = f"{self.kind}: {self.added} added, {self.removed} removed, {self.changed} changed"
        columns = (
            ("columns added", ", ".join(self.columns_added)),
            ("columns removed", ", ".join(self.columns_removed)),
        )
        return Card(title, facts=columns, body=self.text)

    @property
    def is_same(self) -> bool:
        """Whether nothing differs."""
        return not (self.added or self.removed or self.changed or self.columns_added or self.columns_removed)


def diff_rows(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> Diff:
    """Compare two tables as multisets of rows; the order of rows does not count.

    Args:
        old: Rows as dicts, in source order.
        new: The same of the new table.
    """
    before, after = _columns(old), _columns(new)
    shared = [name for name in before if name in set(after)]
    counts_old, counts_new = (Counter(_row(row, shared) for row in rows) for rows in (old, new))
    gone, come = counts_old - counts_new, counts_new - counts_old
    lines = [*_signed("-", gone.elements(), shared), *_signed("+", come.elements(), shared)]
    return Diff(
        "rows",
        sum(come.values()),
        sum(gone.values()),
        0,
        _joined(lines),
        tuple(name for name in after if name not in set(before)),
        tuple(name for name in before if name not in set(after)),
    )


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _row(row: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    return tuple("" if row.get(name) is None else str(row[name]) for name in names)


def _signed(sign: str, rows: Iterator[tuple[str, ...]], names: Sequence[str]) -> Iterator[str]:
    for row in rows:
        yield f"{sign} " + ", ".join(f"{name}={cell}" for name, cell in zip(names, row, strict=True))


def diff_paths(old: Any, new: Any) -> Diff:
    """Compare two JSON values path by path.

    Args:
        old: A value as ``json.loads`` gives it.
        new: The new value.
    """
    before, after = dict(_paths(old)), dict(_paths(new))
    removed = [path for path in before if path not in after]
    added = [path for path in after if path not in before]
    changed = [path for path in before if path in after and not _same(before[path], after[path])]
    lines = [f"- {path}: {_shown(before[path])}" for path in removed]
    lines += [f"~ {path}: {_shown(before[path])} → {_shown(after[path])}" for path in changed]
    lines += [f"+ {path}: {_shown(after[path])}" for path in added]
    return Diff("paths", len(added), len(removed), len(changed), _joined(lines))


def _same(one: Any, other: Any) -> bool:
    # 1 and true are equal in Python and different in JSON.
    return type(one) is type(other) and one == other


def _paths(value: Any, path: str = "$", depth: int = 0) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value and depth < DEPTH_MAX:
        for name, inner in value.items():
            yield from _paths(inner, f"{path}{_step(name)}", depth + 1)
    elif isinstance(value, list) and value and depth < DEPTH_MAX:
        for number, inner in enumerate(value):
            yield from _paths(inner, f"{path}[{number}]", depth + 1)
    else:
        yield path, value


def _step(name: str) -> str:
    """Write one name of a path so that no other path is written alike."""
    return f".{name}" if _PLAIN.fullmatch(name) else f"[{json.dumps(name, ensure_ascii=False)}]"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def diff_lines(old: str, new: str) -> Diff:
    """Compare two texts line by line; very different long ones as multisets of lines, so that it ends in time."""
    before, after = _lines(old), _lines(new)
    if before == after and old != new:
        return Diff("lines", 0, 0, 1, "~ only the end of the last line differs\n")
    start = _shared(before, after)
    end = _shared(before[start:][::-1], after[start:][::-1])
    inner_old, inner_new = before[start : len(before) - end], after[start : len(after) - end]
    if len(inner_old) * len(inner_new) > EXACT_MAX:
        counts_old, counts_new = Counter(inner_old), Counter(inner_new)
        gone, come = counts_old - counts_new, counts_new - counts_old
        lines = [*(f"-{line}" for line in gone.elements()), *(f"+{line}" for line in come.elements())]
        return Diff("lines", sum(come.values()), sum(gone.values()), 0, _joined(lines))
    lines = list(difflib.unified_diff(inner_old, inner_new, lineterm="", n=0))[2:]
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    shown = [line for line in lines if not line.startswith("@@")]
    return Diff("lines", added, removed, 0, _joined(shown))


def _lines(text: str) -> list[str]:
    """Cut a text into lines; each ends at a line feed, and after the last one there is none."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines two texts begin with in common."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def diff_bytes(old_size: int, new_size: int, *, same: bool) -> Diff:
    """Compare two contents that have no parts: by whether they are the same."""
    text = "" if same else f"~ {old_size:,} bytes → {new_size:,} bytes\n"
    return Diff("bytes", 0, 0, 0 if same else 1, text)


def _joined(lines: Sequence[str]) -> str:
    shown = list(islice(lines, LINES_MAX))
    if len(lines) > LINES_MAX:
        shown.append(f"… {len(lines) - LINES_MAX:,} further lines")
    return "".join(f"{line}\n" for line in shown)
