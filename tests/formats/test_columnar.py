"""Parquet and Arrow: only the bytes that are needed, damaged pages are errors, values that JSON can hold."""

from __future__ import annotations

import gzip
import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from kmnb.errors import NotSupported, StoreError
from kmnb.formats import _arrow, arrow, parquet
from kmnb.formats._inspect import inspect
from tests.formats.reading import cases, corpus, read, scan
from tests.sips.driving import sip_bytes

ROWS = 80_000
TABLE = pa.table(
    {
        "id": list(range(ROWS)),
        "name": [f"pod-{number}" for number in range(ROWS)],
        "kind": pa.array(["p", "q"] * (ROWS // 2)).dictionary_encode(),
    }
)


def as_parquet(table: Any = TABLE, **options: Any) -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, row_group_size=20_000, **options)
    return out.getvalue()


def as_arrow(table: Any = TABLE, compression: str | None = None) -> bytes:
    out = io.BytesIO()
    options = pyarrow.ipc.IpcWriteOptions(compression=compression)
    with pyarrow.ipc.new_file(out, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=20_000)
    return out.getvalue()


def as_stream(table: Any = TABLE) -> bytes:
    out = io.BytesIO()
    with pyarrow.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=20_000)
    return out.getvalue()


COLUMNAR = [case for case in cases("rows", "columns", "select") if case["args"]["format"] in ("parquet", "arrow-file")]


@pytest.mark.parametrize("case", COLUMNAR, ids=lambda case: case["id"])
def test_columnar_files_of_the_corpus(case) -> None:
    content = corpus(case["file"].removeprefix("files/"))
    found = read(content, step=1000)
    assert found.columns is not None
    if case["op"] == "rows":
        assert len(found.rows) == inspect(content).rows == case["expected"]
    elif case["op"] == "columns":
        assert list(found.columns[: len(case["expected"])]) == case["expected"]
    else:
        plugin = parquet.FORMAT
        ranged, _ = scan(plugin, content, case["args"]["columns"])
        assert ranged.rows[: case["args"]["limit"]] == case["expected"]


def test_a_page_with_a_wrong_checksum_is_an_error() -> None:
    """S329: without the check 5,120 rows of wrong data would come."""
    with pytest.raises(StoreError, match=r"page integrity|checksum|CRC"):
        scan(parquet.FORMAT, corpus("columnar/corrupt-crc.parquet"), None)


@pytest.mark.parametrize(
    ("plugin", "content"),
    [
        (parquet.FORMAT, as_parquet()),
        (arrow.FORMAT, as_arrow()),
        (arrow.FORMAT, as_arrow(compression="zstd")),
    ],
    ids=["parquet", "arrow", "arrow-zstd"],
)
def test_only_the_columns_that_are_asked_for_are_moved(plugin: Any, content: bytes) -> None:
    whole, all_moved = scan(plugin, content, None)
    assert whole.rows[-1] == [ROWS - 1, f"pod-{ROWS - 1}", "q"]
    found, moved = scan(plugin, content, ["kind"])
    assert found.columns == ("id", "name", "kind")
    assert [row[0] for row in found.rows] == ["p", "q"] * (ROWS // 2)
    size = sum(need.end - need.start for need in moved)
    # Ranges are at least 64 KiB, which is most of a small packed batch.
    if len(content) > 1 << 20:
        assert size < 0.5 * sum(need.end - need.start for need in all_moved)
        assert size < 0.5 * len(content)


def test_counting_parquet_moves_its_footer_alone() -> None:
    content = as_parquet()
    found, moved = scan(parquet.FORMAT, content, [])
    assert found.counted == ROWS
    assert sum(need.end - need.start for need in moved) <= 65_536


@pytest.mark.parametrize("content", [as_parquet(), as_arrow(), as_arrow(compression="zstd"), as_stream()])
@pytest.mark.parametrize("step", [1000, 1 << 20])
def test_rows_and_columns_are_known_when_the_content_has_passed_by(content: bytes, step: int) -> None:
    plugin = parquet.FORMAT if content.startswith(b"PAR1") else arrow.FORMAT
    counter = plugin.counter(b"", indexed=False)
    for at in range(0, len(content), step):
        counter.feed(content[at : at + step])
    assert counter.finish() == ROWS
    assert counter.description is not None
    assert [column["name"] for column in counter.description.columns] == ["id", "name", "kind"]


@pytest.mark.parametrize("content", [as_parquet(TABLE.slice(0, 50)), as_arrow(TABLE.slice(0, 50))])
def test_the_preview_of_a_small_file_has_its_first_rows(content: bytes) -> None:
    lines = inspect(content).preview.split("\n")
    assert lines[lines.index("id,name,kind") + 1 :][:2] == ["0,pod-0,p", "1,pod-1,q"]


def test_the_preview_of_a_large_parquet_file_has_what_its_footer_tells_of_the_columns() -> None:
    numbers = pa.array([None if n % 2000 == 0 else n for n in range(ROWS)])
    content = as_parquet(pa.table({"id": TABLE["id"], "name": TABLE["name"], "rare": numbers}), compression="none")
    assert len(content) > 256 * 1024
    lines = inspect(content).preview.split("\n")
    at = lines.index("column,min,max,nulls")
    assert lines[at + 1 :] == [f"id,0,{ROWS - 1},0%", "name,pod-0,pod-9999,0%", f"rare,1,{ROWS - 1},<1%"]


def test_a_stream_and_a_packed_file_are_read_when_they_arrive_whole() -> None:
    assert len(read(as_stream(), step=5000).rows) == ROWS
    found = read(gzip.compress(as_parquet(TABLE.slice(0, 10))))
    assert [row[0] for row in found.rows] == list(range(10))


def test_values_are_those_that_json_can_hold() -> None:
    """S15: NaN and infinities are told by name; times, decimals and bytes as text; integers stay exact."""
    table = pa.table(
        {
            "f": [float("nan"), float("-inf"), 1.5, None],
            "t": [datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)] * 4,
            "d": [Decimal("1.10")] * 4,
            "b": [b"text", b"\xff\x00", b"", None],
            "i": pa.array([2**64 - 1, 2**53 + 1, 0, None], pa.uint64()),
            "s": [{"a": [float("inf")]}, None, {"a": []}, {"a": None}],
        }
    )
    rows = scan(parquet.FORMAT, as_parquet(table), None)[0].rows
    json.dumps(rows, allow_nan=False)
    assert [row[0] for row in rows] == ["NaN", "-Infinity", 1.5, None]
    assert rows[0][1:4] == ["2024-01-02T03:04:05+00:00", "1.10", "text"]
    assert [row[3] for row in rows] == ["text", "0xff00", "", None]
    assert [row[4] for row in rows] == [2**64 - 1, 2**53 + 1, 0, None]
    assert [row[5] for row in rows] == [{"a": ["Infinity"]}, None, {"a": []}, {"a": None}]


