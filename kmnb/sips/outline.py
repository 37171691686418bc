"""outline: which paths the records of JSON content have, of which types, how often."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from kmnb.core.describe import Example, Operation
from kmnb.core.lenient import told
from kmnb.core.records import Batch, Problem
from kmnb.core.slice import Slice
from kmnb.sips._json_values import compact, one_decoder
from kmnb.sips._rows import RECORD_PARAMS, Problems

PATHS_MAX = 2000
"""Most paths that are told apart; of objects used as maps only so many keys are looked at."""
DEPTH_MAX = 64
"""Levels down to which records are looked at."""
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_KINDS = {dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "boolean"}


class OutlineRun:
    """Paths under way.

    Args:
        max_bytes: Cap of the answer's text in bytes.
        strict: Whether a bad record raises.
    """

    done = full = False

    def __init__(self, *, max_bytes: int, strict: bool = False) -> None:
        self._cap = max_bytes
        self._seen: dict[str, Counter[str]] = {}
        self._decode = one_decoder(None)
        self._records = 0
        self._problems = Problems(strict=strict)
        self._is_partial = False
        self._ended = False

    def feed(self, item: Any) -> None:
        """Take the next batch of records."""
        batch: Batch = item
        self._problems.add(batch.problems)
        for number, row in zip(batch.numbers, batch.rows, strict=True):
            self._records += 1
            if batch.kind == "json":
                try:
                    self._look("", self._decode(row), 0)
                except ValueError as fault:
                    self._problems.add([Problem(number + 1, told(fault))])
            elif batch.kind == "table" and batch.columns is not None:
                for name, cell in zip(batch.columns, row, strict=False):
                    self._look(_step(name), cell, 0)
            else:
                self._note("line", "string")

    def _look(self, path: str, value: Any, depth: int) -> None:
        if path or not isinstance(value, dict):
            self._note(path or ".", _KINDS.get(type(value), "null" if value is None else type(value).__name__))
        if depth >= DEPTH_MAX:
            self._is_partial = self._is_partial or isinstance(value, dict | list)
        elif isinstance(value, dict):
            for name, inner in value.items():
                self._look(path + _step(name), inner, depth + 1)
        elif isinstance(value, list):
            for inner in value:
                self._look(f"{path}[]", inner, depth + 1)

    def _note(self, path: str, kind: str) -> None:
        counts = self._seen.get(path)
        if counts is None:
            if len(self._seen) >= PATHS_MAX:
                self._is_partial = True
                return
            counts = self._seen[path] = Counter()
        counts[kind] += 1

    def end(self) -> None:
        """Hear that the content ended."""
        self._ended = True

    def finish(self) -> Slice:
        """Give the paths, in the order in which they were first seen."""
        values: list[Any] = []
        pieces: list[str] = []
        spent = 0
        for path, kinds in self._seen.items():
            line = f"{path}\t{', '.join(f'{kind} {count}' for kind, count in kinds.items())}\n"
            spent += len(line.encode("utf-8", "replace"))
            if spent > self._cap:
                break
            pieces.append(line)
            values.append({"path": path, "count": kinds.total(), "types": dict(kinds)})
        notes = (f"only {PATHS_MAX} paths and {DEPTH_MAX} levels were looked at",) if self._is_partial else ()
        return Slice(
            values=values,
            text="".join(pieces),
            complete=len(values) == len(self._seen) and not self._is_partial and self._ended,
            shown=len(values),
            total=len(self._seen),
            total_is_lower_bound=self._is_partial or not self._ended,
            skipped=self._problems.count,
            problems=tuple(self._problems.first),
            notes=(f"{self._records} records", *notes),
        )


def _step(name: str) -> str:
    """Write a key as jq does: in quotes where it is no plain name, so that no two paths look alike."""
    return f".{name}" if _PLAIN.fullmatch(name) else f".{compact(name)}"


class OutlineSip:
    """The plug-in."""

    feeds = "records"
    operation = Operation(
        "outline",
        "Show the paths of the records with their types and how often they occur.",
        RECORD_PARAMS,
        (
            Example(
                b'{"items":[{"a":1,"b":[true]},{"a":null}]}',
                {},
                (
                    {"path": ".a", "count": 2, "types": {"number": 1, "null": 1}},
                    {"path": ".b", "count": 1, "types": {"array": 1}},
                    {"path": ".b[]", "count": 1, "types": {"boolean": 1}},
                ),
                ".a\tnumber 1, null 1\n.b\tarray 1\n.b[]\tboolean 1\n",
            ),
        ),
    )

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> OutlineRun:
        """Begin."""
        return OutlineRun(max_bytes=max_bytes, strict=bool(arguments.get("strict")))


SIP = OutlineSip()
