"""Values that JSON does not know have one meaning, whoever reads them, and every answer can be parsed strictly."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kmnb.errors import BadRequest
from kmnb.formats._inspect import inspect
from tests.sips.driving import Cut, sip_bytes

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("jq", {"program": "."}),
    ("jq", {"program": ".[] | .v"}),
    ("jq", {"program": "(.[0] | tojson) as $x | ."}),
    ("jmespath", {"expression": "@"}),
    ("jmespath", {"expression": "[*].v"}),
    ("select", {"columns": ["*"]}),
    ("stats", {"columns": ["v"]}),
    ("schema", {}),
    ("sample", {}),
    ("outline", {}),
    ("count", {}),
]


@pytest.mark.parametrize("size", [1, 1 << 16])
@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize(("name", "arguments"), ASKED)
def test_a_document_with_such_a_value_is_refused_by_all(
    name: str, arguments: dict[str, Any], word: str, size: int
) -> None:
    content = f'[{{"v": 1}}, {{"v": {word}}}]'.encode()
    with pytest.raises(BadRequest, match="not JSON"):
        sip_bytes(content, name, arguments, cut=Cut(size))
    assert inspect(content).preview


@pytest.mark.parametrize("size", [1, 1 << 16])
@pytest.mark.parametrize(
    ("name", "arguments", "values"),
    [
        ("jq", {"program": ".v"}, [1, "1e999", "NaN"]),
        ("jq", {"program": "(.v | tojson) as $x | .v"}, [1, "1E+999", "NaN"]),
        ("jmespath", {"expression": "v"}, [1, "1e999", "NaN"]),
        ("select", {"columns": ["v"]}, [{"v": 1}, {"v": "1e999"}, {"v": "NaN"}]),
        ("count", {}, [3]),
    ],
)
def test_a_line_with_one_is_left_out_and_counted_by_all(
    name: str, arguments: dict[str, Any], values: list[Any], size: int
) -> None:
    content = b'{"v": 1}\n{"v": NaN}\n{"v": 1e999}\n{"v": -Infinity}\n{"v": "NaN"}\n'
    answer = sip_bytes(content, name, arguments, cut=Cut(size))
    assert answer.values == values
    assert answer.skipped == 2
    assert inspect(content).rows == 3
    if name in ("jq", "jmespath"):
        assert [json.loads(line) for line in answer.text.splitlines()] == values


def test_words_inside_of_texts_are_let_alone() -> None:
    assert sip_bytes(b'{"a": "NaN, -Infinity"}', "jq", {"program": "."}).values == [{"a": "NaN, -Infinity"}]


def test_samples_of_prometheus_stay_text() -> None:
    content = b'# TYPE m gauge\nm{a="1"} NaN\nm{a="2"} +Inf\n'
    rows = sip_bytes(content, "select", {"columns": ["value"]}).values
    assert rows == [{"value": "NaN"}, {"value": "+Inf"}]
