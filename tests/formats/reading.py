"""Read records of content without a store, and find the corpus."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kmnb.core.records import Dialect, Need, Problem
from kmnb.formats._reading import ContentReader

CORPUS = Path(__file__).parents[1] / "corpus"


def corpus(name: str) -> bytes:
    """Give a file of the corpus by its path below ``files``."""
    return (CORPUS / "files" / name).read_bytes()


def cases(*operations: str) -> list[dict[str, Any]]:
    """Give the cases of some operations."""
    found = json.loads((CORPUS / "cases.json").read_text("utf-8"))["cases"]
    return [case for case in found if case["op"] in operations]


@dataclass
class Content:
    """Everything that was read."""

    format: str = ""
    kind: str = ""
    columns: tuple[str, ...] | None = None
    rows: list[Any] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    counted: int = 0

    @property
    def values(self) -> list[Any]:
        """Rows of JSON kinds as values."""
        return [json.loads(row) for row in self.rows]


def read(content: bytes, *, step: int = 1 << 16, structured: bool = True, **dialect: Any) -> Content:
    """Read all records of content that arrives in blocks of ``step`` bytes."""
    reader = ContentReader(dialect=Dialect(**dialect), structured=structured)
    found = Content()
    batches = [batch for at in range(0, len(content), step) for batch in reader.records(content[at : at + step])]
    for batch in [*batches, *reader.last_records()]:
        assert batch.start <= found.counted + len(found.rows) + len(found.problems)
        found.columns = found.columns or batch.columns
        found.kind = batch.kind if batch.rows else found.kind
        found.rows += batch.rows
        found.problems += batch.problems
        found.counted += batch.counted
    assert reader.found is not None
    found.format = reader.found.format
    return found


def scan(plugin: Any, content: bytes, columns: list[str] | None) -> tuple[Content, list[Need]]:
    """Read by range; tell which ranges were asked for."""
    found, moved = Content(plugin.name), []
    steps = plugin.scan(len(content), columns)
    answer: bytes | None = None
    while True:
        try:
            asked = steps.send(answer)
        except StopIteration:
            return found, moved
        answer = None
        if isinstance(asked, Need):
            assert 0 <= asked.start < asked.end <= len(content)
            moved.append(asked)
            answer = content[asked.start : asked.end]
        else:
            found.columns = found.columns or asked.columns
            found.rows += asked.rows
            found.counted += asked.counted
