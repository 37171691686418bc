"""Whatever the planner makes of a program, it means what it means for the whole document; and it opens no file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kmnb.core.lenient import documents, slow_value, without_lone
from kmnb.errors import ExpressionError
from tests.sips.driving import sip_bytes
from tests.sips.programs import JMESPATH, JQ
from tests.sips.querying import by_jmespath, by_libjq, outcome, query, same
from tests.sips.test_queries import DOCUMENTS, STYLES, written

SIZES = st.sampled_from([1, 7, 1000])
UNIFORM = st.fixed_dictionaries(
    {"a": st.integers(0, 3), "b": st.sampled_from(["x", "y", ""]), "c": st.lists(st.integers(0, 2), max_size=2)}
)
CONTENTS = DOCUMENTS | st.fixed_dictionaries({"items": st.lists(UNIFORM, max_size=5), "meta": UNIFORM})


@settings(max_examples=500)
@given(CONTENTS, JQ, STYLES, SIZES)
def test_any_jq_program_gives_what_libjq_gives(document: Any, program: str, style: dict[str, Any], size: int) -> None:
    content = written(document, style)
    assert same(outcome("jq", program, content, size=size), by_libjq(program, content))


@settings(max_examples=500)
@given(CONTENTS, JMESPATH, STYLES, SIZES)
def test_any_jmespath_expression_gives_what_the_library_gives(
    document: Any, expression: str, style: dict[str, Any], size: int
) -> None:
    want = by_jmespath(expression, document)
    found = outcome("jmespath", expression, written(document, style), size=size)
    # An ordering of a number and a text is an error of Python there, and null here.
    assume(want != "error" or found == "error" or not any(sign in expression for sign in "<>"))
    assert same(found, want)


@pytest.mark.parametrize(
    ("program", "content"),
    [
        (".items | (.)[0] | .a", b'{"items":[{"a":1},{"a":2}]}'),
        (".items | (.a?)[0]", b'{"items":{"a":[7]}}'),
        (".[].c[]? | .[:1]?", b'[{"c":[2,"20"]}]'),
        (".[3:1]?", b'"1"'),
        ("map(map(.) // .b.n)", b'[{"a":1,"b":{"n":1}},{"a":2,"b":{"n":2},"c":3}]'),
        ("map(.[] // .b)", b'[{"a":null,"b":2},[3]]'),
        (".meta | {$__loc__, a}", b'{"meta":{"a":1}}'),
        (".items[] | {input: .a, debug, stderr}", b'{"items":[{"a":1,"debug":2}]}'),
        ('{"k": 1, input}', b'{"input":5}'),
        ('.items[] | "a\nb" + .a', b'{"items":[{"a":"c"}]}'),
        ('.["a\tb"] | .[] | .n', b'{"a\\tb":[{"n":1}]}'),
        (".items[] | .a | tostring", b'{"items":[{"a":1.10,"b":1},{"a":1E5,"b":2},{"a":100000000000000000000.0}]}'),
        (".items | map({a, t: (.a|tojson)}) | .[0].t", b'{"items":[{"a":[1.50,2e2],"b":1}]}'),
        (".[] | .a / 3", b'[{"a":1' + b"0" * 400 + b"}]"),
        ("[.[].a] | add", b'[{"a":1' + b"0" * 400 + b'},{"a":1.5}]'),
        (".[]", b"false\n\n[]\n\n[\n {}\n]\n"),
        (".", b'{"a":1}\n[\n  {}\n]\n[]\n'),
    ],
)
def test_each_road_leads_to_the_same_answer(program: str, content: bytes) -> None:
    for size in (1, 5, 1 << 20):
        assert same(outcome("jq", program, content, size=size), by_libjq(program, content))


@pytest.mark.parametrize(
    ("expression", "document"),
    [
        ("{k: b[::-1]}", None),
        ("[(b.c)[0], a]", None),
        ("{k: b[::-1]}", [1]),
        ("([?a] | length(@)) || ([?n[?b].c] | [length(@[1].x)])", [{"a": 1}]),
        ("length(items) || sum(items[].b)", {"items": [{"b": "x"}]}),
        ("max(items[].b) || length(items)", {"items": [{"b": {}}]}),
    ],
)
def test_a_part_of_an_expression_counts_only_where_it_is_asked_for(expression: str, document: Any) -> None:
    content = json.dumps(document).encode()
    for size in (1, 1 << 20):
        assert same(outcome("jmespath", expression, content, size=size), by_jmespath(expression, document))


@pytest.mark.parametrize("name", ["there", "missing"])
def test_a_program_cannot_even_find_out_whether_a_file_exists(tmp_path: Path, name: str) -> None:
    (tmp_path / "there.json").write_text('{"secret":1}')
    (tmp_path / "there.jq").write_text("module {}; def f: 1;")
    told = set()
    for program in (
        f'import "{name}" as $x {{search:"{tmp_path}"}}; $x',
        f'# first\n  import "{name}" as x {{search:"{tmp_path}"}}; x::f',
        f'include "{name}" {{search:"{tmp_path}"}}; f',
        f'"{tmp_path}/{name}" | modulemeta',
        f'"\\("{name}" | modulemeta)"',
    ):
        with pytest.raises(ExpressionError, match=r"is not available\. Programs load no files") as caught:
            sip_bytes(b"null", "jq", {"program": program})
        told.add(str(caught.value).replace("import", "include"))
    assert len(told) == 2
    assert name not in "".join(told)


CUT_CHARACTERS = b'{"items":[{"a":"x\\ud83d","n":1},{"a":"\\\\ud83d \\uDE00","n":2},{"a":"\\ud83d\\ude00","n":3}]}'
WHOLE_CHARACTERS = ["x\ufffd", "\\ud83d \ufffd", "\U0001f600"]


@pytest.mark.parametrize(
    ("name", "arguments", "values"),
    [
        ("jq", {"program": ".items[].a"}, WHOLE_CHARACTERS),
        ("jq", {"program": '.items[] | .a | ltrimstr("")'}, WHOLE_CHARACTERS),
        ("jq", {"program": ". as $x | $x.items[].a"}, WHOLE_CHARACTERS),
        ("jq", {"program": "[.items[] | .n] | add"}, [6]),
        ("jmespath", {"expression": "items[].a"}, [WHOLE_CHARACTERS]),
        ("jmespath", {"expression": "length(items)"}, [3]),
        ("jmespath", {"expression": "@.items[1].a"}, [WHOLE_CHARACTERS[1]]),
        ("count", {}, [3]),
        ("select", {"columns": ["a"]}, [{"a": text} for text in WHOLE_CHARACTERS]),
        ("sample", {"rows": 5, "seed": 1}, None),
    ],
)
def test_halves_of_characters_are_read_as_bytes_that_are_no_text_are(
    name: str, arguments: dict[str, Any], values: list[Any] | None
) -> None:
    """JSON lets a lone surrogate stand where a text was cut; nothing could print or store it (S06, S23)."""
    lines = b"\n".join(json.dumps(one, ensure_ascii=True).encode() for one in json.loads(CUT_CHARACTERS)["items"])
    assert sip_bytes(lines, "count", {}).values == [3]
    answer = sip_bytes(CUT_CHARACTERS, name, arguments)
    assert answer.complete
    assert answer.skipped == 0
    assert answer.text.encode()
    if values is not None:
        assert answer.values == values


def test_rows_with_halves_of_characters_are_rows() -> None:
    content = b'{"a":"\\ud800"}\n{"a":"b"}\n{"\\udfff":1}\n'
    assert query("jq", ".a", content).values == ["\ufffd", "b", None]
    assert query("jq", "keys", content).values == [["a"], ["a"], ["\ufffd"]]
    assert query("jq", "keys", content[:15]).values == [["a"]]
    assert query("jq", ".", content).skipped == 0


@given(st.text(st.sampled_from(list('\\ud83def0AD"n')), max_size=30))
def test_only_lone_surrogates_are_replaced(text: str) -> None:
    raw = f'"{text}"'.encode()
    try:
        value = json.loads(raw)
    except ValueError:
        return
    assert len(without_lone(raw)) == len(raw)
    assert slow_value(raw) == "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in value)
    assert list(documents(raw + b" " + raw)) == [slow_value(raw)] * 2


KEYS = ["é", "日本", "a b", "a.b", "", "[0]", '"', "\n", "\\", "$x", "\u2028", "\U0001f600", "app.k8s.io/name", "a"]


@pytest.mark.parametrize("is_escaped", [True, False])
@pytest.mark.parametrize("key", KEYS)
def test_any_key_is_found_on_every_road(key: str, is_escaped: bool) -> None:
    records = [{key: {key: number}, "other": [1]} for number in range(3)]
    content = json.dumps({key: {"items": records}, "items": records}, ensure_ascii=is_escaped).encode()
    name = json.dumps(key, ensure_ascii=False)
    for program in (
        f".items[] | .[{name}]",
        f".items[].{name}.{name}",
        f".items | map(.{name} | keys)",
        f"[.items[] | .{name}[{name}]] | add",
        f".items | group_by(.{name}.{name}) | map(length)",
        f".{name}.items | length",
        f".items[] | .{name} as $x | $x[{name}] + 1",
        f".items[] | select(.{name}.{name} == 1) | .other",
    ):
        assert same(query("jq", program, content).values, by_libjq(program, content))
    for expression in (
        f"items[].{name}.{name}",
        f"items[?{name}.{name} > `0`].other",
        f"max_by(items, &{name}.{name})",
    ):
        assert same(query("jmespath", expression, content).values, by_jmespath(expression, json.loads(content)))
