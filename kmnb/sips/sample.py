"""sample: some records chosen at random, the same ones for the same seed."""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Mapping
from typing import Any

from kmnb.core.describe import Example, Operation, Param
from kmnb.core.records import Batch
from kmnb.core.shape import text_of
from kmnb.core.slice import Slice
from kmnb.sips._delimited import record_line
from kmnb.sips._json_values import one_decoder
from kmnb.sips._rows import RECORD_PARAMS, Problems

ROWS_MAX = 1000
"""Most records of a sample."""


class SampleRun:
    """A sample under way. Each record draws a number from seed and place; those with the smallest stay.

    So the choice does not depend on how the content arrives.

    Args:
        arguments: Checked arguments of the sip.
        max_bytes: Cap of the answer's text in bytes.
    """

    full = done = False

    def __init__(self, arguments: Mapping[str, Any], *, max_bytes: int) -> None:
        self._most = min(int(arguments["rows"]), ROWS_MAX)
        self._random = random.Random(str(arguments["seed"]))  # noqa: S311 - a choice that anybody can repeat
        self._cap = max_bytes
        self._problems = Problems(strict=bool(arguments.get("strict")))
        self._kept: list[tuple[float, int, Any]] = []
        self._columns: tuple[str, ...] | None = None
        self._kind = "text"
        self._total = 0

    def feed(self, item: Any) -> None:
        """Take the next batch of records."""
        batch: Batch = item
        self._problems.add(batch.problems)
        self._columns = batch.columns or self._columns
        if batch.rows:
            self._kind = batch.kind
        draw, first = self._random.random, self._total
        self._total += len(batch.rows)
        for at, ticket in enumerate([-draw() for _ in range(len(batch.rows))]):
            # Of a row that is not chosen nothing is looked at.
            if len(self._kept) < self._most:
                heapq.heappush(self._kept, (ticket, first + at, self._light(batch.rows[at])))
            elif self._most and ticket > self._kept[0][0]:
                heapq.heapreplace(self._kept, (ticket, first + at, self._light(batch.rows[at])))

    def _light(self, row: Any) -> Any:
        """Do not hold more of a record than the answer could show."""
        return row if not isinstance(row, bytes) or len(row) <= self._cap else row[: self._cap + 1]

    def end(self) -> None:
        """Hear that the content ended."""

    def finish(self) -> Slice:
        """Give the records in the order of the source."""
        values: list[Any] = []
        pieces = [record_line(self._columns)] if self._columns else []
        header = spent = sum(len(piece.encode("utf-8", "replace")) for piece in pieces)
        chosen = sorted(self._kept, key=lambda kept: kept[1])
        for _, _, row in chosen:
            value, line = self._told(row)
            spent += len(line.encode("utf-8", "replace"))
            if spent > self._cap:
                break
            values.append(value)
            pieces.append(line)
        return Slice(
            values=values,
            text="".join(pieces) if values else "",
            complete=len(values) == len(chosen),
            shown=len(values),
            total=self._total,
            skipped=self._problems.count,
            problems=tuple(self._problems.first),
            notes=()
            if len(values) == len(chosen)
            else (f"{len(chosen)} records were chosen; {len(values)} fit the cap",),
            columns=tuple(dict.fromkeys(self._columns)) if self._columns and header <= self._cap else None,
        )

    def _told(self, row: Any) -> tuple[Any, str]:
        if self._kind == "table" and self._columns is not None:
            return dict(zip(self._columns, row, strict=True)), record_line(row)
        if self._kind == "json":
            try:
                value = one_decoder(None)(row)
            except (ValueError, RecursionError):
                value = row.decode("utf-8", "replace")
            return value, json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
        text = text_of(row.decode("utf-8", "replace"))
        return text, f"{text}\n"


class SampleSip:
    """The plug-in."""

    feeds = "records"
    operation = Operation(
        "sample",
        "Show some records chosen at random; the same seed chooses the same ones.",
        (
            Param("rows", "integer", f"How many, at most {ROWS_MAX}.", 20, positional=True, minimum=0, below="default"),
            Param("seed", "integer", "What the choice depends on.", 0),
            *RECORD_PARAMS,
        ),
        (
            Example(b"a,b\n1,x\n2,y\n", {"rows": 5}, ({"a": "1", "b": "x"}, {"a": "2", "b": "y"}), "a,b\n1,x\n2,y\n"),
            Example(b'{"a":1}\n{"a":2}\n', {"rows": 5}, ({"a": 1}, {"a": 2}), '{"a":1}\n{"a":2}\n'),
        ),
    )

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> SampleRun:
        """Begin."""
        return SampleRun(arguments, max_bytes=max_bytes)


SIP = SampleSip()
