"""Metrics in the Prometheus text format and OpenMetrics: one record a sample line.

A record is an object of ``__name__``, the labels, ``value`` and, where there is one, ``timestamp``; all of them are
text as it stands, ``NaN`` and ``+Inf`` included. A label called like one of these three is told as
``exported_value`` and so on, which is Prometheus' own way out. Comments and blank lines are no samples.
"""

from __future__ import annotations

import json
import re

from kmnb.core.records import Batch, Dialect, Problem
from kmnb.core.shape import PathTypes
from kmnb.core.splitter import LineSplitter
from kmnb.formats._counting import LineCounter
from kmnb.formats._description import Description

# No part gives back what it took: a line of blanks, or of anything else, is judged in one go.
_SAMPLE = re.compile(
    r'(?P<name>[^\W\d][\w:.]*+)?+(?:\s*+\{(?P<labels>(?:[^"}]|"(?:[^"\\]|\\.)*+")*+)\})?+'
    r"\s++(?P<value>[-+]?[0-9.][0-9a-fA-F_.xX+-]*+|[-+]?(?:[Ii]nf|INF|Infinity)|[Nn]a[Nn]|NAN)"
    r"(?:\s++(?P<time>-?[0-9.eE+]++))?+(?:\s++#.*+)?+\s*+\Z"
)
_PAIR = re.compile(r'\s*(?:(?P<key>[^\W\d][\w.:]*|"(?:[^"\\]|\\.)*")\s*=\s*)?"(?P<text>(?:[^"\\]|\\.)*)"\s*(?:,|\Z)')
_END = re.compile(r"[ ,]*+\Z")
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
_ESCAPE = re.compile(r"\\.")
_OWN = ("__name__", "value", "timestamp")
_META = re.compile(r"# (?:HELP|TYPE|UNIT|EOF)\b")


def read_sample(line: str) -> dict[str, str] | None:
    """Read one sample line; None when it is none.

    Args:
        line: The line, without its end.
    """
    match = _SAMPLE.match(line)
    if match is None:
        return None
    labels = _labels(match["labels"] or "")
    name = match["name"] or (labels.pop("__name__", None) if labels else None)
    if labels is None or name is None:
        return None
    sample = {"__name__": name}
    for key, text in labels.items():
        sample[f"exported_{key}" if key in _OWN else key] = text
    sample["value"] = match["value"]
    if match["time"]:
        sample["timestamp"] = match["time"]
    return sample


def _labels(text: str) -> dict[str, str] | None:
    found: dict[str, str] = {}
    at = 0
    while not _END.match(text, at):
        match = _PAIR.match(text, at)
        if match is None:
            return None
        key = match["key"]
        # A name alone in quotes is the metric's name, as newer servers write names with other signs.
        found["__name__" if key is None else _plain(key)] = _ESCAPE.sub(_escape, match["text"])
        at = match.end()
    return found


def _plain(key: str) -> str:
    return _ESCAPE.sub(_escape, key[1:-1]) if key.startswith('"') else key


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match.group(), match.group())


class SampleSplitter:
    """Cut metrics into samples; a record is the JSON of one."""

    columns = None

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._row = 0

    def feed(self, block: bytes) -> Batch:
        """Take the next block and give the samples that are complete by now."""
        return self._samples(self._lines.feed(block))

    def finish(self) -> Batch:
        """Give what is left."""
        return self._samples(self._lines.finish())

    def _samples(self, lines: Batch) -> Batch:
        rows: list[bytes] = []
        problems: list[Problem] = list(lines.problems)
        start = self._row
        for number, raw in enumerate(lines.rows, lines.start + 1):
            text = (raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw).strip()
            if not text or text.startswith(b"#"):
                continue
            sample = read_sample(text.decode("utf-8", "replace"))
            if sample is None:
                problems.append(Problem(number, "no sample of the Prometheus text format"))
            else:
                rows.append(json.dumps(sample, ensure_ascii=False).encode("utf-8", "replace"))
        count = len(rows) + len(problems)
        self._row += count
        return Batch(rows, start, problems, kind="json", records=count, counted_bad=len(problems))


class SampleCounter:
    """Samples are the lines that are neither blank nor comments."""

    def __init__(self, *, indexed: bool) -> None:
        self.lines: LineCounter | None = LineCounter(indexed=indexed, comments=True)

    def feed(self, block: bytes) -> None:
        """Take the next block."""

    def finish(self) -> int:
        """Give the number of samples."""
        return self.lines.filled - self.lines.comments if self.lines else 0


class _Prometheus:
    name = "prometheus"
    kind = "json"
    media_types = ("text/plain; version=0.0.4", "application/openmetrics-text")
    suffixes = (".prom", ".om", ".metrics")
    samples = (
        b'# HELP up Is it up.\n# TYPE up gauge\nup{job="api",note="a \\"b\\", c"} 1 1700000000000\nup{job="db"} NaN\n',
        b'# TYPE t counter\nt_total{le="+Inf"} 1.5e+09 # {trace="x"} 1\n# EOF\n',
    )

    def sniff(self, head: bytes) -> float:
        """Tell how surely a text is metrics: comments of the format, or samples with labels in nearly every line."""
        lines = head[:16_384].decode("utf-8", "replace").split("\n")[:-1] or [head[:16_384].decode("utf-8", "replace")]
        lines = [line for line in lines if line.strip()][:200]
        told = sum(1 for line in lines if _META.match(line))
        body = [line for line in lines if not line.startswith("#")]
        good = [line for line in body if _SAMPLE.match(line)]
        if not lines or len(good) < 0.8 * len(body) or not (told or any("{" in line for line in good)):
            return 0.0
        return 0.95 if told else 0.8

    def split(self, dialect: Dialect) -> SampleSplitter:
        """Make a splitter into samples."""
        return SampleSplitter()

    def documents(self) -> SampleSplitter:
        """Make a splitter for queries over documents: each sample is one."""
        return SampleSplitter()

    def counter(self, head: bytes, *, indexed: bool) -> SampleCounter:
        """Make what counts samples without reading them."""
        return SampleCounter(indexed=indexed)

    def describe(self, head: bytes, *, whole: bool) -> Description:
        """Tell the metrics that come first and how many families there are in the beginning."""
        cut = len(head) if whole else head.rfind(b"\n") + 1
        splitter = self.split(Dialect())
        batches = (splitter.feed(head[:cut]), splitter.finish())
        samples = [json.loads(row) for batch in batches for row in batch.rows]
        names = list(dict.fromkeys(sample["__name__"] for sample in samples))
        labels = list(dict.fromkeys(key for sample in samples for key in sample if key not in _OWN))
        types = PathTypes()
        for sample in samples:
            types.add(sample)
        families = head[:cut].count(b"# TYPE ")
        shape = f"{families}{'' if whole else ' or more'} families · labels: {', '.join(labels[:40])}"
        return Description("samples", "__name__", names[:50], types.columns(), shape=shape)


FORMAT = _Prometheus()
