"""The corpus cases of tables, twice: told how the file is written, and left to find that out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kmnb.errors import StoreError
from kmnb.formats import arrow, parquet
from kmnb.formats._inspect import inspect
from tests.formats.reading import cases, corpus, read, scan
from tests.sips.records import run_sip

TABULAR = [
    case
    for case in cases("rows", "columns", "select", "stats", "group_count")
    if case["args"].get("format") in ("csv", "kubectl-table", "ndjson") and "expr" not in case["args"]
]
RANGED = {"parquet": parquet.FORMAT, "arrow-file": arrow.FORMAT}


def content_of(case: dict[str, Any]) -> bytes:
    return corpus(case["file"].removeprefix("files/"))


def told(case: dict[str, Any]) -> dict[str, Any]:
    """How the case says that the file is written."""
    args = case["args"]
    found = {"delimiter": args.get("sep"), "header": args.get("header"), "encoding": args.get("encoding")}
    if case["file"].endswith((".gz", ".zst")):
        # The compression comes first; the text inside is plain UTF-8.
        found.pop("encoding")
    return {name: value for name, value in found.items() if value is not None}


def column_of(case: dict[str, Any], content: bytes, dialect: dict[str, Any]) -> str:
    """Name of the column that a case means, by name or place."""
    if "column" in case["args"]:
        return str(case["args"]["column"])
    names = read(content, **dialect).columns
    assert names is not None
    return names[case["args"]["column_index"]]


def check(case: dict[str, Any], dialect: dict[str, Any]) -> None:
    content, args, expected = content_of(case), case["args"], case["expected"]
    if case["op"] == "rows":
        assert read(content, **dialect).counted == expected
    elif case["op"] == "columns":
        assert list(read(content, **dialect).columns or ()) == expected
    elif case["op"] == "select":
        answer = run_sip("select", content, columns=args["columns"], limit=args["limit"], **dialect)
        assert [list(row.values()) for row in answer.values] == expected
    elif case["op"] == "stats":
        decimal = {"decimal": args["decimal"]} if args.get("decimal") else {}
        name = column_of(case, content, dialect)
        (value,) = run_sip("stats", content, columns=[name], **decimal, **dialect).values
        # Sums of the cases are rounded to six decimals, which is more than 1e-9 of a small one (S268).
        assert {key: value[key] for key in expected} == pytest.approx(expected, rel=1e-9, abs=5e-7)
    else:
        name = column_of(case, content, dialect)
        (value,) = run_sip("stats", content, columns=[name], top=args.get("top", 100), **dialect).values
        pairs = [list(pair) for pair in value["top"]]
        assert pairs == expected if isinstance(expected, list) else dict(pairs) == expected


@pytest.mark.parametrize("case", TABULAR, ids=lambda case: case["id"])
def test_a_case_holds_when_it_is_told_how_the_file_is_written(case) -> None:
    check(case, told(case))


@pytest.mark.parametrize("case", TABULAR, ids=lambda case: case["id"])
def test_a_case_holds_without_being_told(case) -> None:
    check(case, {})


@pytest.mark.parametrize("case", [c for c in TABULAR if c["op"] == "rows"], ids=lambda case: case["id"])
def test_the_count_that_is_stored_is_the_same(case) -> None:
    assert inspect(content_of(case)).rows == case["expected"]


@pytest.mark.parametrize("case", cases("rows_by_width"), ids=lambda case: case["id"])
def test_ragged_rows_of_the_corpus_are_reported_by_their_width(case) -> None:
    found = read(content_of(case))
    widths = Counter(str(len(row)) for row in found.rows)
    widths.update(problem.reason.split()[0] for problem in found.problems)
    assert widths == case["expected"]


@pytest.mark.parametrize("case", cases("parquet_verify"), ids=lambda case: case["id"])
def test_a_damaged_page_of_the_corpus_is_refused(case) -> None:
    with pytest.raises(StoreError):
        scan(parquet.FORMAT, content_of(case), None)


def test_samples_of_a_range_query_are_summarised() -> None:
    (case,) = [case for case in cases("stats") if case["args"]["format"] == "prometheus-matrix"]
    (value,) = run_sip("stats", content_of(case), columns=["value"]).values
    assert {key: value[key] for key in case["expected"]} == pytest.approx(case["expected"], rel=1e-9)


def test_every_case_of_tables_is_run_here_or_named() -> None:
    """Expressions over documents are run where JMESPath is; a pattern over lines is grep's."""
    here = {case["id"] for case in TABULAR}
    others = {
        case["id"]: case["args"].get("format")
        for case in cases("rows", "columns", "select", "stats", "group_count")
        if case["id"] not in here
    }
    assert set(others.values()) == {"yaml", "json", "regex", "parquet", "arrow-file", "prometheus-matrix"}
    assert set(RANGED) < set(others.values())
