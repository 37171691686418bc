"""Pages deep inside: the same answers as a scan gives, for a small part of the bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb._bridge import run
from kmnb.core.index import IndexBuilder
from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.core.records import Dialect
from kmnb.core.slice import Slice
from kmnb.formats import _counting, _json_counting
from kmnb.formats._detect import format_named
from kmnb.formats._inspect import Inspector
from kmnb.ops.sip import run_sip
from tests.sips.driving import BytesArea

COUNT = 4000
KIB = 1024


def pod(number: int) -> bytes:
    """A record of some 90 bytes; numbers beyond floats, texts with brackets and escapes."""
    record = {"name": f'pod-{number} ]}}",\\', "id": 9007199254740993 + number, "é": [{"x": number}, None]}
    return json.dumps(record, ensure_ascii=number % 2 == 0).encode()


def quoted(number: int) -> bytes:
    """A CSV record: some are blank, ragged, or span two lines."""
    if number % 97 == 0:
        return b"\n"
    if number % 89 == 0:
        return b"%d,too,many,cells\n" % number
    text = b'"two\nlines, ""quoted"" %d"' % number if number % 5 == 0 else b"a plain text of record %d" % number
    return b"%d,%b,%d\r\n" % (number, text, number * 7)


def line(number: int) -> bytes:
    """A line of NDJSON: some are blank or no JSON."""
    return b"\n" if number % 101 == 0 else b"no JSON %d\n" % number if number % 103 == 0 else pod(number) + b"\n"


CONTENTS: dict[str, Callable[[], bytes]] = {
    "json": lambda: b'{"kind":"List","items": [' + b", ".join(map(pod, range(COUNT))) + b'],"more":{"items":[1]}}\n',
    "json list": lambda: b"[\n" + b",\n".join(map(pod, range(COUNT))) + b"\n]\n",
    "json below": lambda: b'{"data":{"result":[' + b",".join(map(pod, range(COUNT))) + b']}}{"data":{"result":[{}]}}',
    # No line end stands behind the last record: it is known only when the content has ended.
    "jsonl": lambda: b"\n".join(map(pod, range(COUNT))),
    "jsonl with bad lines": lambda: b"".join(map(line, range(COUNT))),
    "csv": lambda: b"name,text,n\n" + b"".join(b"%d,some text of this row,%d\n" % (n, n * 3) for n in range(2 * COUNT)),
    "csv with quotes": lambda: b"name,text,n\r\n" + b"".join(map(quoted, range(2 * COUNT))),
    "text": lambda: b"".join(b"line %d of a text that is no table\n" % n for n in range(2 * COUNT)),
    "kubectl": lambda: b"NAME        STATUS    AGE\n"
    + b"".join(b"pod-%06d  Running   %dd\n" % (n, n) for n in range(2 * COUNT)),
}  # fmt: skip


def info_of(content: bytes, *, indexed: bool, block: int = 5000, media_type: str | None = None) -> ObjectInfo:
    """Facts of a stored object that was inspected in small blocks, or of a foreign one."""
    inspector = Inspector(media_type)
    for at in range(0, len(content), block):
        inspector.feed(content[at : at + block])
    attributes = {Attribute.CONTENT_TYPE: media_type} if media_type else {}
    attributes = inspector.finish().attributes() if indexed else attributes
    return ObjectInfo("k", len(content), "sha256:" + hashlib.sha256(content).hexdigest(), attributes=attributes)


def sip(area: BytesArea, info: ObjectInfo, name: str, **arguments: Any) -> Slice:
    return run(run_sip((area, info), name, arguments))  # type: ignore[arg-type]


def pages(
    content: bytes, name: str, *, indexed: bool, media_type: str | None = None, **arguments: Any
) -> list[tuple[Slice, int]]:
    """All pages with what each moved."""
    info, cursor, found = info_of(content, indexed=indexed, media_type=media_type), None, []
    while True:
        area = BytesArea(content)
        answer = sip(area, info, name, cursor=cursor, **arguments)
        assert answer.fetched_bytes == area.moved
        found.append((answer, area.moved))
        cursor = answer.cursor
        if cursor is None:
            return found


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        *((kind, None) for kind in CONTENTS),
        ("csv with quotes", "n > 100"),
        ("json", "id > 9007199254740999"),
        ("text", "line like '%7%'"),
    ],
)
def test_pages_of_a_selection_are_those_of_a_scan_and_move_little(kind: str, where: str | None) -> None:
    content = CONTENTS[kind]()
    columns = ["line"] if kind == "text" else ["*"]
    arguments = {"columns": columns, "where": where, "max_bytes": 30_000}
    found, plain = (pages(content, "select", indexed=indexed, **arguments) for indexed in (True, False))
    assert len(found) == len(plain) > 2
    for (one, _), (other, _) in zip(found, plain, strict=True):
        assert one.values == other.values
        assert (one.complete, one.text) == (other.complete, other.text)
        for answer in (one, other):
            assert answer.total_is_lower_bound or answer.total == plain[0][0].total
    # The beginning, at most one stride before the page, and windows that grow behind it.
    moved = [moved for _, moved in found[2:]]
    assert max(moved) <= 64 * KIB + 30_000 + 400 * KIB
    assert min(moved) < len(content) * 0.7


def test_pages_behind_a_header_that_is_longer_than_the_beginning() -> None:
    """The columns are not known when the beginning was read: no record in the middle names them."""
    content = b'"first\n' + b"z" * 70_000 + b'",N\n' + b"".join(b"x,%05d\n" % n for n in range(12_000))
    arguments = {"columns": ["N"], "limit": 9000, "max_bytes": 10**6, "media_type": "text/csv"}
    found, plain = (pages(content, "select", indexed=indexed, **arguments) for indexed in (True, False))
    assert [one.values[0] for one, _ in found] == [{"N": "00000"}, {"N": "09000"}]
    assert [one.values for one, _ in found] == [one.values for one, _ in plain]


def test_pages_of_text_that_is_read_as_one_column_have_each_row_once() -> None:
    """Stored as text, whose records are its lines; the first of these names the column."""
    content = b"name\n" + b"".join(b"row-%06d\n" % n for n in range(12_000))
    found = pages(content, "select", indexed=True, columns=["name"], limit=7000, max_bytes=10**7)
    assert [one.values[0]["name"] for one, _ in found] == ["row-000000", "row-007000"]
    assert (found[-1][0].values[-1]["name"], found[-1][0].total) == ("row-011999", 12_000)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("jq", "json"),
        ("jq", "json below"),
        ("jq", "jsonl with bad lines"),
        ("jmespath", "json list"),
        ("jmespath", "jsonl with bad lines"),
    ],
)
def test_pages_of_a_query_are_those_of_a_scan_and_move_little(name: str, kind: str) -> None:
    content = CONTENTS[kind]()
    place = {"json": "items", "json list": "", "json below": "data.result"}.get(kind)
    if place is None:
        program = "name" if name == "jmespath" else ".name"
    else:
        program = f"{place}[*].name" if name == "jmespath" else f'.{place}[] | select(."é"[0].x? != 7) | .name'
    arguments = {"expression" if name == "jmespath" else "program": program, "max_bytes": 25_000}
    found, plain = (pages(content, name, indexed=indexed, **arguments) for indexed in (True, False))
    assert [one.values for one, _ in found] == [one.values for one, _ in plain]
    assert len(found) > 2
    assert [one.total for one, _ in found] == [one.total for one, _ in plain]
    deep = [(one, moved) for one, moved in found[2:] if one.cursor]
    assert all(moved < other for (_, moved), (_, other) in zip(deep, plain[2:], strict=False))


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("jq", ".items[3500:3510]"),
        ("jq", ".items[3500].name"),
        ("jq", ".items[3500:3510] | map(.id)"),
        ("jq", ".items[3500:3510][] | .id"),
        ("jmespath", "items[3500:3510]"),
        ("jmespath", "items[3500:3510:3].id"),
        ("jmespath", "items[3500].name"),
        ("jmespath", "items[3500:3510].id | [0]"),
    ],
)
def test_a_slice_deep_inside_a_list_moves_little(name: str, program: str) -> None:
    content = CONTENTS["json"]()
    arguments = {"expression" if name == "jmespath" else "program": program}
    area = BytesArea(content)
    answer = sip(area, info_of(content, indexed=True), name, **arguments)
    plain = sip(BytesArea(content), info_of(content, indexed=False), name, **arguments)
    assert answer.values == plain.values
    assert plain.values not in ([], [None], [[]])
    # The beginning, and what follows the place up to the end: less than a second document could be far.
    assert area.moved < len(content) * 0.6


def test_a_slice_beside_another_value_of_the_document_is_still_right() -> None:
    content = CONTENTS["json"]()
    answer = sip(
        BytesArea(content), info_of(content, indexed=True), "jmespath", expression="{k: kind, n: items[3500].id}"
    )
    assert answer.values == [{"k": "List", "n": 9007199254740993 + 3500}]


def test_places_of_other_content_are_found_out() -> None:
    content = CONTENTS["json"]()
    other = content.replace(b"pod-", b"xod-").replace(b", {", b" ,{")
    stale = ObjectInfo("k", len(other), None, attributes=info_of(content, indexed=True).attributes)
    first = sip(BytesArea(other), stale, "select", columns=["name"], max_bytes=30_000)
    for _ in range(3):
        whole = sip(BytesArea(other), info_of(other, indexed=False), "select", columns=["name"], max_bytes=1 << 22)
        answer = sip(BytesArea(other), stale, "select", columns=["name"], cursor=first.cursor, max_bytes=30_000)
        assert answer.values == whole.values[first.shown : first.shown + answer.shown]
        assert sip(BytesArea(other), stale, "jq", program=".items[3500].name").values == [whole.values[3500]["name"]]


PIECES = {
    "csv": ["a,b\n", '"x\ny",2\n', "\n", '"",\n', "1,2,3\n", '"a""b",3\n', "\r\n", 'a"b,1\n', "é,1\n"],
    "jsonl": ['{"a":1}\n', "\n", "nope\n", "[1,2]\r\n", '{"b":"\\n"}\n', '{"a":1}{"b":2}\n', "  \n"],
    "json": ['{"a":1}', "[1,[2,3]]", '"x]"', '{"b":{"items":[1]}}', "null", "5", '{"é":"\\"},{"}'],
}


@pytest.mark.parametrize("kind", PIECES)
@pytest.mark.parametrize("block", [37, 200])
def test_every_place_is_the_beginning_of_its_record(kind: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (_counting, _json_counting):
        monkeypatch.setattr(module, "IndexBuilder", lambda: IndexBuilder(spacing_bytes=40))

    @given(st.lists(st.sampled_from(PIECES[kind]), min_size=20, max_size=60))
    def check(pieces: list[str]) -> None:
        text = "[" + " , ".join(pieces) + "]" if kind == "json" else "h,i\n" * (kind == "csv") + "".join(pieces)
        content, plugin = text.encode(), format_named(kind)
        whole, dialect = plugin.split(Dialect(delimiter=",", header=True)), Dialect(delimiter=",", header=True)
        batches = [whole.feed(content), whole.finish()]
        numbered = {n: row for batch in batches for n, row in zip(batch.numbers, batch.rows, strict=True)}
        head = b"h,i\n" if kind == "csv" else b""
        counter: Any = plugin.counter(head, indexed=True)  # type: ignore[attr-defined]
        for at in range(0, len(content), block):
            counter.lines.feed(content[at : at + block])
            counter.feed(content[at : at + block])
        counter.finish()
        for entry in counter.places:
            assert entry.holds(content[max(0, entry.offset - 16) : entry.offset])
            begun: Any = plugin.split(dialect)
            begun.feed(head + b"x,y\n" if kind == "csv" else b"")
            if kind == "json":
                begun._path = ()
            going = begun.resume(entry.number, content.count(b"\n", 0, entry.offset))
            rest = [going.feed(content[entry.offset :]), going.finish()]
            again = {n: row for batch in rest for n, row in zip(batch.numbers, batch.rows, strict=True)}
            assert again == {n: row for n, row in numbered.items() if n >= entry.number}
            problems = [problem for batch in batches for problem in batch.problems]
            line = content.count(b"\n", 0, entry.offset)
            assert [p for b in rest for p in b.problems] == [p for p in problems if p.line > line]

    check()
