"""Tables of many columns, columns of one name, records of many fields, and answers without rows."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from typing import Any

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest

import kmnb
from kmnb._bridge import run
from kmnb.errors import BoundExceeded
from kmnb.ops.rows import RowReader

WIDE = 100_000
"""Columns; a step that is quadratic in them takes minutes."""


@pytest.fixture(scope="module")
def ws() -> Iterator[Any]:
    with kmnb.connect("memory://wide", thread="t", agent="a", config={"sweep_on_connect": False}) as workspace:
        yield workspace


def test_a_hundred_thousand_columns_are_a_table_and_cost_no_more_than_their_number(ws: Any) -> None:
    lines = [",".join(f"{mark}{at}" for at in range(WIDE)) for mark in ("c", "")]
    art = ws.put("\n".join(lines) + "\n", tool="wide")
    assert art.rows == 1
    begun = time.process_time()
    answer = art.select("*", max_bytes=4_000_000)
    assert answer.values[0]["c99999"] == "99999"
    assert art.select(["c7", "c99999"], where="c5 = 5").values == [{"c7": "7", "c99999": "99999"}]
    narrow = art.select("*")
    assert (narrow.shown, narrow.complete, narrow.columns) == (0, False, None)
    assert time.process_time() - begun < 20


def test_a_row_of_many_cells_that_does_not_fit_is_said(ws: Any) -> None:
    lines = [",".join(f"{mark}{at:03}" for at in range(900)) for mark in ("n", "1234")]
    answer = ws.put("\n".join(lines) + "\n", tool="row").select("*", header=True, max_bytes=5000)
    assert (answer.shown, answer.complete) == (0, False)
    assert any("does not fit" in note for note in answer.notes)


def same_names(kind: str) -> bytes:
    if kind == "csv":
        return b"a,b,a\n1,2,3\n4,5,6\n"
    table = pyarrow.Table.from_arrays([pyarrow.array(one) for one in ([1, 4], [2, 5], [3, 6])], ["a", "b", "a"])
    out = io.BytesIO()
    if kind == "parquet":
        pyarrow.parquet.write_table(table, out)
    else:
        with pyarrow.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_of_columns_of_one_name_a_row_shows_the_last_and_says_so(ws: Any, kind: str) -> None:
    art = ws.put(same_names(kind), tool=f"same-{kind}")
    answer = art.select("*")
    assert [{name: int(cell) for name, cell in row.items()} for row in answer.values] == [
        {"a": 3, "b": 2},
        {"a": 6, "b": 5},
    ]
    assert "2 columns are named 'a'; rows show the last" in answer.notes
    assert [int(row["a"]) for row in art.select("a", where="a > 3").values] == [6]
    assert [(one["column"], one["sum"]) for one in art.stats().values] == [("a", 9), ("b", 7)]
    assert len(art.sample().values) == 2
    page = run(RowReader(art).page(0, 10))
    assert page.columns == ("a", "b", "a")
    assert [[int(cell) for cell in row] for row in page.rows] == [[1, 2, 3], [4, 5, 6]]
    assert [int(cell) for cell in art.to_arrow(["a"])["a"].to_pylist()] == [3, 6]


def test_the_name_of_a_column_is_no_path_into_another_one(ws: Any) -> None:
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"s": [{"b": 5}], "s.b": [9]}), out)
    art = ws.put(out.getvalue(), tool="dotted")
    assert art.select(["s.b"]).values == [{"s.b": 9}]
    assert art.to_arrow(["s.b"]).to_pydict() == {"s.b": [9]}
    assert art.to_pandas(["s.b"]).to_dict("list") == {"s.b": [9]}


def test_records_of_too_many_different_fields_make_no_frame_but_named_ones_do(ws: Any) -> None:
    content = b"".join(b'{"k%d":%d,"same":1}\n' % (at, at) for at in range(15_000))
    art = ws.put(content, tool="sparse")
    with pytest.raises(BoundExceeded, match="Name the columns"):
        art.to_pandas()
    frame = art.to_pandas(["same", "k7"])
    assert frame.shape == (15_000, 2)
    assert frame["k7"].dropna().to_list() == [7]


def test_an_answer_without_rows_keeps_its_columns(ws: Any) -> None:
    art = ws.put("name,n\na,1\nb,2\n", tool="few")
    none = art.select(["n", "name"], where="n > 5")
    assert list(none.to_pandas().columns) == ["n", "name"]
    assert none.to_arrow().schema.names == ["n", "name"]
    assert none.to_csv() == "n,name\n"
    assert list(art.grep("zzz").to_pandas().columns)[:4] == ["number", "index", "offset", "text"]
    assert list(art.sample(0).to_pandas().columns) == ["name", "n"]
    empty = ws.put("name,n\n", tool="empty")
    assert empty.to_arrow().schema.types == [pyarrow.string(), pyarrow.string()]
    assert {str(kind) for kind in empty.to_pandas().dtypes} == {"string"}


def test_a_search_for_nothing_claims_no_total(ws: Any) -> None:
    art = ws.put("a\nb\na\n", tool="lines")
    nothing = art.grep("a", max=0)
    assert (nothing.shown, nothing.total_is_lower_bound) == (0, True)
    counted = art.grep("a", max=0, count_all=True)
    assert (counted.total, counted.total_is_lower_bound) == (2, False)


@pytest.mark.parametrize("number", [-1, -(10**30), " -3 ", -2.0])
def test_a_number_below_zero_is_the_default(ws: Any, number: Any) -> None:
    """As the tools of Kubemoot have it; zero asks for nothing, or for the rest where the help says so."""
    art = ws.put("".join(f"{n % 7},x\n" for n in range(300)), tool="many", media_type="text/csv")
    assert (art.head(number).shown, art.tail(number).shown, art.sample(number).shown) == (20, 20, 20)
    assert art.grep("x", max=number, context=number).values == art.grep("x").values
    assert art.stats(top=number).values == art.stats().values
    assert art.select("*", limit=number).values == art.select("*").values
    assert art.lines(number, 2).text.startswith("0,x\n1,x\n")
    assert (art.lines(3, number).shown, art.lines(3, 0).shown, art.head(0).shown) == (100, 297, 0)
    assert art.schema(rows=number).values == art.schema().values
    assert art.head(max_bytes=number).values == art.head(max_bytes=0).values == art.head().values


@pytest.mark.parametrize("before", ["", " ", "\ufeff", "\u200b", "\xa0"])
@pytest.mark.parametrize("sign", ["=", "@", "+", "-", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_no_cell_of_an_export_begins_a_formula_however_it_is_written(ws: Any, sign: str, before: str) -> None:
    cell = f"{before}{sign}cmd|' /C calc'!A0"
    answer = ws.put(f"a;b\n{cell};-5\n1;+1e5\n", tool="formula").select("*", header=True, delimiter=";")
    assert answer.to_csv().splitlines() == ["a,b", f"'{cell},-5", "1,+1e5"]
    assert answer.to_csv(formula_safe=False).splitlines()[1] == f"{cell},-5"
