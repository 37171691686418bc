"""A few rows of Parquet cost the beginning of a dictionary, and never another value than the file has."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kmnb.core.records import Need
from kmnb.errors import StoreError
from kmnb.formats import parquet
from kmnb.formats._parquet_dictionary import _snappy_beginning

ROWS = 60_000
TABLE = pa.table(
    {
        "float": [n / 7 for n in range(ROWS)],
        "whole": pa.array([n * 3 for n in range(ROWS)], pa.int32()),
        "text": [f"a text of some length with the number {n}" for n in range(ROWS)],
        "rare": pa.array([None if n % 2 else n * 1.5 for n in range(ROWS)]),
        "list": [[n, n + 1] for n in range(ROWS)],
        "same": [7] * ROWS,
    }
)


def written(table: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, **options)
    return out.getvalue()


def head(content: bytes, rows: int) -> tuple[list[Any], int]:
    """The first rows, and how many bytes were asked for."""
    scan = parquet.FORMAT.scan(len(content), None)
    found: list[Any] = []
    answer, moved = None, 0
    while len(found) < rows:
        asked = scan.send(answer)
        answer = None
        if isinstance(asked, Need):
            answer = content[asked.start : asked.end]
            moved += len(answer)
        else:
            found += asked.rows
    return found[:rows], moved


@pytest.mark.parametrize(
    "options", [{}, {"compression": "none"}, {"data_page_version": "2.0"}, {"row_group_size": 9000}]
)
def test_the_first_rows_cost_the_beginning_of_dictionaries(options: dict[str, Any]) -> None:
    content = written(TABLE, **options)
    rows, moved = head(content, 20)
    assert rows == [list(row.values()) for row in TABLE.slice(0, 20).to_pylist()]
    assert moved < len(content) * 0.35


def test_what_has_a_checksum_is_read_whole_and_checked() -> None:
    content = bytearray(written(TABLE.select(["float"]), write_page_checksum=True))
    rows, moved = head(bytes(content), 20)
    assert [row[0] for row in rows] == [n / 7 for n in range(20)]
    assert moved > 300_000
    content[200_000] ^= 255
    with pytest.raises(StoreError, match="damaged"):
        head(bytes(content), 20)


@pytest.mark.parametrize("keeps_type", [True, False])
def test_rows_that_use_the_last_values_of_a_dictionary_get_them(keeps_type: bool) -> None:
    values = pa.array([f"a value of some length that is number {n}" for n in range(ROWS)])
    places = pa.array([ROWS - 1 - n for n in range(1000)], pa.int32())
    table = pa.table({"kind": pa.DictionaryArray.from_arrays(places, values)})
    content = written(table, store_schema=keeps_type, dictionary_pagesize_limit=1 << 24)
    rows, _ = head(content, 20)
    assert rows == [[values[ROWS - 1 - n].as_py()] for n in range(20)]


@given(st.binary(max_size=3000).map(lambda data: data + data[: len(data) // 2] + b"\0" * 300), st.floats(0, 1))
@example(bytes(range(256)) * 300, 0.5)
def test_what_is_unpacked_of_a_block_is_its_beginning(data: bytes, share: float) -> None:
    packed = pa.compress(data, "snappy", asbytes=True)
    assert _snappy_beginning(packed) == data
    found = _snappy_beginning(packed[: int(len(packed) * share)])
    assert data.startswith(found)


@given(st.binary(max_size=500))
def test_any_bytes_can_be_tried(data: bytes) -> None:
    assert len(_snappy_beginning(data)) <= 64 * len(data) + 64
