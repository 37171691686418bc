"""Rows by their number are the rows that a walk from the beginning gives, whatever the format."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest

import kmnb
from kmnb import _bridge
from kmnb.errors import BadRequest, BoundExceeded
from kmnb.formats import _parquet_rows as parquet_rows
from kmnb.ops import rows as module
from kmnb.ops._ordering import Ordering
from kmnb.ops.column_facts import Columns
from kmnb.ops.rows import RowReader

COUNT = 12_000
COLUMNAR = ("parquet", "arrow")


@pytest.fixture(scope="module")
def workspace() -> Iterator[Any]:
    with kmnb.connect("memory://", thread="t", agent="a") as workspace:
        yield workspace


def records() -> list[dict[str, Any]]:
    return [{"id": str(n), "text": f"wörd {n % 13}", "pad": "x" * (n % 40)} for n in range(COUNT)]


def as_csv(quoted: bool = False) -> bytes:
    mark = '"{}\n{}"' if quoted else "{} {}"
    lines = (f"{r['id']},{mark.format(*r['text'].split())},{r['pad']}\n" for r in records())
    return ("id,text,pad\n" + "".join(lines)).encode()


def as_columnar(kind: str) -> bytes:
    table, out = pyarrow.Table.from_pylist(records()), io.BytesIO()
    if kind == "parquet":
        pyarrow.parquet.write_table(table, out, row_group_size=5000, data_page_size=4096, max_rows_per_page=300)
    else:
        with pyarrow.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=1500)
    return out.getvalue()


CONTENTS = {
    "parquet": (as_columnar("parquet"), "application/vnd.apache.parquet"),
    "arrow": (as_columnar("arrow"), "application/vnd.apache.arrow.file"),
    "csv": (as_csv(), "text/csv"),
    "quoted csv": (as_csv(quoted=True), "text/csv"),
    "gzip": (gzip.compress(as_csv()), "text/csv"),
    "ndjson": ("".join(json.dumps(r) + "\n" for r in records()).encode(), "application/x-ndjson"),
    "json list": (json.dumps(records(), ensure_ascii=False).encode(), "application/json"),
    "items": (json.dumps({"kind": "L", "items": records(), "end": [1]}, indent=1).encode(), "application/json"),
    "kubectl": (
        ("ID     TEXT       PAD\n" + "".join(f"{r['id']:<6} w{int(r['id']) % 13:<9} p\n" for r in records())).encode(),
        "text/plain",
    ),
}


@pytest.fixture(scope="module", params=CONTENTS)
def artifact(request: pytest.FixtureRequest, workspace: Any) -> Any:
    content, media_type = CONTENTS[request.param]
    return workspace.put(content, tool="rows", media_type=media_type)


def page(reader: RowReader, start: int, limit: int, **options: Any) -> Any:
    return _bridge.run(reader.page(start, limit, **options))


@pytest.mark.parametrize("start", [0, 1, 777, 2500, 6001, COUNT - 3, COUNT, COUNT + 50])
def test_any_page_holds_the_rows_of_its_numbers(artifact, start):
    found = page(RowReader(artifact), start, 5)
    wanted = [str(n) for n in range(start, min(start + 5, COUNT))]
    assert [row[0] for row in found.rows] == wanted
    assert list(found.numbers) == [int(n) for n in wanted]
    assert found.total in (COUNT, None)


def test_a_far_page_of_indexed_content_moves_little(workspace, monkeypatch):
    content, media_type = CONTENTS["csv"]
    big = workspace.put(content * 20, tool="big", media_type=media_type)
    moved = counting(workspace, monkeypatch)
    found = page(RowReader(big), big.rows - 5, 5)
    assert len(found.rows) == 5
    assert sum(moved) <= 300_000
    assert len(moved) <= 4


def counting(workspace: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note how many bytes each read moves."""
    moved: list[int] = []
    area = workspace.context.backend.discussions
    before = area.get_range

    async def counted(*arguments: Any, **options: Any) -> bytes:
        data: bytes = await before(*arguments, **options)
        moved.append(len(data))
        return data

    monkeypatch.setattr(area, "get_range", counted)
    return moved


@pytest.mark.parametrize("held", [50_000, 1 << 26])
def test_rows_of_a_columnar_format_are_the_same_by_whichever_road(workspace, monkeypatch, held):
    """Row groups that may be held, and those from which rows are picked column by column."""
    monkeypatch.setattr(parquet_rows, "CHUNKS_MAX_BYTES", held)
    monkeypatch.setattr(parquet_rows, "WHOLE_BYTES", 1000)
    for kind in COLUMNAR:
        reader = RowReader(workspace.put(CONTENTS[kind][0], tool="road", media_type=CONTENTS[kind][1]))
        for start in (0, 100, 290, 1020, 4998, 7777, COUNT - 3):
            assert [row[0] for row in page(reader, start, 5).rows] == [
                str(n) for n in range(start, min(start + 5, COUNT))
            ]
        found = page(reader, 195, 10, order=("id", True))
        assert [int(row[0]) for row in found.rows] == list(range(COUNT - 196, COUNT - 206, -1))
        assert found.total == COUNT
        assert [int(row[0]) for row in page(reader, 0, 3, order=("id", True), where="text = 'wörd 7'").rows] == [
            11_993, 11_980, 11_967,
        ]  # fmt: skip


