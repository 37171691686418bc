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
from kmnb.core.jsonable import jsonable
from kmnb.errors import BadRequest
from kmnb.frontends._widget_code import duckdb_code
from kmnb.frontends._widget_filters import order_of, sql_text, where_text
from kmnb.frontends._widget_requests import QUESTIONS, Questions
from kmnb.ops.column_facts import column_facts
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
    reply = _bridge.run(Questions(artifact).answer({"id": 7, "ask": name, "arguments": arguments}))
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


@pytest.fixture
def table(workspace: Any) -> Any:
    rows = "".join(f"{n},name-{n % 7},{n * 0.5},{'' if n % 4 else 'x'}\n" for n in range(5000))
    return workspace.put(f"id,name,half,maybe\n{rows}", tool="csv", media_type="text/csv")


def test_rows_are_paged_filtered_and_put_in_order(table):
    page = ask(table, "rows", start=4990, limit=20)["answer"]
    assert page["columns"] == ["id", "name", "half", "maybe"]
    assert [row[0] for row in page["rows"]] == [str(n) for n in range(4990, 5000)]
    assert page["total"] == 5000
    filters = [{"column": "name", "op": "=", "value": "name-3"}, {"column": "id", "op": ">", "value": "4000"}]
    found = ask(table, "rows", start=2, limit=2, filters=filters)["answer"]
    assert [row[0] for row in found["rows"]] == ["4021", "4028"]
    assert list(eval(found["code"], {"art": table})["id"]) == ["4021", "4028"]
    down = ask(table, "rows", limit=2, order={"column": "half", "descending": True})["answer"]
    assert [row[2] for row in down["rows"]] == ["2499.5", "2499.0"]
    assert down["numbers"] == [4999, 4998]
    assert ask(table, "rows", order={"column": "nope"})["error"]["code"] == "bad-request"
    assert ask(table, "rows", filters=[{"column": "nope", "op": "=", "value": 1}])["error"]["code"] == "bad-request"


@pytest.mark.parametrize("column", ["half", "name", "maybe"])
@pytest.mark.parametrize("descending", [True, False])
def test_the_code_of_an_order_gives_the_rows_that_are_shown(table, column, descending):
    order = {"column": column, "descending": descending}
    for filters in ([{"column": "id", "op": ">", "value": "20"}], []):
        page = ask(table, "rows", start=3, limit=4, filters=filters, order=order)["answer"]
        *lines, last = page["code"].splitlines()
        names: dict[str, Any] = {"art": table}
        exec("\n".join(lines), names)
        assert eval(last, names)["id"].astype(str).tolist() == [row[0] for row in page["rows"]]


def test_what_is_copied_is_whole_as_far_as_the_answer_may_be_long(workspace):
    long, longer = "y" * 9000, "z" * 300_000
    art = workspace.put(f"id,text\n0,{long}\n1,{longer}\n2,a\n", tool="long", media_type="text/csv")
    looked = ask(art, "rows")["answer"]
    assert (looked["cut"], len(looked["rows"][0][1])) == (2, 501)
    copied = ask(art, "rows", whole=True)["answer"]
    assert (copied["cut"], copied["rows"][0][1]) == (1, long)
    assert ask(art, "lines", start=1, limit=1)["answer"]["cut"] == 1
    assert ask(art, "lines", start=1, limit=1, whole=True)["answer"] | {"code": ""} == {
        "start": 1, "lines": [f"0,{long}"], "total": 4, "exact": True, "notes": [], "cut": 0, "code": "",
    }  # fmt: skip


def test_a_page_of_long_lines_is_full(workspace):
    art = workspace.put("".join(f"{n} {'x' * 20_000}\n" for n in range(30)), tool="long")
    page = ask(art, "lines", start=5, limit=20)["answer"]
    assert [line.split()[0] for line in page["lines"]] == [str(n) for n in range(5, 25)]


def test_a_refused_order_names_the_line_that_sorts_elsewhere(table, workspace, monkeypatch):
    monkeypatch.setattr("kmnb.ops.rows.SORT_MAX_BYTES", 1000)
    filters = [{"column": "name", "op": "contains", "value": "e-3"}, {"column": "id", "op": "<", "value": "4000"}]
    order = {"column": "half", "descending": True}
    refused = ask(table, "rows", limit=3, filters=filters, order=order)["answer"]["refused"]
    assert "kmnb.duckdb()" in refused["text"]
    *lines, last = refused["instead"].splitlines()
    names: dict[str, Any] = {"ws": workspace}
    exec("\n".join(lines), names)
    assert eval(last, names)["id"].tolist() == [3993, 3986, 3979]
    assert ask(table, "rows", limit=3)["answer"]["total"] == 5000


def test_what_duckdb_cannot_read_is_refused_without_a_line(workspace):
    pods = workspace.put("a" * 5000, tool="pods", media_type="text/plain")
    assert duckdb_code(pods, [], 20, order=("a", False)) is None


def test_columns_are_told_with_types_nulls_and_histograms(table):
    told = {column["name"]: column for column in ask(table, "columns")["answer"]["columns"]}
    assert (told["id"]["type"], told["id"]["min"], told["id"]["max"]) == ("integer", 0, 4999)
    assert sum(told["half"]["bins"]) == 5000
    assert told["maybe"]["nulls"] == 0.75
    assert told["name"]["distinct"] == 7


