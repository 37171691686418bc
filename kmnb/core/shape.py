"""Types of values, columns and paths. They are told, never applied: a value stays as it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_INTEGER = re.compile(r"[-+]?\d+\Z")
_NUMBER = re.compile(r"[-+]?(\d++\.?\d*+|\.\d++)([eE][-+]?\d++)?\Z")
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?\s*(Z|[-+]\d\d:?\d\d)?)?\Z")
_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (Mapping, "object"),
    (list, "list"),
    (tuple, "list"),
)
PATHS_MAX = 400
"""Most paths that are kept of one kind of record."""
_DEPTH_MAX = 4
# Made once: ``json.dumps`` makes an encoder for each value.
_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def type_of(value: Any, *, text_is_source: bool = True) -> str | None:
    """Name the type of a value.

    Args:
        value: Any JSON value or cell.
        text_is_source: Whether text is all that the source can hold (CSV), so that its look tells the type.

    Returns:
        ``boolean``, ``integer``, ``number``, ``timestamp``, ``text``, ``list`` or ``object``; None for nothing.
    """
    if value is None or (text_is_source and value == ""):
        return None
    if isinstance(value, str):
        return _text_type(value) if text_is_source else "text"
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "text")


def _text_type(text: str) -> str:
    # A leading zero or a plus is part of a code, not of a number.
    bare = text.removeprefix("-")
    is_code = bare.startswith("+") or (len(bare) > 1 and bare[0] == "0" and bare[1].isdigit())
    if text.isascii() and not is_code:
        if _INTEGER.match(text):
            return "integer"
        if _NUMBER.match(text):
            return "number"
        if _TIME.match(text):
            return "timestamp"
        if text in ("true", "false", "True", "False", "TRUE", "FALSE"):
            return "boolean"
    return "text"


def join_types(types: Iterable[str | None]) -> tuple[str, bool]:
    """Find the narrowest type that covers others; the second answer tells whether nothing was among them."""
    found = set(types)
    nullable = None in found
    kinds = {kind for kind in found if kind}
    if not kinds:
        return "null" if nullable else "text", True
    if len(kinds) == 1:
        return kinds.pop(), nullable
    if kinds == {"integer", "number"}:
        return "number", nullable
    return "mixed" if kinds & {"list", "object"} else "text", nullable


class ColumnTypes:
    """Collects the types of table columns.

    Args:
        names: Column names.
        text_is_source: See :func:`type_of`.
    """

    def __init__(self, names: Sequence[str], *, text_is_source: bool = True) -> None:
        self._names, self._text = names, text_is_source
        self._found: list[set[str | None]] = [set() for _ in names]

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """Take rows that are as wide as the names."""
        for at, found in enumerate(self._found):
            cells = [row[at] for row in rows]
            if set(map(type, cells)) <= _TEXTS and self._text:
                found.update(_types_of_texts(set(cells)))
            else:
                found.update(type_of(cell, text_is_source=self._text) for cell in cells)

    def columns(self) -> tuple[dict[str, Any], ...]:
        """Give a dict with ``name``, ``type`` and ``nullable`` for each column."""
        return tuple(
            {"name": name, "type": kind, "nullable": nullable}
            for name, found in zip(self._names, self._found, strict=True)
            for kind, nullable in [join_types(found)]
        )


def _types_of_texts(texts: set[str | None]) -> set[str | None]:
    """Name the types among different texts; a column of one type is told by a single search."""
    found: set[str | None] = {None} if texts & _NOTHING else set()
    filled = texts - _NOTHING
    if filled:
        joined = "\n".join(text for text in filled if text)
        for pattern, kind in _COLUMNS:
            if pattern.fullmatch(joined):
                return found | {kind}
        found |= {_text_type(text) for text in filled if text}
    return found


_TEXTS = {str, type(None)}
_NOTHING = {"", None}
_COLUMNS = tuple(
    (re.compile(rf"(?:{one}\n)*+{one}", re.ASCII), kind)
    for one, kind in (
        (r"-?(?:0|[1-9]\d*+)", "integer"),
        (r"-?(?:0|[1-9]\d*+)\.\d++", "number"),
        (r"\d{4}-\d\d-\d\d", "timestamp"),
    )
)


class PathTypes:
    """Collects the paths of JSON records with their types: ``metadata.name``, ``spec.containers[].image``."""

    def __init__(self) -> None:
        self._types: dict[str, set[str | None]] = {}
        self._times: dict[str, int] = {}
        self.records = 0
        self.is_cut = False

    def add(self, record: Any) -> None:
        """Take a record."""
        self.records += 1
        self._walk(record, "", 0)

    def _walk(self, value: Any, path: str, depth: int) -> None:
        if isinstance(value, Mapping) and value and depth < _DEPTH_MAX:
            for key, inner in value.items():
                self._walk(inner, f"{path}.{key}" if path else str(key), depth + 1)
            return
        if isinstance(value, (list, tuple)) and value and depth < _DEPTH_MAX and isinstance(value[0], Mapping):
            for inner in value[:3]:
                self._walk(inner, f"{path}[]", depth + 1)
            return
        name = path or "value"
        if name not in self._types and len(self._types) >= PATHS_MAX:
            self.is_cut = True
            return
        self._types.setdefault(name, set()).add(type_of(value, text_is_source=False))
        self._times[name] = self._times.get(name, 0) + 1

    def columns(self) -> tuple[dict[str, Any], ...]:
        """Give a dict with ``name``, ``type`` and ``nullable`` for each path, in the order of their first place."""
        answer = []
        for name, found in self._types.items():
            kind, nullable = join_types(found)
            missing = "[]" not in name and self._times[name] < self.records
            answer.append({"name": name, "type": kind, "nullable": nullable or missing})
        return tuple(answer)


_KEYS = ("name", "id", "key", "title", "pod", "node", "host", "namespace", "time", "timestamp", "date")


def key_column(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """Choose the column that tells records apart.

    By its name, else the first one that is called some name or id, else the first one in which most values differ,
    else the first one in which any do.
    """
    words = [re.split(r"[^a-z0-9]+", name.strip().lower()) for name in names]
    for key in _KEYS:
        if [key] in words:
            return words.index([key])
    sample = rows[:50]
    different = [len({text_of(row[at]) for row in sample}) for at in range(len(names))]
    for at, count in enumerate(different):
        if count > 1 and words[at][-1] in ("name", "id"):
            return at
    for least in (0.8 * len(sample), 2):
        for at, count in enumerate(different):
            if count >= max(least, 2):
                return at
    return 0


def text_of(value: Any) -> str:
    """Write a value as text: text as it stands, nothing as the empty text, everything else as JSON writes it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return _as_json(value)
