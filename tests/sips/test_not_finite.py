"""Values that JSON does not know have one meaning, whoever reads them, and every answer can be parsed strictly."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kmnb.core.finite import named
from kmnb.formats._inspect import inspect
from kmnb.ops.frames import answer_columns, frame_of
from tests.sips.driving import Cut, sip_bytes

VALUES = ["NaN", "-Infinity", "Infinity", "1e999", 1.5, None, "NaN, [Infinity] in a text \\"]
ROWS = [{"v": value, "n": number} for number, value in enumerate(VALUES)]


def written(value: Any) -> str:
    """Write a row as Python does, the words bare."""
    bare = {"NaN", "-Infinity", "Infinity", "1e999"}
    text = value["v"] if value["v"] in bare else json.dumps(value["v"])
    return f'{{"v": {text}, "n": {value["n"]}}}'


LIST = ('{"items": [' + ", ".join(map(written, ROWS)) + "]}").encode()
LINES = "".join(written(row) + "\n" for row in ROWS).encode()
CONTENTS = {"list": LIST, "lines": LINES}


def strict(text: str) -> list[Any]:
    """Read the lines of an answer, with nothing that JSON does not know."""

    def refuse(word: str) -> Any:
        raise AssertionError(word)

    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("jq", {"list": ".items[]", "lines": "."}),
        ("jq", {"list": ". | .items | .[]", "lines": "select(true)"}),
        ("jq", {"list": "[.items[] | (.n | tojson) as $x | .][]", "lines": "(.n | tojson) as $x | ."}),
        ("jmespath", {"list": "items[*]", "lines": "@"}),
        ("jmespath", {"list": "items", "lines": "{v: v, n: n}"}),
        ("select", {"list": "*", "lines": "*"}),
        ("sample", {"list": None, "lines": None}),
    ],
)
def test_all_that_read_json_give_the_same_values(name: str, arguments: dict[str, Any], kind: str, size: int) -> None:
    key = {"jq": "program", "jmespath": "expression", "select": "columns"}.get(name)
    asked = {key: [arguments[kind]] if name == "select" else arguments[kind]} if key else {}
    answer = sip_bytes(CONTENTS[kind], name, asked, cut=Cut(size))
    values = answer.values[0] if name == "jmespath" and kind == "list" else answer.values
    # libjq writes the exponent in its own way.
    assert [{**row, "v": "1e999"} if row["v"] == "1E+999" else row for row in values] == ROWS
    assert answer.skipped == 0
    if name in ("jq", "jmespath"):
        assert strict(answer.text) == answer.values
    # A frame keeps texts and gaps apart.
    frame = frame_of(answer_columns(answer))
    assert frame["v"].tolist()[:3] == VALUES[:3]
    assert frame["v"].isna().tolist() == [value is None for value in VALUES]


@pytest.mark.parametrize("kind", CONTENTS)
def test_they_are_counted_and_left_out_of_sums(kind: str) -> None:
    content = CONTENTS[kind]
    told = sip_bytes(content, "stats", {"columns": ["v"]})
    (facts,) = told.values
    assert (facts["not_finite"], facts["nulls"], facts["count"] + facts["not_finite"]) == (3, 1, 6)
    assert strict(json.dumps(told.values))
    assert sip_bytes(content, "count", {}).values == [len(ROWS)]
    assert inspect(content).rows == len(ROWS)
    assert [column["name"] for column in sip_bytes(content, "schema", {}).values] == ["v", "n"]
    assert {"path": ".v", "count": 7, "types": {"string": 5, "number": 1, "null": 1}} in sip_bytes(
        content, "outline", {}
    ).values


def test_a_document_that_is_such_a_value_or_a_list_of_them_is_json() -> None:
    assert sip_bytes(b"[NaN, -Infinity]", "jq", {"program": "."}).values == [["NaN", "-Infinity"]]
    assert sip_bytes(b"[NaN, -Infinity]", "count", {}).values == [2]
    assert sip_bytes(b"NaN", "jq", {"program": "."}).values == ["NaN"]
    assert sip_bytes(b'{"a": NaN}', "jmespath", {"expression": "a"}).values == ["NaN"]
    assert sip_bytes(b'{"a": -Infinity}', "jq", {"program": ".a"}).values == ["-Infinity"]


def test_words_inside_of_texts_are_let_alone() -> None:
    text = b'{"NaN": "NaN", "a": "\\"Infinity", "b": [NaN,-Infinity], "c": "\\\\", "d": NaN, "open NaN'
    assert named(text) == (
        b'{"NaN": "NaN", "a": "\\"Infinity", "b": ["NaN","-Infinity"], "c": "\\\\", "d": "NaN", "open NaN'
    )
    assert named(b'{"a": 1}') is None


def test_samples_of_prometheus_stay_text() -> None:
    content = b'# TYPE m gauge\nm{a="1"} NaN\nm{a="2"} +Inf\n'
    rows = sip_bytes(content, "select", {"columns": ["value"]}).values
    assert rows == [{"value": "NaN"}, {"value": "+Inf"}]
