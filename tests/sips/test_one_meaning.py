"""One content has one meaning, whichever sip reads it; what cannot be read is told in the same words by all."""

from __future__ import annotations

from typing import Any

import pytest

from kmnb.errors import BadRequest, BoundExceeded, ExpressionError
from tests.sips.driving import sip_bytes

ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("jq", {"program": "."}),
    ("jq", {"program": ".items[] | .a"}),
    ("jq", {"program": ". as $x | $x | length"}),
    ("jmespath", {"expression": "@"}),
    ("jmespath", {"expression": "items[].a"}),
    ("select", {"columns": ["a"]}),
    ("stats", {}),
    ("schema", {}),
    ("sample", {}),
    ("outline", {}),
    ("count", {}),
)
JSON = "application/json"


@pytest.mark.parametrize(
    "content",
    [
        b'{"items":[{"a":+1}]}',
        b'{"items":[{"a":01}]}',
        b'{"items":[{"a":1},]}',
        b'{"items":[/* */{"a":1}]}',
        b'{"a":nan}',
        b"{'a':1}",
        b'{"a":1,}',
        b'{"a":.5}',
        b'{"items":[{"a":"x\ty"}]}',
        b'{"items":[{"a":"\\q"}]}',
        b'{"items":[{"a":1}',
        b'{"items":[{"a":1}],"b":[1}',
    ],
)
@pytest.mark.parametrize(("name", "arguments"), ASKED)
def test_what_is_nearly_json_is_refused_by_all(name: str, arguments: dict[str, Any], content: bytes) -> None:
    with pytest.raises(BadRequest, match=r"the content: is not JSON: .* at byte \d+\. Look at it with lines or grep"):
        sip_bytes(content, name, arguments, media_type=JSON)


@pytest.mark.parametrize(("name", "arguments"), ASKED)
def test_what_is_too_deep_is_not_called_broken(name: str, arguments: dict[str, Any]) -> None:
    content = b'{"items":[{"a":' + b"[" * 20_000 + b"]" * 20_000 + b"}]}"
    with pytest.raises((BadRequest, BoundExceeded), match=r"nested too deeply to be read.*lines") as caught:
        sip_bytes(content, name, arguments)
    assert "not JSON" not in str(caught.value)


def test_an_output_that_is_too_deep_says_so() -> None:
    content = b'{"a":' + b"[" * 3000 + b"]" * 3000 + b"}"
    assert sip_bytes(content, "jq", {"program": ". as $x | $x | length"}).values == [1]
    with pytest.raises(BoundExceeded, match="one output: is nested too deeply"):
        sip_bytes(content, "jq", {"program": ". as $x | $x"})


def test_a_program_that_is_too_deep_says_so() -> None:
    with pytest.raises(BoundExceeded, match="is nested too deeply"):
        sip_bytes(b"1", "jq", {"program": '"\\(' * 2000})


@pytest.mark.parametrize("digits", [4300, 4301, 20_000])
def test_an_integer_with_more_digits_than_python_reads_is_their_text(digits: int) -> None:
    text = "7" * digits
    content = f'{{"items":[{{"a":{text}}},{{"a":-{text}}}]}}'.encode()
    want: list[Any] = [text, f"-{text}"] if digits > 4300 else [int(text), -int(text)]
    for name, arguments, values in (
        ("jq", {"program": ".items[] | .a"}, want),
        ("jq", {"program": ". as $x | $x.items[].a"}, want),
        ("jmespath", {"expression": "items[].a"}, [want]),
        ("jmespath", {"expression": "[@][0].items[].a"}, [want]),
        ("select", {"columns": ["a"]}, [{"a": value} for value in want]),
        ("count", {}, [2]),
    ):
        assert sip_bytes(content, name, arguments).values == values


def test_a_product_with_too_many_digits_is_left_to_libjq() -> None:
    content = b'[{"a":' + b"9" * 4000 + b"}]"
    assert len(sip_bytes(content, "jq", {"program": ".[] | .a * .a"}).values) == 1


