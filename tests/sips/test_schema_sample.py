"""schema and sample: types are told, never applied; the same seed chooses the same records."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.errors import BadRequest
from kmnb.sips import sample, schema
from tests.sips.driving import sip_bytes
from tests.sips.records import run_sip


@pytest.mark.parametrize("sip", [schema.SIP, sample.SIP])
@pytest.mark.parametrize("step", [1, 5, 1 << 16])
def test_every_example_holds_for_every_size_of_block(sip, step: int) -> None:
    for example in sip.operation.examples:
        answer = run_sip(sip.operation.name, example.content, step=step, **example.arguments)
        assert tuple(answer.values) == example.values
        if example.text is not None:
            assert answer.text == example.text


@pytest.mark.parametrize(
    ("cells", "kind", "nullable"),
    [
        (["1", "-2"], "integer", False),
        (["1", "2.5", ""], "number", True),
        (["00010", "00020"], "text", False),
        (["1", "x"], "text", False),
        (["2024-01-01", "2024-01-02T03:04:05Z"], "timestamp", False),
        (["true", "FALSE"], "boolean", False),
        (["", ""], "null", True),
        (["1e5", "NaN"], "text", False),
    ],
)
def test_a_type_covers_all_cells_and_codes_are_text(cells: list[str], kind: str, nullable: bool) -> None:
    content = b"k,c\n" + b"".join(f"x,{cell}\n".encode() for cell in cells)
    answer = run_sip("schema", content, media_type="text/csv")
    assert answer.values[1] == {"name": "c", "type": kind, "nullable": nullable}


def test_paths_of_json_records_are_told_with_missing_ones_as_nullable() -> None:
    rows = [{"m": {"name": "a"}, "c": [{"i": 1}], "n": None}, {"m": {"name": "b", "l": {}}, "c": [], "n": 2.5}]
    answer = run_sip("schema", json.dumps(rows).encode())
    assert {value["name"]: (value["type"], value["nullable"]) for value in answer.values} == {
        "m.name": ("text", False),
        "c[].i": ("integer", False),
        "n": ("number", True),
        "m.l": ("object", True),
        "c": ("list", True),
    }


def test_types_seen_only_at_the_beginning_are_said_to_be_so() -> None:
    content = b"k,v\n" + b"a,1\n" * 2000 + b"a,x\n"
    first = run_sip("schema", content, rows=1000, step=100)
    assert first.values[1]["type"] == "integer"
    whole = run_sip("schema", content, rows=0)
    assert whole.values[1]["type"] == "text"
    assert whole.notes == ()


def test_a_schema_that_a_file_declares_answers_by_itself_and_a_broken_one_does_not() -> None:
    columns = [{"name": "n", "type": "integer", "nullable": True, "source_type": "int64"}]
    answer = schema.SIP.from_stored(json.dumps({"columns": columns}), {"rows": 1000}, max_bytes=65_536)
    assert answer is not None
    assert answer.values == columns
    for broken in ("", "[]", "{}", '{"columns":[1]}', '{"columns":[{"name":"a"}]}'):
        assert schema.SIP.from_stored(broken, {"rows": 1000}, max_bytes=65_536) is None


@pytest.mark.parametrize(
    "content",
    [
        b'{"items":[{"a":1}],"items":[{"a":2}]}',
        b'[{"a":1}][{"a":2},{"a":3}]',
        b'{"a":"%b","b":1}' % (b"x" * 70_000),
        b"a,b\n1,%b\n2,\n" % (b"z" * 70_000),
        b"a,b\n1\n2,3\n" + b"4,5\n" * 30_000 + b",x\n",
    ],
    ids=["a key twice", "two lists", "one large record", "a large cell", "bad rows"],
)
def test_a_schema_is_the_same_stored_or_not(content: bytes) -> None:
    def told(indexed: bool) -> object:
        try:
            return replace(sip_bytes(content, "schema", {}, indexed=indexed), receipt=None)
        except BadRequest as fault:
            return str(fault)

    assert told(indexed=True) == told(indexed=False)


def test_the_schema_of_large_records_moves_little_and_says_of_how_many_it_is() -> None:
    content = b"\n".join(b'{"a":%d,"b":"%b"}' % (number, b"x" * 2000) for number in range(900))
    answer = sip_bytes(content, "schema", {})
    assert answer.fetched_bytes < 400_000 < len(content)
    assert [column["name"] for column in answer.values] == ["a", "b"]
    assert answer.notes[0].startswith("types are those of the first 1")
    assert sip_bytes(content, "schema", {"rows": 900}).fetched_bytes == len(content)


@given(st.integers(0, 60), st.integers(0, 20), st.integers(), st.integers(1, 200))
def test_a_sample_is_the_same_for_every_way_of_arriving(rows: int, size: int, seed: int, step: int) -> None:
    content = b"id,x\n" + b"".join(b"%d,y\n" % number for number in range(rows))
    answer = run_sip("sample", content, rows=size, seed=seed, step=step, media_type="text/csv")
    again = run_sip("sample", content, rows=size, seed=seed, media_type="text/csv")
    assert answer.values == again.values
    chosen = [int(value["id"]) for value in answer.values]
    assert chosen == sorted(set(chosen))
    assert (answer.shown, answer.total) == (min(rows, size), rows)


def test_every_record_has_the_same_chance() -> None:
    content = b"id,x\n" + b"".join(b"%d,y\n" % number for number in range(20))
    met = [0] * 20
    for seed in range(400):
        for value in run_sip("sample", content, rows=5, seed=seed).values:
            met[int(value["id"])] += 1
    assert min(met) > 60
    assert max(met) < 140


def test_lines_of_plain_text_are_sampled_as_lines() -> None:
    answer = run_sip("sample", b"one line, here\nanother one\n", rows=5, structured=False)
    assert answer.values == ["one line, here", "another one"]


def test_records_that_do_not_fit_the_cap_are_left_out_and_said_to_be() -> None:
    content = b"".join(b'{"a":"%b"}\n' % (b"x" * 200) for _ in range(10))
    answer = run_sip("sample", content, rows=10, max_bytes=1000)
    assert len(answer.text.encode()) <= 1000
    assert not answer.complete
    assert "10 records were chosen" in answer.notes[0]
