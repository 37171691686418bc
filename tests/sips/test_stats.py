"""stats: every row counted, sums exact, nothing that strict JSON cannot hold."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kmnb
from kmnb.core.records import Batch
from kmnb.errors import BadRequest
from kmnb.sips._rows import Problems, Rows
from kmnb.sips._tally import ColumnTally, keyed
from kmnb.sips._where import parse_where
from kmnb.sips.stats import SIP
from tests.sips.driving import sip_bytes
from tests.sips.records import run_sip


def one(content: bytes, column: str, **arguments: Any) -> dict[str, Any]:
    """Summarise one column."""
    (value,) = run_sip("stats", content, columns=[column], **arguments).values
    json.dumps(value, allow_nan=False)
    return dict(value)


@pytest.mark.parametrize("example", SIP.operation.examples)
@pytest.mark.parametrize("step", [1, 3, 1 << 16])
def test_every_example_holds_for_every_size_of_block(example, step: int) -> None:
    answer = run_sip("stats", example.content, step=step, **example.arguments)
    assert tuple(answer.values) == example.values
    assert answer.text == example.text


@given(st.lists(st.one_of(st.integers(), st.just("")), max_size=40), st.integers(1, 50))
def test_integers_are_summed_exactly_whatever_their_size(values: list[Any], step: int) -> None:
    content = b"k,n\n" + b"".join(b"x,%s\n" % str(value).encode() for value in values)
    found = one(content, "n", step=step, delimiter=",", header=True, media_type="text/csv")
    numbers = [value for value in values if value != ""]
    assert (found["count"], found["nulls"]) == (len(numbers), len(values) - len(numbers))
    assert found["sum"] == (sum(numbers) if numbers else None)
    assert (found["min"], found["max"]) == ((min(numbers), max(numbers)) if numbers else (None, None))
    assert found["distinct"] == len(set(numbers))


@given(st.lists(st.decimals(-1000, 1000, places=3), min_size=1, max_size=30))
def test_fractions_are_summed_exactly_and_told_as_the_nearest_float(values: list[Any]) -> None:
    content = b"n,k\n" + b"".join(f"{value:f},x\n".encode() for value in values)
    found = one(content, "n", media_type="text/csv", delimiter=",", header=True)
    assert found["sum"] == pytest.approx(float(sum(map(Fraction, values))), rel=1e-15, abs=1e-300)
    assert found["mean"] == pytest.approx(float(sum(map(Fraction, values)) / len(values)), rel=1e-15, abs=1e-300)


@given(st.lists(st.sampled_from(["NA", "null", "None", "", "a", "true", "0"]), max_size=30))
def test_group_counts_and_nulls_add_up_to_the_rows(values: list[str]) -> None:
    """S13: names of missing things are values."""
    content = b"ns,n\n" + b"".join(f"{value},1\n".encode() for value in values)
    found = one(content, "ns", media_type="text/csv", delimiter=",", header=True, top=100)
    assert dict(map(tuple, found["top"])) == Counter(value for value in values if value)
    assert sum(times for _, times in found["top"]) + found["nulls"] == len(values)


def test_values_of_different_types_are_told_apart_and_none_raises() -> None:
    rows = [
        {"v": 1},
        {"v": True},
        {"v": "1"},
        {"v": None},
        {},
        {"v": [1]},
        {"v": {"a": 1}},
        {"v": False},
        {"v": 0},
        {"v": ""},
    ]
    found = one(json.dumps(rows).encode(), "v")
    assert (found["count"], found["nulls"], found["numbers"]) == (7, 3, 3)
    assert [value for value, _ in found["top"]] == [1, True, "1", "[1]", '{"a":1}', False, 0]


def test_what_is_not_finite_is_counted_and_left_out() -> None:
    """S15: NaN in Prometheus values and in CSV; sums beyond floats; the mean of nothing."""
    metrics = b'# TYPE m gauge\nm{a="1"} NaN\nm{a="2"} +Inf\nm{a="3"} 1.5\nm{a="4"} 2\n'
    found = one(metrics, "value")
    assert (found["count"], found["not_finite"], found["sum"], found["max"]) == (2, 2, 3.5, 2)
    found = one(b"n,x\n1e308,1\n1e308,1\n", "n")
    assert (found["sum"], found["min"], found["mean"]) == ("2E+308", 1e308, 1e308)
    found = one(b"n,x\n,1\n,1\n", "n")
    assert (found["count"], found["nulls"], found["sum"], found["mean"], found["min"]) == (0, 2, None, None, None)
    found = one(b"n,x\n1e999999999,1\n1,1\n", "n")
    json.dumps(found, allow_nan=False)


def test_a_decimal_comma_is_read_when_it_is_asked_for_and_hinted_at_when_not() -> None:
    content = b"a;b\n1,5;x\n-2,25;y\n"
    assert one(content, "a", decimal=",")["sum"] == -0.75
    answer = run_sip("stats", content, columns=["a"])
    assert answer.values[0]["sum"] is None
    assert "decimal=','" in answer.notes[0]


def test_a_condition_chooses_the_rows_and_unknown_columns_are_errors() -> None:
    content = b"ns,n\na,1\nb,2\na,3\n"
    assert one(content, "n", where="ns = 'a'")["sum"] == 4
    assert [value["column"] for value in run_sip("stats", content).values] == ["ns", "n"]
    with pytest.raises(BadRequest, match="nss"):
        one(content, "nss")
    with pytest.raises(BadRequest, match="nss"):
        one(content, "n", where="nss = 'a'")


def test_a_field_that_comes_late_counts_the_rows_before_as_nothing() -> None:
    answer = run_sip("stats", b'{"a":1}\n' * 5 + b'{"a":1,"b":2}\n', step=9)
    assert [(v["column"], v["count"], v["nulls"]) for v in answer.values] == [("a", 6, 0), ("b", 1, 5)]


def test_columns_that_do_not_fit_the_cap_are_said_to_be_missing() -> None:
    content = b",".join(b"column_%d" % n for n in range(50)) + b"\n" + b",".join(b"%d" % n for n in range(50)) + b"\n"
    answer = run_sip("stats", content, max_bytes=500)
    assert len(answer.text.encode()) <= 500
    assert (answer.complete, answer.total) == (False, 50)
    assert 0 < answer.shown < 50
    assert run_sip("stats", content).complete


def test_long_texts_are_cut_with_a_mark_and_still_told_apart() -> None:
    content = b"t,n\n" + b"x" * 5000 + b"a,1\n" + b"x" * 5000 + b"b,1\n"
    found = one(content, "t")
    assert found["distinct"] == 2
    assert all(value.endswith("…") and len(value) <= 200 for value, _ in found["top"])


@pytest.mark.parametrize("different", [3000, 20_000, 60_000])
def test_many_different_values_are_estimated_in_bounded_memory(different: int) -> None:
    tally = ColumnTally(most=2000)
    for start in range(0, different, 500):
        tally.add(Counter(keyed(f"v{number}") for number in range(start, start + 500)))
        tally.add(Counter({"often": 100, "seldom": 1}))
    assert tally.is_estimate
    assert tally.distinct() == pytest.approx(different + 2, rel=0.06)
    assert len(tally._counts) <= 2500
    (value, times), *_ = tally.top(3)
    assert value == "often"
    assert 0.8 * 100 * different / 500 <= times <= 100 * different / 500
    assert tally.values == different + 101 * different // 500


def test_the_estimate_does_not_depend_on_how_values_arrive() -> None:
    answers = []
    for size in (7, 100, 5000):
        tally = ColumnTally(most=1000)
        for start in range(0, 5000, size):
            tally.add(Counter(str(number) for number in range(start, min(5000, start + size))))
        answers.append((tally.distinct(), tally.facts()))
    assert answers[0] == answers[1] == answers[2]
    assert math.isclose(answers[0][0], 5000, rel_tol=0.06)


TEXT = b"first line of a log\nERROR disk\n\nERROR disk\nlast, one"


def test_plain_text_has_one_column_and_no_line_is_its_header() -> None:
    lines = ["first line of a log", "ERROR disk", "", "ERROR disk", "last, one"]
    chosen = sip_bytes(TEXT, "select", {"columns": ["*"]})
    assert [row["line"] for row in chosen.values] == lines
    assert chosen.text.startswith("line\nfirst line of a log\n")
    assert sip_bytes(TEXT, "select", {"columns": ["line"], "where": "line like 'ERROR%'"}).total == 2
    (told,) = sip_bytes(TEXT, "stats", {"columns": []}).values
    assert (told["column"], told["count"] + told["nulls"], told["distinct"]) == ("line", 5, 3)
    assert told["top"][0] == ["ERROR disk", 2]
    assert sip_bytes(TEXT, "outline", {}).values == [{"path": "line", "count": 5, "types": {"string": 5}}]
    assert [column["name"] for column in sip_bytes(TEXT, "schema", {}).values] == ["line"]


def test_text_is_a_table_where_a_column_or_a_delimiter_is_named() -> None:
    """A list with a heading, as printed with one custom column: its first line names it, as with the peer."""
    content = b"NAME\npod-a\npod-b\n"
    assert sip_bytes(content, "select", {"columns": ["NAME"]}).values == [{"NAME": "pod-a"}, {"NAME": "pod-b"}]
    assert sip_bytes(content, "stats", {"columns": ["NAME"]}).values[0]["count"] == 2
    assert sip_bytes(content, "select", {"columns": ["*"], "header": True}).values[0] == {"NAME": "pod-a"}
    assert sip_bytes(content, "select", {"columns": ["*"]}).values[0] == {"line": "NAME"}


@pytest.mark.parametrize(
    "where",
    [
        "a = 'x'",
        "a < 5",
        "a < b",
        "not (a = 'x' or b is null)",
        "a is null",
        "a in ('x', 1, 2) and b like '_%'",
        "gone is null",
        "1 = 1",
    ],
)
@pytest.mark.parametrize("different", [1, 3, 1000])
def test_a_condition_is_judged_alike_whether_values_repeat_or_not(where: str, different: int) -> None:
    words = ["x", "", None, "1", "01", "1.0", "10", "true", "É", *map(str, range(2, different))][:different]
    rows = [[words[number % different], words[number * 7 % different]] for number in range(200)]
    batch = Batch(rows, 0, kind="table", columns=("a", "b"))
    condition = parse_where(where)
    expected = [row for row in rows if condition.holds(dict(zip("ab", row, strict=True)).get)]
    found = Rows(Problems(strict=False))
    taken = found.taken(batch, condition)
    assert [list(row) for row in zip(found.column(taken, "a"), found.column(taken, "b"), strict=True)] == expected
    assert len(taken) == len(expected)
    walked = Rows(Problems(strict=False)).of(batch, condition)
    assert [(number, [row("a"), row("b")]) for number, row in walked] == [
        (number, row) for number, row in enumerate(rows) if condition.holds(dict(zip("ab", row, strict=True)).get)
    ]


def test_a_condition_tells_values_apart_that_are_equal() -> None:
    rows = [[value] for value in (1, True, 1.0, "1", [1], None) for _ in range(10)]
    batch = Batch(rows, 0, kind="table", columns=("a",))
    condition = parse_where("a = 'true'")
    expected = [row for row in rows if condition.holds({"a": row[0]}.get)]
    found = Rows(Problems(strict=False))
    assert [[value] for value in found.column(found.taken(batch, condition), "a")] == expected
    assert {str(row[0]) for row in expected} == {"True"}


def test_of_columns_of_the_same_name_the_last_one_counts():
    with kmnb.connect("memory://", thread="t") as ws:
        art = ws.put("a,b,a\n1,2,3\n4,5,6\n", tool="t", media_type="text/csv")
        assert [(one["column"], one["count"], one["sum"]) for one in art.stats().values] == [("a", 2, 9), ("b", 2, 7)]


def test_the_number_of_columns_is_a_lower_bound_where_there_are_more_than_are_told_apart() -> None:
    lines = (json.dumps({f"k{number}_{place}": 1 for place in range(200)}) for number in range(60))
    answer = sip_bytes("\n".join(lines).encode(), "stats", {"top": 0})
    assert (answer.shown, answer.total, answer.total_is_lower_bound, answer.complete) == (500, 10_000, True, False)