ROWS = b'{"a":1}\n{"a":\n\n{"a":3}\nnope\n{"a":4}\n'


@pytest.mark.parametrize(
    ("name", "arguments"), [("jq", {"program": "."}), ("jmespath", {"expression": "@"}), *ASKED[5:]]
)
def test_rows_are_rows_also_where_they_are_called_a_document(name: str, arguments: dict[str, Any]) -> None:
    """S09: bad lines are counted and told by every sip, and refused with strict."""
    answer = sip_bytes(ROWS, name, arguments, media_type=JSON)
    if name != "count":
        assert answer.skipped == 2
        assert [problem.line for problem in answer.problems] == [2, 5]
        assert all(problem.reason.startswith("not JSON: ") for problem in answer.problems)
        with pytest.raises(BadRequest, match="line 2"):
            sip_bytes(ROWS, name, {**arguments, "strict": True}, media_type=JSON)
    else:
        assert answer.values == [3]


SECTIONS = b'[pods]\nNAME   AGE\nx      3d\n[list]\n{"items":[{"a":1},{"a":2}]}\n[rows]\n{"a":5}\n{"a":6}\n{"a":7}\n'


@pytest.mark.parametrize(
    ("section", "count", "paths"), [("pods", 1, [".NAME", ".AGE"]), ("list", 2, [".a"]), ("rows", 3, [".a"])]
)
def test_each_section_is_read_as_what_it_is(section: str, count: int, paths: list[str]) -> None:
    given = {"section": section}
    assert sip_bytes(SECTIONS, "count", given).values == [count]
    outline = sip_bytes(SECTIONS, "outline", given)
    assert [value["path"] for value in outline.values] == paths
    assert not any("section" in note for note in outline.notes)
    if section != "pods":
        assert sip_bytes(SECTIONS, "select", {"columns": ["a"], **given}).shown == count
        assert sip_bytes(SECTIONS, "jq", {"program": ".items[]?, .a?", **given}).shown


@pytest.mark.parametrize(("name", "arguments"), ASKED[:-1])
def test_sections_that_were_left_out_are_told(name: str, arguments: dict[str, Any]) -> None:
    content = b'[one]\n{"items":[{"a":1}]}\n[two]\n{"items":[{"a":2}]}\n'
    note = "only the first section, one, was read; section= names another, such as two"
    assert note in sip_bytes(content, name, arguments).notes
    assert note not in sip_bytes(content, name, {**arguments, "section": "one"}).notes
    assert note not in sip_bytes(content[: content.index(b"[two]")], name, arguments).notes


def test_paths_of_an_outline_are_those_of_jq() -> None:
    """Two paths never look alike, a line is a path, and jq reads each of them."""
    content = b'[{"a.b":1,"a":{"b":2},"":3,"[0]":4,"c\\nd":5,"app/x-y":{"\\u00e9":[{"\\"":6}]}}]'
    answer = sip_bytes(content, "outline", {})
    paths = [value["path"] for value in answer.values]
    assert len(set(paths)) == len(paths) == len(answer.text.splitlines())
    found = [sip_bytes(content, "jq", {"program": f".[] | {path}"}).values[0] for path in paths if path != "."]
    assert [value for value in found if isinstance(value, int)] == [1, 2, 3, 4, 5, 6]


def test_what_a_program_stumbles_over_is_told_with_the_way_on() -> None:
    for program in (".items[]", ".a.b", '.[0]["x"]'):
        with pytest.raises(ExpressionError, match=r"Cannot .*A \? behind the step passes over such values"):
            sip_bytes(b'{"a":1}', "jq", {"program": program})


def test_names_of_columns_in_an_error_stay_on_its_line() -> None:
    with pytest.raises(BadRequest) as caught:
        sip_bytes(b'[{"a\\nb":1,"\\u001b[31m":2}]', "select", {"columns": ["ab"]})
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
