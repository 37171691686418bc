"""A handle is data for Arrow, polars and DuckDB as it stands; what reads all of it names the size and has a limit."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import date
from typing import Any

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import kmnb
from kmnb.errors import BadRequest, BoundExceeded, NotSupported, StoreError

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