def test_the_first_rows_of_a_row_group_cost_its_first_pages(workspace, monkeypatch):
    random = Random(7)
    table = pyarrow.table({f"c{n}": [random.random() for _ in range(100_000)] for n in range(4)})
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, use_dictionary=False, data_page_size=65_536)
    art = workspace.put(out.getvalue(), tool="wide", media_type=CONTENTS["parquet"][1])
    assert art.size > 3_000_000
    moved = counting(workspace, monkeypatch)
    reader = RowReader(art)
    assert [row[0] for row in page(reader, 0, 20).rows] == table["c0"].to_pylist()[:20]
    # The footer and the sniffed beginning take 64 KiB each, a column a page of the size that the writer chose.
    assert sum(moved) <= 2 * 65_536 + 4 * (65_536 + 3 * parquet_rows.HEADER_BYTES + 65_536)
    moved.clear()
    told = _bridge.run(Columns(art, reader).told())
    assert [one["max"] for one in told["columns"]] == [max(table[f"c{n}"].to_pylist()) for n in range(4)]
    assert sum(moved) <= 2 * 65_536, "types, nulls and ranges come from the footer"


def test_a_search_goes_on_where_the_last_call_ended(workspace, monkeypatch):
    monkeypatch.setattr(module, "SCAN_MAX_BYTES", 100_000)
    content, media_type = CONTENTS["csv"]
    table = workspace.put(content, tool="search", media_type=media_type)
    reader, shares, found = RowReader(table), [], None
    while not shares or shares[-1] < 1:
        found = page(reader, 0, 5, where="id = 11999")
        shares.append(found.searched)
        assert len(shares) < 100
    assert [row[0] for row in found.rows] == ["11999"]
    assert found.total == 1
    assert shares == sorted(shares)
    assert len(shares) > 1


def test_pages_of_a_search_add_up(artifact):
    reader = RowReader(artifact)
    column = page(reader, 0, 1).columns[0]
    seen: list[str] = []
    while True:
        found = page(reader, len(seen), 40, where=f"`{column}` >= 11800 and `{column}` < 11900")
        seen += [row[0] for row in found.rows]
        if found.searched == 1 and len(seen) == found.total:
            break
    assert seen == [str(n) for n in range(11800, 11900)]


def test_an_order_is_by_number_then_text_then_nothing(workspace):
    table = workspace.put("v,n\nb,1\n10,2\n,3\n9,4\na,5\n-1,6\n", tool="order", media_type="text/csv")
    reader = RowReader(table)
    assert [row[1] for row in page(reader, 0, 9, order=("v", False)).rows] == ["6", "4", "2", "5", "1", "3"]
    assert [row[1] for row in page(reader, 0, 9, order=("v", True)).rows] == ["2", "4", "6", "1", "5", "3"]
    assert [row[1] for row in page(reader, 1, 1, order=("v", True), where="n < 5").rows] == ["4"]


@pytest.mark.parametrize("descending", [False, True])
def test_an_order_is_exact_and_leaves_equal_values_as_they_stand(descending):
    values = [2**53, 2**53 + 1, 10**400, "1e3", "x", "", None, -1.5, "Y", "1000", 2**53 - 1, "x", -(10**400), "0"]
    ordering = Ordering(descending=descending)
    ordering.add(values[:5], range(5))
    ordering.add(values[5:], range(5, len(values)))
    numbers = [12, 7, 13, 3, 9, 10, 0, 1, 2]
    texts = [8, 4, 11]
    if descending:
        numbers, texts = [2, 1, 0, 10, 3, 9, 13, 7, 12], [4, 11, 8]
    assert list(ordering.rows()) == [*numbers, *texts, 5, 6]


def test_too_much_is_not_put_in_order_and_unknown_columns_are_errors(workspace, monkeypatch):
    table = workspace.put("v,n\n" + "b,1\n" * 100, tool="order", media_type="text/csv")
    for options in ({"order": ("x", False)}, {"where": "x = 1"}, {"order": ("v", False), "where": "x = 1"}):
        with pytest.raises(BadRequest, match='"x" not found'):
            page(RowReader(table), 0, 5, **options)
    monkeypatch.setattr(module, "SORT_MAX_BYTES", 100)
    with pytest.raises(BoundExceeded, match="put in order"):
        page(RowReader(table), 0, 5, order=("v", False))
