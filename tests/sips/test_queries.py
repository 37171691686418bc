"""jq and JMESPath mean what their libraries mean, record by record or whole, however the bytes are cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmnb.core.walks import Walk
from kmnb.errors import BadRequest, BoundExceeded, ExpressionError, KmnbError
from kmnb.formats._walker import DocumentWalker
from kmnb.sips._jq_plan import plan_program
from kmnb.sips._json_values import decoder
from tests.sips.driving import sip_bytes
from tests.sips.querying import (
    JMESPATH_EXPRESSIONS,
    JQ_PROGRAMS,
    by_jmespath,
    by_libjq,
    outcome,
    query,
    same,
)

SCALARS = st.sampled_from([None, True, False, 0, 1, 2, -3, 2.5, "", "x", 'é"\\', "},{", "[1]", 10**12])
RECORDS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d", "nested"]),
    st.recursive(
        SCALARS,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["d", "deep", "v"]), inner, max_size=3)
        ),
        max_leaves=5,
    ),
    max_size=4,
)
DOCUMENTS = st.one_of(
    st.fixed_dictionaries(
        {"items": st.lists(RECORDS | SCALARS, max_size=8)},
        optional={"meta": RECORDS, "missing": st.lists(SCALARS, max_size=2)},
    ),
    st.fixed_dictionaries({"items": RECORDS | SCALARS}),
    st.lists(RECORDS, max_size=5),
    RECORDS,
    SCALARS,
)
STYLES = st.sampled_from([{"separators": (",", ":")}, {}, {"indent": 2}, {"ensure_ascii": False}])


def written(document: Any, style: dict[str, Any]) -> bytes:
    return json.dumps(document, **style).encode()


@settings(max_examples=400)
@given(DOCUMENTS, st.sampled_from(JQ_PROGRAMS), STYLES, st.sampled_from([1, 3, 17, 1000]))
def test_jq_gives_what_libjq_gives(document: Any, program: str, style: dict[str, Any], size: int) -> None:
    content = written(document, style)
    assert same(outcome("jq", program, content, size=size), by_libjq(program, content))


@settings(max_examples=400)
@given(DOCUMENTS, st.sampled_from(JMESPATH_EXPRESSIONS), STYLES, st.sampled_from([1, 3, 17, 1000]))
def test_jmespath_gives_what_the_library_gives(
    document: Any, expression: str, style: dict[str, Any], size: int
) -> None:
    want = by_jmespath(expression, document)
    found = outcome("jmespath", expression, written(document, style), size=size)
    if want == "error" and found != "error":
        # The library raises TypeError for an ordering of a number and a text; the specification says null.
        assert any(sign in expression for sign in "<>")
        return
    assert same(found, want)


@given(st.lists(RECORDS, max_size=40), STYLES, st.integers(1, 200))
def test_the_walker_gives_every_element_once(records: list[Any], style: dict[str, Any], size: int) -> None:
    content = written({"before": records[:2], "items": records, "after": {"items": 1}}, style)
    walker = DocumentWalker(Walk(decoder(None), records=("items",)))
    found: list[Any] = []
    for start in range(0, len(content), size):
        for event in walker.feed(content[start : start + size]):
            found += getattr(event, "rows", [])
    for event in walker.finish():
        found += getattr(event, "rows", [])
    assert [json.loads(text) for text in found] == records


@given(DOCUMENTS, st.data(), st.sampled_from([1, 7, 1000]))
def test_broken_json_is_never_taken_for_json(document: Any, data: st.DataObject, size: int) -> None:
    content = written(document, {})
    place = data.draw(st.integers(0, max(0, len(content) - 1)))
    broken = data.draw(st.sampled_from([content[:place], content[:place] + b"\x01" + content[place:], content + b"]"]))
    try:
        json.loads(broken)
    except ValueError:
        if not broken.strip():
            return
        with pytest.raises(KmnbError):
            query("jmespath", "@", broken, size=size)


def test_integers_keep_their_digits_everywhere() -> None:
    """S11: above 2^53, also where a row has null."""
    content = b'{"items":[{"id":9007199254740993,"u":18446744073709551615},{"id":null,"s":"00010"}]}'
    for name, program in (
        ("jq", ".items[].id"),
        ("jq", ".items[] | select(.u) | .id"),
        ("jq", "[.items[].id] | add"),
        ("jq", "[.items[].id] | max"),
        ("jq", ".items[] | .id as $i | $i"),
        ("jmespath", "items[0].id"),
        ("jmespath", "sum(items[?id].id)"),
    ):
        assert query(name, program, content).values[0] in (9007199254740993, [9007199254740993])
    assert query("jq", ".items[0].u", content).text == "18446744073709551615\n"
    assert query("jq", ".items[1].s", content).values == ["00010"]


def test_values_that_count_as_nothing_are_shown() -> None:
    """S17: zero, false and what is empty are answers."""
    content = b'{"a":0,"b":false,"c":"","d":[],"e":{},"f":null}'
    for name, prefix in (("jq", "."), ("jmespath", "")):
        texts = [query(name, f"{prefix}{key}", content).text for key in "abcdefg"]
        assert texts == ["0\n", "false\n", '""\n', "[]\n", "{}\n", "null\n", "null\n"]
    assert query("jmespath", "length(d)", content).values == [0]


def test_an_ordering_of_mixed_types_leaves_rows_out() -> None:
    """S16: a filter never raises; functions say which element is at fault."""
    content = b'[{"id":1},{"id":"2"},{"id":null},{}]'
    assert query("jmespath", "[?id > `0`]", content).values == [[{"id": 1}]]
    assert query("jmespath", "[?id < '3']", content).values == [[{"id": "2"}]]
    for expression in ("sort_by(@, &id)", "max_by(@, &id).id", "min_by([*], &id)"):
        with pytest.raises(ExpressionError, match=r"_by\(\): element 1 has string where number is needed"):
            query("jmespath", expression, content)


def test_numbers_that_json_lacks_never_come_out() -> None:
    """S15: the answer parses with a strict parser."""
    content = b'{"items":[{"v":1e308},{"v":1e308}]}'
    for name, program in (("jq", "[.items[].v]|add"), ("jmespath", "sum(items[].v)"), ("jq", ".items[].v * 10")):
        text = query(name, program, content).text
        for line in text.splitlines():
            assert json.loads(line, parse_constant=lambda word: pytest.fail(word)) is not None
    for bad in (b"[NaN]", b"[-Infinity]", b"[1,NaN]"):
        with pytest.raises(BadRequest):
            query("jmespath", "@", bad)
    assert query("jmespath", "[0]", b"[1e400]").values == ["1e400"]


def test_mixed_lines_are_left_out_and_counted() -> None:
    content = b'{"a":1}\nnot JSON\n\n{"a":3}\n{"a":'
    for name, program in (("jq", ".a"), ("jmespath", "a")):
        answer = query(name, program, content)
        assert answer.values == [1, 3]
        assert answer.skipped == 2
        assert [problem.line for problem in answer.problems] == [2, 5]
        with pytest.raises(BadRequest, match="line 2"):
            sip_bytes(content, name, {("program" if name == "jq" else "expression"): program, "strict": True})


def test_a_separator_inside_a_string_ends_no_row() -> None:
    content = '{"a":"x\u2028y"}\n{"a":"z\u0085"}\n'.encode()
    assert query("jq", ".a", content).values == ["x\u2028y", "z\u0085"]


@pytest.mark.parametrize("content", [b'{"a":1}{"a":2}', b'{"a":1}\n\n{\n"a":2}\n', b'\xef\xbb\xbf{"a":1} {"a":2}'])
def test_documents_one_after_the_other_are_all_seen(content: bytes) -> None:
    for size in (1, 5, 100):
        assert query("jq", ".a", content, size=size).values == [1, 2]
        assert query("jmespath", "a", content, size=size).values == [1, 2]


def test_a_list_over_the_cap_is_cut_between_elements_and_goes_on() -> None:
    content = json.dumps({"items": [{"n": f"name-{number}"} for number in range(500)]}).encode()
    found: list[str] = []
    cursor = None
    for _ in range(100):
        answer = query("jmespath", "items[].n", content, max_bytes=600, cursor=cursor)
        assert len(answer.text.encode()) <= 600
        found += answer.values[0]
        if (cursor := answer.cursor) is None:
            break
        assert not answer.complete
    assert found == [f"name-{number}" for number in range(500)]
    with pytest.raises(BoundExceeded):
        query("jmespath", "{all: items}", content, max_bytes=600)


def test_outputs_over_the_cap_go_on_by_cursor() -> None:
    content = json.dumps([{"n": number} for number in range(300)]).encode()
    found: list[int] = []
    cursor = None
    for _ in range(100):
        answer = query("jq", ".[].n", content, max_bytes=100, cursor=cursor)
        found += answer.values
        if (cursor := answer.cursor) is None:
            break
    assert found == list(range(300))


@pytest.mark.parametrize(
    ("program", "kind", "fold"),
    [
        (".items[] | .a", "records", "emit"),
        (".items | map(.a) | length", "records", "count"),
        ("[.items[].a] | add", "records", "add"),
        (".items | group_by(.a) | map(length)", "records", "collect"),
        (".items[3].a", "records", "nth"),
        ("first(.items[])", "records", "emit"),
        (".metadata.name", "value", "emit"),
        ("keys", "keys", "emit"),
        (".items[] as $x | $x", "whole", "emit"),
        ("{a: .items}", "whole", "emit"),
    ],
)
def test_a_program_is_run_in_the_way_that_reads_least(program: str, kind: str, fold: str) -> None:
    plan = plan_program(program)
    assert (plan.kind, plan.fold) == (kind, fold)


def test_the_first_records_are_found_without_reading_the_rest() -> None:
    content = b'{"items":[' + b",".join(b'{"n":%d}' % number for number in range(2_000_000)) + b"]}"
    for name, key, program in (("jq", "program", "first(.items[])"), ("jmespath", "expression", "items[:2].n")):
        answer = sip_bytes(content, name, {key: program})
        assert answer.values in ([{"n": 0}], [[0, 1]])
        assert answer.fetched_bytes <= 2 << 20
