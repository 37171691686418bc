"""Charts of real artifacts: columns, Prometheus ranges, and who keeps how much."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import kmnb
from kmnb import _bridge
from kmnb.errors import BadRequest, BoundExceeded
from kmnb.ops import charts
from tests.children import ROOT


@pytest.fixture(scope="module")
def workspace() -> Iterator[Any]:
    with kmnb.connect("memory://", thread="t", agent="a") as workspace:
        yield workspace


def test_a_column_is_drawn_as_a_histogram(workspace):
    table = workspace.put("name,n\n" + "".join(f"x,{n}\n" for n in range(100)), tool="csv", media_type="text/csv")
    for chart in (table.chart(), table.chart("n")):
        assert chart.card.title.startswith("n · 100 rows")
        assert sum(row["count"] for row in chart.data) == 100
    with pytest.raises(BadRequest, match="Columns: name, n"):
        table.chart("name")


def test_a_prometheus_range_is_drawn_as_lines(workspace):
    answer = {
        "status": "success",
        "data": {
            "resultType": "matrix",
            "result": [
                {
                    "metric": {"__name__": "up", "job": "<a>", "zone": "z"},
                    "values": [[1_700_000_000, "1"], [1_700_000_060, "NaN"]],
                },
                {
                    "metric": {"__name__": "up", "job": "b", "zone": "z"},
                    "values": [[1_700_000_000, "0"], [1_700_000_060, "2.5"]],
                },
            ],
        },
    }
    chart = workspace.put(answer, tool="prom").chart()
    assert [row[0] for row in chart.card.rows] == ["up{job=<a>}", "up{job=b}"]
    assert chart.card.title.startswith("2 series of {zone=z} · ")
    assert "<a>" not in chart._repr_mimebundle_()["text/html"]


def test_a_real_range_of_the_corpus_is_drawn(workspace):
    found = [path for path in (ROOT / "tests/corpus").rglob("*.json") if b'"matrix"' in path.read_bytes()[:2000]]
    for path in found:
        assert workspace.put(path, tool="prom", media_type="application/json").chart().card.rows
    assert found


def test_a_workspace_is_drawn_by_agent_and_tool(workspace):
    chart = _bridge.run(charts.workspace_chart(workspace))
    assert "a · csv" in [row[0] for row in chart.card.rows]


def test_what_is_too_large_is_not_drawn(workspace, monkeypatch):
    table = workspace.put("n\n1\n2\n", tool="big", media_type="text/csv")
    monkeypatch.setattr(charts, "CHART_MAX_BYTES", 2)
    with pytest.raises(BoundExceeded, match="at most 2 bytes is drawn"):
        table.chart()
