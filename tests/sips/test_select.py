"""select: the same columns, the same values, whatever the format; cut answers say so."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.errors import BadRequest
from kmnb.sips.select import SIP
from tests.sips.driving import sip_bytes
from tests.sips.records import run_sip

PODS = b"name,ns,age\npod-a,default,3\npod-b,kube-system,7\n"


@pytest.mark.parametrize("example", SIP.operation.examples)
@pytest.mark.parametrize("step", [1, 2, 3, 7, 1 << 16])
def test_every_example_holds_for_every_size_of_block(example, step: int) -> None:
    answer = run_sip("select", example.content, step=step, **example.arguments)
    assert tuple(answer.values) == example.values
    assert answer.text == example.text


def test_the_peers_vectors_hold() -> None:
    """compat 9: header in the asked order, unknown column and no columns are errors."""
    assert run_sip("select", PODS, columns=["ns", "name"]).text == "ns,name\ndefault,pod-a\nkube-system,pod-b\n"
    with pytest.raises(BadRequest, match='column "nsx" not found in header') as caught:
        run_sip("select", PODS, columns=["nsx"])
    assert caught.value.near == ("ns",)
    with pytest.raises(BadRequest, match="no columns"):
        run_sip("select", PODS, columns=[])
    many = b"n\n" + b"value\n" * 100_000
    assert len(run_sip("select", many, columns=["n"], max_bytes=100).text) <= 100
    semi = run_sip("select", b'a;b\n1;x;y\n2;"z"\n', columns=["a"], delimiter=";")
    assert semi.text == "a\n2\n"


def test_the_delimiter_that_is_asked_for_is_used_in_the_answer_too() -> None:
    answer = run_sip("select", b"a;b\n1,5;x\n", columns=["b", "a"], delimiter=";")
    assert answer.text == "b;a\nx;1,5\n"


def test_star_takes_all_columns_and_names_may_hold_blanks() -> None:
    table = b"NAME   NOMINATED NODE   AGE\np1     <none>           2d\np2                      3d\n"
    answer = run_sip("select", table, columns=["*"], where='"NOMINATED NODE" is null')
    assert answer.values == [{"NAME": "p2", "NOMINATED NODE": "", "AGE": "3d"}]
    assert answer.text == "NAME,NOMINATED NODE,AGE\np2,,3d\n"


FORMS = {
    "csv": b"name,code,n\na,00010,1\nb,00020,9007199254740993\nc,,3\n",
    "ndjson": b'{"name":"a","code":"00010","n":1}\n{"name":"b","code":"00020","n":9007199254740993}\n'
    b'{"name":"c","n":3}\n',
    "list": b'[{"name":"a","code":"00010","n":1},{"name":"b","code":"00020","n":9007199254740993},{"name":"c","n":3}]',
    "items": b'{"kind":"L","items":[{"name":"a","code":"00010","n":1},{"name":"b","code":"00020","n":9007199254740993},'
    b'{"name":"c","code":null,"n":3}]}',
    "table": b"NAME  CODE   N\na     00010  1\nb     00020  9007199254740993\nc            3\n",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("n > 2", "bc"),
        ("n = 9007199254740993", "b"),
        ("n = 9007199254740992", ""),
        ("n = '1'", "a"),
        ("code = '00010'", "a"),
        ("code = 10", "a"),
        ("code is null", "c"),
        ("code like '000%' and not name = 'a'", "b"),
        ("name in ('a', 'c')", "ac"),
    ],
)
def test_a_condition_means_the_same_on_every_format(form: str, where: str, rows: str) -> None:
    names = ("NAME", "CODE", "N") if form == "table" else ("name", "code", "n")
    for name in names:
        where = where.replace(name.lower(), name) if form == "table" else where
    answer = run_sip("select", FORMS[form], columns=[names[0]], where=where)
    assert "".join(row[names[0]] for row in answer.values) == rows


def test_values_are_not_retyped() -> None:
    """S11, S12: codes, versions, big integers, flags and things like dates stay as they stand."""
    row = (
        '{"code":"00010","modified":"5","created_at":1,"ver":"1.10","hash":"1e5","flag":"yes",'
        '"id":18446744073709551615}'
    )
    columns = ["code", "modified", "created_at", "ver", "hash", "flag", "id"]
    (values,) = run_sip("select", row.encode() + b"\n" + b"{}", columns=columns, limit=1).values
    assert values == json.loads(row)
    text = b"code,modified,created_at,ver,hash,flag,id\n00010,5,1,1.10,1e5,yes,18446744073709551615\n"
    (values,) = run_sip("select", text, columns=columns).values
    assert list(values.values()) == ["00010", "5", "1", "1.10", "1e5", "yes", "18446744073709551615"]


def test_names_of_missing_things_are_values() -> None:
    """S13: only the empty field may be missing."""
    answer = run_sip("select", b'ns,n\nNA,1\nnull,2\nNone,3\n"",4\n,5\nkube,6\n', columns=["ns"])
    assert [row["ns"] for row in answer.values] == ["NA", "null", "None", "", "", "kube"]


def test_zero_false_and_empty_are_visible() -> None:
    """S17: in values each is distinct; in text nothing and null are the empty cell."""
    answer = run_sip("select", b'[{"a":0,"b":false,"c":"","d":[],"e":{},"f":null}]', columns=list("abcdef"))
    assert answer.values == [{"a": 0, "b": False, "c": "", "d": [], "e": {}, "f": None}]
    assert answer.text == "a,b,c,d,e,f\n0,false,,[],{},\n"


def test_paths_reach_into_records_and_keys_may_hold_dots() -> None:
    content = (
        b'[{"metadata":{"name":"p","labels":{"app.io/name":"x"}},"log.level":"info","spec":{"c":[{"image":"i"}]}}]'
    )
    answer = run_sip(
        "select", content, columns=["metadata.name", "log.level", "metadata.labels.app.io/name", "spec.c.0.image"]
    )
    assert list(answer.values[0].values()) == ["p", "info", "x", "i"]


@pytest.mark.parametrize("rows", [163, 164, 165, 276])
def test_a_cut_answer_is_told_apart_from_a_whole_one(rows: int) -> None:
    """S05: 276 rows under a limit of 164, and the control with exactly 164."""
    content = b"n\n" + b"".join(b"%d\n" % number for number in range(rows))
    answer = run_sip("select", content, columns=["n"], limit=164)
    assert (answer.shown, answer.total, answer.total_is_lower_bound) == (min(rows, 164), rows, False)
    assert answer.complete is (rows <= 164)
    assert (answer.cursor is None) is (rows <= 164)


@given(st.integers(1, 40), st.integers(20, 200), st.one_of(st.none(), st.integers(1, 5)))
def test_pages_put_together_give_every_row_once(rows: int, max_bytes: int, limit: int | None) -> None:
    content = b"id,text\n" + b"".join(b"%d,%s\n" % (number, b"x" * (number * 7 % 23)) for number in range(rows))
    pages, cursor = [], None
    while True:
        page = run_sip(
            "select", content, columns=["id"], limit=limit, max_bytes=max_bytes, cursor=cursor, where="id != 3"
        )
        assert len(page.text.encode()) <= max_bytes
        assert page.total == rows - (rows > 3)
        pages += [row["id"] for row in page.values]
        cursor = page.cursor
        if cursor is None:
            break
    assert pages == [str(number) for number in range(rows) if number != 3]


@pytest.mark.parametrize("tail", ["", "é", "€", "😀", "👨‍👩‍👧"])
@pytest.mark.parametrize("short", range(1, 5))
def test_one_row_over_the_cap_is_cut_at_a_character_and_says_so(tail: str, short: int) -> None:
    """S01, S06: the cell is shortened, its size told, the text stays valid and under the cap."""
    cell = "a" * (1000 - short) + tail * 500
    content = f"a,b\n{cell},1\nnext,2\n".encode()
    answer = run_sip("select", content, columns=["b", "a"], max_bytes=400)
    assert len(answer.text.encode()) <= 400
    assert not answer.complete
    assert "\ufffd" not in answer.text
    assert f"{len(cell.encode()):,} bytes" in answer.notes[0]
    assert answer.values[0]["b"] == "1"
    assert cell.startswith(answer.values[0]["a"].rstrip("…"))
    rest = run_sip("select", content, columns=["b", "a"], max_bytes=400, cursor=answer.cursor)
    assert rest.values == [{"b": "2", "a": "next"}]


def test_bad_records_are_counted_and_strict_raises() -> None:
    content = b'{"a":1}\nnot JSON\n{"a":3}\n'
    answer = run_sip("select", content, columns=["a"])
    assert [row["a"] for row in answer.values] == [1, 3]
    assert (answer.skipped, [problem.line for problem in answer.problems]) == (1, [2])
    with pytest.raises(BadRequest, match="line 2"):
        run_sip("select", content, columns=["a"], strict=True)
    ragged = b"a,b\n" + b"1\n" * 50 + b"1,2\n"
    answer = run_sip("select", ragged, columns=["a"], media_type="text/csv")
    assert (answer.skipped, len(answer.problems), answer.shown) == (50, 20, 1)
    with pytest.raises(BadRequest, match="line 2: 1 cells instead of 2"):
        run_sip("select", ragged, columns=["a"], media_type="text/csv", strict=True)


def test_a_tool_line_is_skipped_and_a_section_can_be_chosen() -> None:
    content = b"[list_a]\nname,ns\na,b\n\n[list_b]\nx,y\n1,2\n3,4\n"
    assert run_sip("select", content, columns=["*"]).text == "name,ns\na,b\n"
    assert run_sip("select", content, columns=["*"], section="list_b").text == "x,y\n1,2\n3,4\n"
    with pytest.raises(BadRequest, match="Known: list_a, list_b"):
        run_sip("select", content, columns=["*"], section="other")


def test_an_unknown_field_of_json_records_is_an_error_only_when_no_record_has_it() -> None:
    content = b'{"a":1}\n{"a":2,"b":3}\n'
    assert run_sip("select", content, columns=["b"]).values == [{"b": None}, {"b": 3}]
    with pytest.raises(BadRequest, match=r'column "bb" not found in header\. Near: b'):
        run_sip("select", content, columns=["bb"])
    with pytest.raises(BadRequest, match="phas"):
        run_sip("select", content, columns=["a"], where="phas = 'x'")


def test_bad_lines_do_not_hide_that_no_record_has_a_field() -> None:
    content = b'{"a":1}\nno JSON\n' * 3 + b'{"a":1}\n' * 9
    with pytest.raises(BadRequest, match=r'column "bb" not found in header\. Near: a'):
        run_sip("select", content, columns=["bb"], step=16)


def test_all_columns_of_json_are_those_of_all_rows_shown() -> None:
    answer = run_sip("select", b'[{"a":1}, 7, {"b":"x","a":null}, {}, {"c":[1]}]', columns=["*"])
    assert answer.columns == ("a", "value", "b", "c")
    assert [{name: row[name] for name in row if row[name] is not None} for row in answer.values] == [
        {"a": 1}, {"value": 7}, {"b": "x"}, {}, {"c": [1]},
    ]  # fmt: skip
    assert answer.text == "a,value,b,c\n1,,,\n,7,,\n,,x,\n,,,\n,,,[1]\n"
    assert run_sip("select", b'{}\n{"a":1,"b":2}', columns=["b", "*"], delimiter="→").text == "b→a\n→\n2→1\n"


@pytest.mark.parametrize("cap", [60, 300, 2000])
def test_pages_of_rows_with_fields_of_their_own_keep_the_cap_and_lose_none(cap: int) -> None:
    rows = [{f"k{number}": number, f"j{number % 3}": "é"} for number in range(40)]
    content, found, cursor = "\n".join(map(json.dumps, rows)).encode(), list[dict[str, object]](), None
    while cursor is not None or not found:
        answer = run_sip("select", content, columns=["*"], cursor=cursor, max_bytes=cap)
        assert len(answer.text.encode()) <= cap
        table = list(csv.reader(io.StringIO(answer.text, newline="")))
        assert {len(cells) for cells in table} == {len(answer.columns or ())}
        found += answer.values
        cursor = answer.cursor
    assert [{name: row[name] for name in row if row[name] is not None} for row in found] == rows


def test_rows_with_fields_of_their_own_do_not_fill_the_memory() -> None:
    content = "\n".join(json.dumps({f"k{n}_{place}": n for place in range(40)}) for n in range(1000)).encode()
    answer = run_sip("select", content, columns=["*"], max_bytes=64 << 20)
    assert answer.shown * len(answer.columns or ()) < 1_100_000
    assert (answer.complete, answer.total, answer.cursor is not None) == (False, 1000, True)


def test_the_total_of_samples_is_not_the_number_of_series() -> None:
    series = [{"metric": {"pod": pod}, "values": [[1, "0"], [2, "1"], [3, "NaN"]]} for pod in ("a", "b")]
    content = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}}).encode()
    for indexed in (False, True):
        answer = sip_bytes(content, "select", {"columns": ["pod"], "limit": 2}, indexed=indexed)
        assert (answer.shown, answer.total, answer.total_is_lower_bound) == (2, 6, False)


NAMES = st.text("abc de", min_size=1, max_size=4)
TEXTS = st.lists(st.sampled_from(["x", "1", ",", '"', "\n", " ", "é", "'"]), max_size=4).map("".join)


@given(
    st.lists(NAMES, min_size=2, max_size=4, unique=True), st.lists(st.lists(TEXTS, min_size=4, max_size=4), max_size=6)
)
def test_select_agrees_with_the_csv_module_on_random_tables(names: list[str], rows: list[list[str]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([names, *(row[: len(names)] for row in rows)])
    expected = list(csv.DictReader(io.StringIO(out.getvalue(), newline="")))
    asked = [names[-1], names[0]]
    answer = run_sip(
        "select", out.getvalue().encode(), columns=asked, delimiter=",", header=True, media_type="text/csv"
    )
    assert answer.values == [{name: row[name] for name in asked} for row in expected]
    assert list(csv.reader(io.StringIO(answer.text, newline=""))) == [
        asked,
        *([row[n] for n in asked] for row in expected),
    ]