@given(st.lists(st.none() | st.integers() | st.floats() | st.text(max_size=5)))
def test_any_values_can_be_summarised(values):
    facts = column_facts(values)
    assert 0 <= facts["nulls"] <= 1
    assert ("bins" in facts) != ("top" in facts)
    json.dumps(jsonable(facts), allow_nan=False)


def test_a_document_is_looked_into_one_level_at_a_time(workspace):
    items = [{"n": n, "tags": ["a", {"b": None}]} for n in range(300)]
    document = workspace.put({"kind": "List", "items": items, 'odd "key\\': True}, tool="json")
    root = ask(document, "tree")["answer"]
    assert [child["key"] for child in root["children"]] == ["kind", "items", 'odd "key\\']
    assert root["children"][1] == {"key": "items", "type": "array", "count": 300, "text": None}
    page = ask(document, "tree", path=["items"], start=200, limit=50)["answer"]
    assert [child["key"] for child in page["children"]] == list(range(200, 250))
    assert ask(document, "tree", path=["items", 7, "tags", 1, "b"])["answer"]["text"] == "null"
    assert ask(document, "tree", path=['odd "key\\'])["answer"]["text"] == "true"
    assert eval(root["code"], {"art": document}).values[0]["kind"] == "List"


def test_many_documents_are_looked_into_record_by_record(workspace):
    lines = "".join(json.dumps({"n": n, "deep": {"list": [n, "x"]}}) + "\n" for n in range(3000))
    records = workspace.put(lines, tool="nd", media_type="application/x-ndjson")
    root = ask(records, "tree", start=2990)["answer"]
    assert (root["count"], root["children"][0]["key"]) == (3000, 2990)
    assert ask(records, "tree", path=[2995, "deep", "list", 0])["answer"]["text"] == "2995"
    assert ask(records, "tree", path=["n"])["error"]["code"] == "bad-request"


def test_a_named_artifact_tells_its_versions_and_how_it_is_had(workspace):
    workspace.save("r.csv", "a\n1\n")
    art = workspace.save("r.csv", "a\n1\n2\n")
    facts = ask(art, "facts")["answer"]["facts"]
    assert (facts["version"], facts["versions"], facts.get("tool")) == (1, "0, 1", None)
    widget = art.preview_widget()
    names: dict[str, Any] = {"ws": workspace}
    exec(widget.reference["code"], names)
    assert names["art"].digest == art.digest
    widget.close()


def test_facts_are_told_without_a_call(table, monkeypatch):
    monkeypatch.setattr(type(table), "locate", None)
    facts = ask(table, "facts")["answer"]["facts"]
    assert (facts["key"], facts["tool"], facts["rows"]) == (table.key, "csv", 5000)
    assert facts["expiresAt"] > facts["createdAt"]


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
    reply = _bridge.run(Questions(text).answer(message))
    assert ("error" in reply) != ("answer" in reply)
    assert len(json.dumps(reply)) < 300_000


def test_a_failure_of_ours_is_answered_too_and_tells_no_more_than_its_kind(text, monkeypatch, caplog):
    async def failing(self, given):
        raise RuntimeError("password=canary")

    monkeypatch.setitem(QUESTIONS, "lines", (QUESTIONS["lines"][0], failing))
    reply = _bridge.run(Questions(text).answer({"id": 7, "ask": "lines", "arguments": {}}))
    assert (reply["id"], reply["error"]["code"]) == (7, "internal")
    assert "RuntimeError" in reply["error"]["text"]
    assert "canary" not in json.dumps(reply)
    assert "a question of a browser failed" in caplog.text


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
    assert sql_text([{"column": 'a"b', "op": "=", "value": "it's"}]) == """"a""b" = 'it''s'"""
    contains = sql_text([{"column": "a", "op": "contains", "value": "5%"}])
    assert contains == """"a" ilike '%5\\%%' escape '\\'"""
    assert where_text([{"column": "n", "op": "=", "value": True}]) == "`n` = true"
    for bad in (
        [{"column": "n", "op": "like", "value": "x"}],
        [{"column": 1, "op": "=", "value": 1}],
        "n = 1",
        [1] * 99,
    ):
        with pytest.raises(BadRequest):
            where_text(bad)
    for bad in ("n", {"column": 1}, ["n", True]):
        with pytest.raises(BadRequest):
            order_of(bad)


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
    from kmnb.frontends._widget_base import asset, module_source

    source = module_source()
    assert not re.search(r"^(import|export (?!function mount))", source, re.MULTILINE)
    assert source.count("export function mount") == 1
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", source, re.MULTILINE)
    assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)
    assert len(source.encode()) + len(asset("preview.css").encode()) <= 80 * 1024


def test_the_browsers_part_makes_no_markup_of_text_and_runs_nothing():
    for path in STATIC.rglob("*.js"):
        source = path.read_text()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "//"):
            code = re.sub(r"^\s*//.*$", "", source, flags=re.MULTILINE).replace("http://www.w3.org/2000/svg", "")
            assert word not in code, (path.name, word)
    assert all(operation.summary for operation, _ in QUESTIONS.values())
