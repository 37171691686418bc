"""The preview widget: closed questions, bounded answers, nothing of the content in synced state."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kmnb
from kmnb import _bridge
from kmnb.errors import BadRequest
from kmnb.frontends._widget_requests import REQUESTS, answer, where_text
from kmnb.sips._where import parse_where
from tests.children import ROOT

STATIC = ROOT / "kmnb" / "frontends" / "static"
SECRET = "content that no state may hold"


@pytest.fixture
def workspace(store_url: str) -> Iterator[Any]:
    with kmnb.connect(store_url, thread="t") as workspace:
        yield workspace


@pytest.fixture
def text(workspace: Any) -> Any:
    return workspace.put("".join(f"line {n} {SECRET}\n" for n in range(1000)), tool="text")


def ask(artifact: Any, name: str, **arguments: Any) -> dict[str, Any]:
    reply = _bridge.run(answer(artifact, {"id": 7, "ask": name, "arguments": arguments}))
    assert reply["id"] == 7
    json.dumps(reply, allow_nan=False)
    return reply


def test_pages_of_lines_add_up(text):
    lines: list[str] = []
    while len(lines) < 1000:
        page = ask(text, "lines", start=len(lines), limit=90)["answer"]
        assert page["total"] == 1000
        lines += page["lines"]
    assert lines == [f"line {n} {SECRET}" for n in range(1000)]


def test_bytes_and_matches(text):
    page = ask(text, "bytes", start=5, limit=3)["answer"]
    assert base64.b64decode(page["data"]) == b"0 c"
    assert len(base64.b64decode(ask(text, "bytes", limit=10**9)["answer"]["data"])) <= 4096
    found = ask(text, "find", pattern="LINE 99 ")["answer"]
    assert found["matches"][0][0] == 99
    assert found["code"] == "art.grep('LINE 99 ', fixed=True, ignore_case=True)"


def test_the_code_of_an_answer_gives_the_same(text):
    page = ask(text, "lines", start=3, limit=2)["answer"]
    assert eval(page["code"], {"art": text}).values == page["lines"]


@pytest.mark.parametrize(
    "message",
    [
        None, 1, [], {}, {"id": 1}, {"id": "x", "ask": "lines"}, {"id": 1, "ask": "__class__", "arguments": {}},
        {"id": 1, "ask": ["lines"]}, {"id": 1, "ask": "lines", "arguments": [1]},
        {"id": 1, "ask": "lines", "arguments": {"start": -1}}, {"id": 1, "ask": "lines", "arguments": {"x": 1}},
        {"id": 1, "ask": "find", "arguments": {"pattern": {"a": 1}}},
        {"id": 1, "ask": "rows", "arguments": {"filters": [{"column": "a", "op": "; drop", "value": 1}]}},
        {"id": 1, "ask": "rows", "arguments": {"filters": "a = 1"}},
    ],
)  # fmt: skip
def test_any_other_message_is_answered_with_an_error_or_the_first_page(text, message):
    reply = _bridge.run(answer(text, message))
    assert ("error" in reply) != ("answer" in reply)
    assert len(json.dumps(reply)) < 300_000


def test_answers_are_bounded_whatever_the_content(workspace):
    wide = workspace.put(("x" * 100_000 + "\n") * 300, tool="wide")
    reply = ask(wide, "lines", limit=10**6)
    assert len(json.dumps(reply)) < 256 * 1024
    assert len(json.dumps(ask(wide, "find", pattern="x"))) < 256 * 1024


@given(st.text(min_size=1), st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_filters_keep_names_and_values_apart_from_the_language(column, value):
    for comparison in ("=", "contains"):
        condition = parse_where(where_text([{"column": column, "op": comparison, "value": value}]))
        assert condition.columns == (column,)


def test_a_filter_means_what_it_says():
    row = {"a b": "50% off", "n": "7"}.get
    assert parse_where(where_text([{"column": "a b", "op": "contains", "value": "0% O"}])).holds(row)
    assert not parse_where(where_text([{"column": "a b", "op": "contains", "value": "5_%"}])).holds(row)
    assert parse_where(where_text([{"column": "n", "op": ">", "value": "6.5"}])).holds(row)
    assert where_text([]) is None
    with pytest.raises(BadRequest):
        where_text([{"column": "n", "op": "like", "value": "x"}])


def test_state_and_bundle_hold_a_reference_and_no_content(text):
    widget = text.preview_widget()
    state = json.dumps({name: value for name, value in widget.get_state().items() if name != "layout"})
    assert SECRET not in state
    assert len(state.encode()) <= 4096
    data, _ = widget._repr_mimebundle_()
    assert list(data)[-1] == "application/vnd.jupyter.widget-view+json"
    assert text.key in data["text/plain"]
    widget.close()


def test_the_browsers_part_is_one_module_without_imports_of_others():
    from kmnb.frontends._widget_class import asset, module_source

    source = module_source()
    assert not re.search(r"^(import|export (?!function mount))", source, re.MULTILINE)
    assert source.count("export function mount") == 1
    assert len(source.encode()) + len(asset("preview.css").encode()) <= 80 * 1024


def test_the_browsers_part_makes_no_markup_of_text_and_runs_nothing():
    for path in STATIC.rglob("*.js"):
        source = path.read_text()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "http"):
            assert word not in source, (path.name, word)
    assert all(operation.params for operation, _ in REQUESTS.values())
