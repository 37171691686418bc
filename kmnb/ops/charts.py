"""Charts of what a person would rather look at than read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kmnb.core.bounds import MIB
from kmnb.core.charts import Chart, histogram, lines
from kmnb.core.display import count_text, size_text
from kmnb.errors import BadRequest, BoundExceeded
from kmnb.ops.column_facts import column_facts
from kmnb.ops.rows import RowReader

CHART_MAX_BYTES = 16 * MIB
"""Largest artifact that a chart looks at as a whole."""
OBJECTS_MAX = 20_000
"""Most artifacts that the chart of a workspace adds up."""


async def artifact_chart(artifact: Any, column: str | None) -> Chart:
    """Draw a column's values as a histogram, or a Prometheus range as lines.

    Args:
        artifact: The handle.
        column: A column with numbers; the first one when absent. A Prometheus range has no columns.

    Raises:
        BadRequest: There is nothing to draw.
        BoundExceeded: The artifact is too large to be looked at as a whole.
    """
    if (artifact.size or 0) > CHART_MAX_BYTES:
        raise BoundExceeded(
            "chart",
            f"the artifact has {size_text(artifact.size)}; at most {size_text(CHART_MAX_BYTES)} is drawn",
            "Select what matters, store it, and draw that.",
            limit="CHART_MAX_BYTES",
            value=artifact.size,
            unit="bytes",
        )
    if column is None and "json" in (artifact.media_type or "") and (found := await _prometheus(artifact)) is not None:
        return found
    page = await RowReader(artifact).page(0, artifact.rows or 100_000)
    for place, name in enumerate(page.columns):
        facts = column_facts([row[place] for row in page.rows]) if column in (None, name) else {}
        if "bins" in facts:
            title = f"{name} · {len(page.rows):,} rows of {artifact.key}"
            return histogram(title, facts["bins"], low=facts["min"], high=facts["max"])
    known = ", ".join(page.columns[:20]) or "none"
    thing = f"chart: {column[:100]!r}" if column is not None else "chart"
    raise BadRequest(thing, "there is no such column with numbers", f"Columns: {known}.")


async def _prometheus(artifact: Any) -> Chart | None:
    """Draw the answer of a Prometheus range query; None for anything else."""
    content = await artifact.read_async(0, CHART_MAX_BYTES)
    try:
        data = json.loads(content)["data"]
        if data["resultType"] != "matrix":
            return None
        metrics = [{str(name): str(value) for name, value in one["metric"].items()} for one in data["result"]]
        points = [[(float(t), float(v)) for t, v in one["values"]] for one in data["result"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    times = [time for one in points for time, _ in one]
    ends = (_moment(min(times)), _moment(max(times))) if times else ("", "")
    # What all series have in common tells none from another: it is said once.
    common = set.intersection(*(set(one.items()) for one in metrics)) if len(metrics) > 1 else set()
    common = {pair for pair in common if pair[0] != "__name__"}
    own = [_labels(dict(pair for pair in one.items() if pair not in common)) for one in metrics]
    of = f"{_labels(dict(sorted(common)))} · " if common else ""
    return lines(f"{len(metrics)} series of {of}{artifact.key}", list(zip(own, points, strict=True)), ends=ends)


def _labels(metric: Mapping[str, Any]) -> str:
    named = ",".join(f"{name}={value}" for name, value in metric.items() if name != "__name__")
    return f"{metric.get('__name__', '')}{{{named}}}"


def _moment(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


async def workspace_chart(workspace: Any, prefix: str = "") -> Chart:
    """Draw how the bytes that each agent and tool keeps in the store grew over time.

    Args:
        workspace: The workspace.
        prefix: Absolute prefix of whole segments; the workspace's crew when absent.
    """
    names = workspace.names
    found: list[tuple[float, str, int]] = []
    walk = workspace.list_async(prefix or f"{names.namespace}/{names.crew}")
    try:
        async for artifact in walk:
            made = artifact.created_at
            found.append((made.timestamp() if made else 0.0, _maker(artifact.key), artifact.size or 0))
            if len(found) == OBJECTS_MAX:
                break
    finally:
        await walk.aclose()
    series: dict[str, list[tuple[float, float]]] = {}
    for moment, maker, size in sorted(found):
        points = series.setdefault(maker, [])
        points.append((moment, size + (points[-1][1] if points else 0)))
    largest = sorted(series.items(), key=lambda pair: (-pair[1][-1][1], pair[0]))
    total = f"{count_text(len(found), 'artifacts')} · {size_text(sum(size for _, _, size in found))}"
    ends = (_moment(min(found)[0]), _moment(max(found)[0])) if found else ("", "")
    return lines(f"bytes by agent and tool over time · {total}", largest, ends=ends, stays=True)


def _maker(key: str) -> str:
    """Name agent and tool of a discussion key; other keys stand for themselves."""
    parts = key.split("/")
    return f"{parts[3]} · {parts[4].rpartition('-')[0] or parts[4]}" if len(parts) >= 5 else key
