"""What an object says of itself is hostile until it is checked: anybody may have written its attributes."""

from __future__ import annotations

import pytest

from kmnb._bridge import run
from kmnb.core.metadata import Attribute, ObjectInfo, json_in, number_in
from kmnb.ops._line_index import left_out
from kmnb.ops.sip import run_sip
from tests.sips.driving import BytesArea


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ('{"records": 2, "sections": ["a", "b"]}', (2, ["a", "b"])),
        ("{}", (0, [])),
        ("", (0, [])),
        ("[]", (0, [])),
        ("{", (0, [])),
        ('{"records": 1e999}', (0, [])),
        ('{"records": -5}', (0, [])),
        ('{"records": "x"}', (0, [])),
        ('{"sections": 7}', (0, [])),
        ("[" * 100_000, (0, [])),
    ],
)
def test_what_is_left_out_is_read_with_care(told: str, expected: tuple[int, list[str]]) -> None:
    info = ObjectInfo("k", 1, None, None, None, {str(Attribute.LEFT_OUT): told})
    assert left_out(info) == expected


@pytest.mark.parametrize("text", [None, "", "-1", "1.5", "\u00b2", "\u0663", " 5", "9" * 5000, "x"])
def test_what_is_no_number_is_none(text: str | None) -> None:
    assert number_in(text) is None
    assert number_in("17") == 17


@pytest.mark.parametrize("text", [None, "", "{", "[" * 100_000, "x"])
def test_what_is_no_json_is_none(text: str | None) -> None:
    assert json_in(text) is None
    assert json_in("[1]") == [1]


@pytest.mark.parametrize("schema", ["[" * 100_000, "5", '{"columns":5}', '{"columns":[5]}', '{"columns":{"a":1}}'])
def test_a_stored_schema_that_is_none_is_not_believed(schema: str) -> None:
    content = b"a,b\n1,2\n"
    info = ObjectInfo("k", len(content), attributes={str(Attribute.SCHEMA): schema, str(Attribute.ROWS): "\u00b2"})
    answer = run(run_sip((BytesArea(content), info), "schema", {}))  # type: ignore[arg-type]
    assert [column["name"] for column in answer.values] == ["a", "b"]
