"""A handle is data for Arrow, polars and DuckDB as it stands; what reads all of it names the size and has a limit."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest

import kmnb
from kmnb.errors import BadRequest, BoundExceeded, NotSupported, StoreError
from kmnb.ops.frames import unique_names

ROWS = 20_000
TABLE = pyarrow.table(
    {
        "id": range(ROWS),
        "day": [date(2026, 1, 1 + n % 28) for n in range(ROWS)],
        "name": [f"n{n % 9}" for n in range(ROWS)],
    }
)
PARQUET = "application/vnd.apache.parquet"


def as_parquet(**options: Any) -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(TABLE, out, **options)
    return out.getvalue()


@pytest.fixture(scope="module")
def ws() -> Iterator[Any]:
    with kmnb.connect("memory://frames", thread="t", agent="a", config={"sweep_on_connect": False}) as workspace:
        yield workspace


@pytest.fixture(scope="module")
def parquet(ws: Any) -> Any:
    return ws.put(as_parquet(row_group_size=4000), tool="p", media_type=PARQUET)


@pytest.fixture(scope="module")
def table(ws: Any) -> Any:
    return ws.put("id,name\n" + "".join(f"{n:05},n{n % 9}\n" for n in range(ROWS)), tool="c", media_type="text/csv")


def test_arrow_libraries_take_a_handle_as_it_stands(
    parquet: Any, table: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pyarrow.table(parquet).equals(TABLE)
    assert "kmnb: loading " in capsys.readouterr().err
    assert pyarrow.schema(parquet).equals(TABLE.schema)
    assert capsys.readouterr().err == "", "the footer has the schema"
    assert pandas.DataFrame.from_arrow(parquet)["id"].sum() == sum(range(ROWS))
    assert polars.DataFrame(table)["id"][7] == "00007"


def test_eager_frames_of_polars(parquet: Any, table: Any, capsys: pytest.CaptureFixture[str]) -> None:
    frame = parquet.to_polars(["day", "id"])
    assert frame.schema == {"day": polars.Date, "id": polars.Int64}
    assert table.to_polars().shape == (ROWS, 2)
    assert capsys.readouterr().err.count("kmnb: loading ") == 2
    with pytest.raises(BadRequest, match="'nope'"):
        parquet.to_polars(["nope"])
    for ask in (parquet.to_arrow, parquet.to_polars, table.lazy(max_bytes=10).collect):
        with pytest.raises(BoundExceeded, match="max_bytes="):
            ask(**({} if "collect" in ask.__name__ else {"max_bytes": 10}))


def moved(ws: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    sizes: list[int] = []
    area = ws.context.backend.discussions
    before = area.get_range

    async def counted(*arguments: Any, **options: Any) -> bytes:
        data: bytes = await before(*arguments, **options)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(area, "get_range", counted)
    return sizes


def test_a_lazy_frame_reads_when_it_is_collected_and_only_what_it_needs(
    ws: Any, parquet: Any, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = moved(ws, monkeypatch)
    lazy, text = parquet.lazy(), table.lazy()
    query = lazy.filter(polars.col("id") % 1000 == 7).group_by("name").len().sort("name")
    assert sizes == []
    assert query.collect()["len"].sum() == ROWS // 1000
    assert lazy.select("day").collect()["day"].to_list() == TABLE["day"].to_pylist()
    assert lazy.filter(polars.col("id") > 100).head(3).collect()["id"].to_list() == [101, 102, 103]
    assert lazy.collect().equals(polars.from_arrow(TABLE))
    assert text.head(3).collect().rows() == [(f"0000{n}", f"n{n}") for n in range(3)]
    assert text.filter(polars.col("name") == "n8").select("id").collect().shape == (ROWS // 9, 1)


def test_a_few_rows_of_a_lazy_frame_cost_a_few_pages(ws: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pyarrow.table({f"c{at}": [n / (at + 3) for n in range(200_000)] for at in range(4)})
    content = written(table, "parquet")
    art = ws.put(content, tool="pages", media_type=PARQUET)
    sizes = moved(ws, monkeypatch)
    assert art.lazy().head(20).collect().equals(polars.from_arrow(table.slice(0, 20)))
    assert art.lazy().select("c2", "c1").head(3).collect().equals(polars.from_arrow(table.select(["c2", "c1"])).head(3))
    assert sum(sizes) < len(content) * 0.4
    assert art.lazy().head(150_001).collect().equals(polars.from_arrow(table.slice(0, 150_001)))
    assert ws.put(written(table.slice(0, 5), "parquet"), tool="five").lazy().head(20).collect().shape == (5, 4)
    assert ws.put(written(table.slice(0, 0), "parquet"), tool="none").lazy().head(20).collect().shape == (0, 4)


def test_sql_reads_addresses_and_handles(ws: Any, parquet: Any) -> None:
    ws.save("pods.parquet", as_parquet(), media_type=PARQUET)
    ws.save("pods.csv", "name,pods\na,3\nb,4\n")
    with kmnb.duckdb(workspace=ws) as connection:
        assert kmnb.duckdb(connection, workspace=ws) is connection
        asked = "select count(*), sum(id) from 'artifact://pods.parquet' where name = 'n4'"
        assert connection.sql(asked).fetchall() == [(2222, sum(range(4, ROWS, 9)))]
        assert connection.sql("select sum(pods) from read_csv('artifact://pods.csv')").fetchall() == [(7,)]
        art = parquet
        assert connection.sql("select max(id) from art").fetchall() == [(ROWS - 1,)]
        assert art is parquet


TYPED = pyarrow.table(
    {
        "tiny": pyarrow.array([1, None], pyarrow.int8()),
        "huge": pyarrow.array([2**64 - 1, None], pyarrow.uint64()),
        "price": pyarrow.array([Decimal("1.10"), None]),
        "at": pyarrow.array([datetime(2026, 1, 2, 3, 4), None], pyarrow.timestamp("us", "UTC")),
        "day": pyarrow.array([date(2026, 1, 2), None]),
        "took": pyarrow.array([timedelta(seconds=90), None]),
        "raw": pyarrow.array([b"\xff\x00", None]),
        "on": pyarrow.array([True, None]),
        "code": pyarrow.array(["00010", None]),
        "kind": pyarrow.array(["x", None]).dictionary_encode(),
        "parts": pyarrow.array([{"a": [1, 2]}, None]),
    }
)


def written(table: Any, kind: str) -> bytes:
    out = io.BytesIO()
    if kind == "parquet":
        pyarrow.parquet.write_table(table, out)
    else:
        maker = pyarrow.ipc.new_file if kind == "file" else pyarrow.ipc.new_stream
        with maker(out, table.schema) as writer:
            writer.write_table(table)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
def test_parquet_and_arrow_keep_their_types_in_every_frame(ws: Any, kind: str) -> None:
    art = ws.put(written(TYPED, kind), tool=f"typed-{kind}")
    assert art.to_arrow().equals(TYPED)
    assert pyarrow.schema(art).equals(TYPED.schema)
    assert pyarrow.table(art).equals(TYPED)
    frame = art.to_pandas()
    assert frame["at"][0] == pandas.Timestamp("2026-01-02 03:04", tz="UTC")
    assert pandas.isna(frame["at"][1])
    assert (frame["huge"][0], str(frame["tiny"].dtype), str(frame["code"].dtype)) == (2**64 - 1, "Int8", "string")
    assert (frame["price"][0], frame["raw"][0], frame["day"][0]) == (Decimal("1.10"), b"\xff\x00", date(2026, 1, 2))
    assert frame["took"][0] == pandas.Timedelta(seconds=90)
    assert art.to_pandas(["code"], infer=True)["code"][0] == 10
    assert art.to_polars().equals(polars.from_arrow(TYPED))
    assert art.lazy().select("at", "huge").collect().equals(polars.from_arrow(TYPED.select(["at", "huge"])))
    with pytest.raises(BadRequest, match="must be a list of texts"):
        art.to_arrow(5)
    empty = ws.put(written(TYPED.slice(0, 0), kind), tool=f"empty-{kind}")
    assert empty.to_arrow().schema.equals(TYPED.schema)
    assert empty.to_pandas().shape == (0, len(TYPED.schema))


@pytest.mark.parametrize("kind", ["parquet", "file", "csv"])
def test_columns_of_the_same_name_are_all_there_and_the_last_one_has_it(ws: Any, kind: str) -> None:
    if kind == "csv":
        art = ws.put("a,b,a\n1,2,3\n4,5,6\n", tool="same-csv", media_type="text/csv")
    else:
        table = pyarrow.Table.from_arrays([pyarrow.array(one) for one in ([1, 4], [2, 5], [3, 6])], ["a", "b", "a"])
        art = ws.put(written(table, kind), tool=f"same-{kind}")
    frame = art.to_pandas()
    assert list(frame.columns) == ["a.1", "b", "a"]
    assert [int(cell) for cell in frame.iloc[1]] == [4, 5, 6]
    assert art.to_polars().columns == ["a.1", "b", "a"]
    assert [int(cell) for cell in art.lazy().select("a").collect()["a"]] == [3, 6]
    assert art.lazy().head(1).collect().shape == (1, 3)


def test_names_that_are_made_up_stand_nowhere_else() -> None:
    assert unique_names(["a", "a.1", "a", "a", "b"]) == ["a.2", "a.1", "a.3", "a", "b"]


def test_a_column_without_a_name_is_there_in_a_lazy_frame(ws: Any) -> None:
    art = ws.put(",b\n1,2\n", tool="unnamed", media_type="text/csv")
    assert art.lazy().collect().rows() == [("1", "2")]
    assert art.lazy().head(1).collect().rows() == [("1", "2")]


def test_binary_content_is_no_empty_frame(ws: Any) -> None:
    art = ws.put(b"\x00\x01\xff" * 100, tool="binary")
    for load in (art.to_pandas, art.to_arrow, art.to_polars):
        with pytest.raises(BadRequest, match="is binary and has no rows"):
            load()
    assert ws.put("[]", tool="none", media_type="application/json").to_pandas().shape == (0, 0)
    assert ws.put(b"", tool="nothing", media_type="text/csv").to_pandas().shape == (0, 0)


def test_a_damaged_page_is_an_error_and_never_a_wrong_value(ws: Any) -> None:
    content = bytearray(as_parquet(write_page_checksum=True, use_dictionary=False, compression="none"))
    place = bytes(content).index(b"n1\x02\x00\x00\x00n2")
    content[place] ^= 1
    art = ws.put(bytes(content), tool="flipped", media_type=PARQUET)
    for load in (art.to_arrow, art.to_pandas, lambda: pyarrow.table(art)):
        with pytest.raises(StoreError, match="damaged"):
            load()
    for lazy in (art.lazy(), art.lazy().head(20)):
        with pytest.raises(StoreError, match="damaged"):
            lazy.collect()


def test_damage_and_absent_libraries_are_said(ws: Any, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ws.put(b"PAR1" + b"x" * 5000, tool="broken", media_type=PARQUET)
    with pytest.raises(StoreError, match="damaged"):
        broken.to_arrow()
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(NotSupported, match="pip install polars"):
        table.lazy()
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(NotSupported, match="pip install duckdb"):
        kmnb.duckdb(workspace=ws)
    assert duckdb is not None


def test_whole_numbers_inside_lists_and_objects_keep_their_digits_beside_nulls(ws: Any) -> None:
    big = 2**53 + 1
    rows = {
        "list": [[big, None], []],
        "object": [{"a": big, "b": [{"c": None}]}, None],
        "plain": [[1.5, 2.5], None],
    }
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(rows), out)
    frame = ws.put(out.getvalue(), tool="nested", media_type=PARQUET).to_pandas()
    assert frame["list"].tolist() == rows["list"]
    assert frame["object"].tolist() == rows["object"]
    assert [type(value) for value in frame["list"][0]] == [int, type(None)]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "", "3"], [1, None, 3]),
        (["1.50", "", "2"], [1.5, None, 2.0]),
        (["9007199254740993", "1.5", ""], ["9007199254740993", "1.5", ""]),
        (["1" + "0" * 29 + "1", "2"], [10**30 + 1, 2]),
        (["2026-01-02", "", "2026-12-31"], [datetime(2026, 1, 2), None, datetime(2026, 12, 31)]),
        (["01/02/2026", "x"], ["01/02/2026", "x"]),
        (["01/02/2026", "03/04/2026"], ["01/02/2026", "03/04/2026"]),
        (["12:30", "08:15"], ["12:30", "08:15"]),
        (["true", "FALSE", ""], [True, False, None]),
        (["true", "no"], ["true", "no"]),
    ],
)
def test_what_is_inferred_loses_no_digits_and_guesses_no_days(ws: Any, texts: list[str], expected: list[Any]) -> None:
    art = ws.put("id,v\n" + "".join(f"r{n},{text}\n" for n, text in enumerate(texts)), tool="i", media_type="text/csv")
    assert [
        None if value is pandas.NaT or value is pandas.NA else value for value in art.to_pandas(infer=True)["v"]
    ] == (expected)


FRAME = pandas.DataFrame({"ns": ["a", "b", "a"], "n": [1, 2, 3]})
INDEXED: dict[str, tuple[pandas.DataFrame, list[str]]] = {
    "row numbers": (FRAME, ["ns", "n"]),
    "some of them": (FRAME[FRAME.n > 1], ["index", "ns", "n"]),
    "ids": (FRAME.set_axis([101, 7, 5]), ["index", "ns", "n"]),
    "of two frames": (pandas.concat([FRAME, FRAME]), ["index", "ns", "n"]),
    "in another order": (FRAME.sort_values("ns"), ["ns", "n"]),
    "none": (FRAME[FRAME.n > 9], ["ns", "n"]),
    "named": (FRAME.set_index("ns"), ["ns", "n"]),
    "named as a column": (FRAME.set_index("ns", drop=False), ["ns.1", "ns", "n"]),
    "two levels": (FRAME.groupby(["ns", "n"]).size().to_frame("size"), ["ns", "n", "size"]),
    "named numbers": (FRAME.rename_axis("row"), ["row", "ns", "n"]),
    "words": (FRAME.agg({"n": ["min", "max"]}), ["index", "n"]),
    "names of two levels": (FRAME.groupby("ns").agg({"n": ["min", "max"]}), ["ns", "n_min", "n_max"]),
    "days": (FRAME.set_index(pandas.date_range("2026-01-01", periods=3)), ["index", "ns", "n"]),
}


@pytest.mark.parametrize("case", INDEXED)
def test_the_index_of_a_frame_is_stored_as_columns(ws: Any, case: str) -> None:
    frame, names = INDEXED[case]
    before = frame.copy()
    art, text = ws.put(frame, tool="indexed"), ws.put(frame, tool="indexed", media_type="text/csv")
    assert [*art.to_pandas().columns] == names == [*text.to_pandas().columns]
    assert len(art.to_pandas()) == len(text.to_pandas()) == len(frame)
    pandas.testing.assert_frame_equal(frame, before)
