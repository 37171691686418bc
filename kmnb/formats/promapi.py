"""Answers of the Prometheus HTTP API: JSON whose list holds series with their samples.

As JSON the records are the series, and so they are counted. For columns each sample is a row: ``__name__``, the
labels, ``timestamp`` and ``value``, as in the text format; values are text as they stand, ``NaN`` included. A label
called like one of these three is told as ``exported_value`` and so on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from kmnb.core.lenient import slow_value
from kmnb.core.records import Batch, Dialect, Problem
from kmnb.core.shape import PathTypes
from kmnb.formats import json as documents
from kmnb.formats._counting import LineCounter
from kmnb.formats._description import Description
from kmnb.formats._json_describe import describe_document

_TYPE = re.compile(rb'"resultType"\s*:\s*"(?:vector|matrix)"')
_SERIES = re.compile(rb'\[\s*\{\s*"metric"\s*:\s*\{')
_OWN = ("__name__", "value", "timestamp")


def samples_of(series: Any) -> Iterator[dict[str, str]]:
    """Give the samples of one series, as text.

    Raises:
        ValueError: It is no series.
    """
    try:
        labels = {f"exported_{key}" if key in _OWN[1:] else key: str(text) for key, text in series["metric"].items()}
        for time, value in series["values"] if "values" in series else [series["value"]]:
            yield {**labels, "timestamp": _text(time), "value": _text(value)}
    except (TypeError, KeyError, AttributeError, ValueError):
        raise ValueError("no series with a metric and pairs of time and value") from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


class SeriesSplitter:
    """Cut an answer into samples; a batch counts the series."""

    columns = None

    def __init__(self, dialect: Dialect) -> None:
        self._documents = documents.FORMAT.split(dialect)
        self._row = self._series = 0

    def feed(self, block: bytes) -> Batch:
        """Take the next block and give the samples of the series that ended in it."""
        return self._samples(self._documents.feed(block).rows)

    def finish(self) -> Batch:
        """Give what is left."""
        return self._samples(self._documents.finish().rows)

    def _samples(self, series: Sequence[bytes]) -> Batch:
        rows: list[bytes] = []
        problems: list[Problem] = []
        start = self._row
        for number, raw in enumerate(series, self._series + 1):
            try:
                found = [json.dumps(sample, ensure_ascii=False).encode() for sample in samples_of(slow_value(raw))]
            except ValueError as fault:
                problems.append(Problem(number, f"series {number}: {fault}"[:200]))
            else:
                rows += found
        self._series += len(series)
        self._row += len(rows)
        return Batch(rows, start, problems, kind="json", records=len(series), counted_bad=len(problems))


_TYPED_SAMPLES = 1000
"""Samples whose fields are looked at."""


class SeriesCounter:
    """Counts series and samples."""

    def __init__(self, *, indexed: bool) -> None:
        self.lines: LineCounter | None = LineCounter(indexed=indexed, blank=None)
        self._splitter = SeriesSplitter(Dialect())
        self._series = self._samples = 0
        self._types = PathTypes()
        self._head = b""
        self.description: Description | None = None

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        if len(self._head) < 65_536:
            self._head += block[:65_536]
        self._add(self._splitter.feed(block))

    def finish(self) -> int:
        """Give the number of series."""
        self._add(self._splitter.finish())
        found = describe_document(self._head[:65_536], whole=len(self._head) < 65_536)
        self.description = Description(
            noun="series", key=found.key, firsts=found.firsts, columns=self._types.columns(), is_spaced=True,
            shape=found.shape, outcome=found.outcome, note=f"{self._samples:,} samples",
        )  # fmt: skip
        return self._series

    def _add(self, batch: Batch) -> None:
        self._series += batch.counted
        # The records are the samples: what is stored of their fields is what select takes.
        for row in batch.rows[: max(0, _TYPED_SAMPLES - self._samples)]:
            self._types.add(json.loads(row))
        self._samples += len(batch.rows)


class _PromApi:
    name = "promapi"
    kind = "json"
    media_types = ("application/json",)
    suffixes = ()
    samples = (
        b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"pod":"a"},"values":[[1,"0"],[2,"NaN"]]}'
        b"]}}",
        b'[{"metric":{"__name__":"up","job":"x"},"value":[1.5,"1"]}]',
    )

    def sniff(self, head: bytes) -> float:
        """Tell how surely JSON is an answer with samples."""
        if head.lstrip()[:1] not in (b"{", b"["):
            return 0.0
        return 0.95 if _TYPE.search(head, 0, 8192) or _SERIES.match(head.lstrip()) else 0.0

    def split(self, dialect: Dialect) -> SeriesSplitter:
        """Make a splitter into samples."""
        return SeriesSplitter(dialect)

    def walk(self, walk: Any, *, strict: bool = False) -> Any:
        """Walk the answer as the JSON document that it is."""
        return documents.FORMAT.walk(walk, strict=strict)

    def counter(self, head: bytes, *, indexed: bool) -> SeriesCounter:
        """Make what counts series and samples."""
        return SeriesCounter(indexed=indexed)


FORMAT = _PromApi()