@pytest.mark.parametrize("plugin", [parquet.FORMAT, arrow.FORMAT], ids=["parquet", "arrow"])
@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9, 0.999])
def test_a_file_that_ends_too_early_is_a_clear_error(plugin: Any, cut: float) -> None:
    content = as_parquet() if plugin is parquet.FORMAT else as_arrow()
    part = content[: int(len(content) * cut)]
    with pytest.raises(StoreError, match="damaged"):
        scan(plugin, part, None)
    assert "0 rows" not in inspect(part).preview


@pytest.mark.parametrize("plugin", [parquet.FORMAT, arrow.FORMAT], ids=["parquet", "arrow"])
def test_damaged_bytes_anywhere_raise_nothing_but_a_store_error(plugin: Any) -> None:
    table = TABLE.slice(0, 200)
    content = as_parquet(table, write_page_checksum=True) if plugin is parquet.FORMAT else as_arrow(table)
    for at in range(0, len(content), max(1, len(content) // 60)):
        broken = content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]
        inspect(broken)
        try:
            found, _ = scan(plugin, broken, None)
        except StoreError:
            continue
        if plugin is parquet.FORMAT:
            assert [row[1] for row in found.rows] == [f"pod-{number}" for number in range(200)]


def test_without_pyarrow_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(NotSupported, match=r"kmnb\[arrow\]"):
        _arrow.arrow()
    with pytest.raises(NotSupported, match="pyarrow"):
        scan(parquet.FORMAT, as_parquet_without_import(), None)
    assert "kmnb[arrow]" in inspect(corpus("columnar/nested_lists.snappy.parquet")).preview
    assert inspect(corpus("columnar/generated_primitive.arrow_file")).rows == 37


def as_parquet_without_import() -> bytes:
    return corpus("columnar/nested_lists.snappy.parquet")


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
def test_a_schema_is_the_one_that_the_file_declares_stored_or_not_and_moves_no_rows(kind: str) -> None:
    fields = [pa.field("id", pa.int64(), nullable=False), pa.field("at", pa.timestamp("us"))]
    rows = pa.table([pa.array(range(100_000)), pa.nulls(100_000, pa.timestamp("us"))], pa.schema(fields))
    out = io.BytesIO()
    if kind == "parquet":
        pa.parquet.write_table(rows, out, compression="none", use_dictionary=False)
    else:
        with (pa.ipc.new_file if kind == "file" else pa.ipc.new_stream)(out, rows.schema) as writer:
            writer.write_table(rows)
    content = out.getvalue()
    foreign = sip_bytes(content, "schema", {})
    assert foreign.values == sip_bytes(content, "schema", {}, indexed=True).values
    assert [(one["name"], one["type"], one["nullable"]) for one in foreign.values] == [
        ("id", "integer", False),
        ("at", "timestamp", True),
    ]
    assert kind == "stream" or foreign.fetched_bytes < 200_000
    assert sip_bytes(gzip.compress(content), "schema", {}).values == foreign.values
