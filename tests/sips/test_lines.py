"""head, tail and lines: one meaning of a line, pages that add up, few bytes moved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb._bridge import run
from kmnb.core.bounds import MIB
from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.errors import BadRequest
from kmnb.formats._inspect import inspect
from kmnb.ops.sip import run_sip
from tests.sips.driving import BytesArea, Cut, info_of, sip_bytes

PIECES = [
    b"a",
    b"\r",
    b"\n",
    b"\f",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    b"\xff",
    b"\0",
    b"\xf0\x9f\x98\x80",
    b"xyz" * 40,
    b" ",
]
CONTENTS = st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join)


def lines_of(content: bytes) -> list[str]:
    """The plain oracle: LF ends a line, a CR before it is dropped, a last line without LF counts."""
    lines = content.split(b"\n")
    ended = [line.removesuffix(b"\r") for line in lines[:-1]]
    return [line.decode("utf-8", "replace") for line in [*ended, *([lines[-1]] if lines[-1] else [])]]


@given(CONTENTS, st.integers(1, 9), st.integers(0, 12), st.integers(0, 12), st.booleans())
def test_a_page_is_that_part_of_the_lines(content: bytes, size: int, start: int, limit: int, indexed: bool) -> None:
    want = lines_of(content)
    answer = sip_bytes(content, "lines", {"start": start, "limit": limit}, cut=Cut(size), indexed=indexed)
    assert answer.values == want[start : start + limit if limit else None]
    assert answer.total == len(want)
    assert answer.complete


@given(CONTENTS, st.integers(1, 9), st.integers(0, 12), st.booleans())
def test_tail_gives_the_last_lines(content: bytes, size: int, count: int, indexed: bool) -> None:
    want = lines_of(content)
    answer = sip_bytes(content, "tail", {"lines": count}, cut=Cut(size), indexed=indexed)
    assert answer.values == (want[-count:] if count else [])
    assert answer.total == len(want)


@given(CONTENTS, st.integers(1, 5), st.integers(20, 300), st.integers(1, 50))
def test_pages_by_cursor_put_together_give_every_line_once(content: bytes, limit: int, cap: int, size: int) -> None:
    want = lines_of(content)
    found: list[str] = []
    cursor = None
    continues = False
    for _ in range(3000):
        arguments = {"limit": limit, "max_bytes": cap, **({"cursor": cursor} if cursor else {})}
        answer = sip_bytes(content, "lines", arguments, cut=Cut(size))
        values = list(answer.values)
        if continues and values:
            found[-1] += values.pop(0)
        found += values
        continues = any("is cut" in note for note in answer.notes)
        cursor = answer.cursor
        if cursor is None:
            break
    assert cursor is None
    if b"\xff" not in content and b"\r" not in content:
        assert found == want
    assert len(found) == len(want)


@pytest.mark.parametrize("cap", [40, 120, 1000, 20_000])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_by_number_give_every_line_exactly_once(limit: int, cap: int) -> None:
    """S03: a long line among short ones makes no hole."""
    content = b"a\n" + b"x" * 15_000 + b"\nb\nc\n"
    start, found = 0, list[str]()
    while (answer := sip_bytes(content, "lines", {"start": start, "limit": limit, "max_bytes": cap})).shown:
        found += answer.values
        start += answer.shown
    assert [value[:1] for value in found] == ["a", "x", "b", "c"]
    assert answer.total == 4


def test_every_operation_agrees_on_what_a_line_is() -> None:
    """S04: form feed, U+0085, U+2028 and a bare CR end no line."""
    content = "one\n\ftwo\nth\u2028r\u0085e\re\nNEEDLE\n".encode()
    (match,) = sip_bytes(content, "grep", {"pattern": "NEEDLE"}).values
    assert match.number == 4
    assert sip_bytes(content, "lines", {"start": match.index, "limit": 1}).values == ["NEEDLE"]
    assert sip_bytes(content, "lines", {"start": 0, "limit": 1}).total == 4
    assert sip_bytes(content, "tail", {"lines": 1}).values == ["NEEDLE"]
    assert content[match.offset :].startswith(b"NEEDLE")


@pytest.mark.parametrize("indexed", [False, True])
def test_one_huge_line_is_cut_and_says_how_to_go_on(indexed: bool) -> None:
    """S01: a bound in lines is a bound in bytes too."""
    content = b'{"k":"' + b"a" * 3_000_000 + b'"}'
    answer = sip_bytes(content, "head", {"lines": 1}, indexed=indexed)
    assert len(answer.text.encode()) <= 65_536
    assert not answer.complete
    assert "3000008" in answer.notes[0].replace(",", "")
    following = sip_bytes(content, "head", {"lines": 1, "cursor": answer.cursor}, indexed=indexed)
    assert (answer.values[0] + following.values[0]).encode() == content[: len(answer.values[0] + following.values[0])]


@pytest.mark.parametrize("character", ["é", "€", "😀", "👨‍👩‍👧"])
@pytest.mark.parametrize("before", [1, 2, 3])
def test_no_character_is_cut(character: str, before: int) -> None:
    """S06: the cut stands between characters, whatever their size."""
    content = ("x" * (200 - 96 - before) + character * 50 + "\n").encode()
    for name in ("head", "tail"):
        answer = sip_bytes(content, name, {"max_bytes": 200})
        assert "\ufffd" not in answer.text
        assert len(answer.text.encode()) <= 200
        assert content.decode().startswith(answer.values[0])


def test_bytes_that_are_no_text_never_make_an_answer_pass_its_cap() -> None:
    content = b"\xff" * 1000 + b"\n" + b"\xfe\n" * 500
    for name in ("head", "tail", "lines"):
        for cap in (50, 99, 100, 300, 1000):
            assert len(sip_bytes(content, name, {"max_bytes": cap}).text.encode()) <= cap


def test_tail_keeps_the_newest_lines_when_the_cap_is_too_small() -> None:
    content = b"".join(b"line %d\n" % number for number in range(1000))
    answer = sip_bytes(content, "tail", {"lines": 500, "max_bytes": 300})
    assert answer.values[-1] == "line 999"
    assert not answer.complete
    assert answer.text.endswith(f"[lines {1000 - answer.shown}-999 of 1000]\n")


def test_shown_and_total_tell_a_cut_answer_from_a_whole_one() -> None:
    """S05: 276 rows with a cap of 164, and a control with exactly 164 rows."""
    for name, arguments in (("grep", {"pattern": "row", "max": 164}), ("select", {"columns": ["a"], "limit": 164})):
        many = sip_bytes(b"a,b\n" + b"row,1\n" * 276, name, arguments)
        few = sip_bytes(b"a,b\n" + b"row,1\n" * 164, name, arguments)
        assert (many.shown, many.complete) == (164, False)
        assert (few.shown, few.total, few.complete) == (164, 164, True)
        assert many.total is not None
        assert many.total > 164


BIG = b"".join(b"%08d some text of a line of a log\n" % number for number in range(200_000))


@pytest.mark.parametrize(
    ("name", "arguments", "first"),
    [
        ("head", {}, "00000000"),
        ("lines", {"start": 123_456, "limit": 5}, "00123456"),
        ("tail", {}, "00199980"),
        ("count", {}, 200_000),
        ("lines", {"start": 199_999, "limit": 1}, "00199999"),
    ],
)
def test_an_indexed_object_answers_by_a_few_windows(name: str, arguments: dict[str, int], first: object) -> None:
    area = BytesArea(BIG)
    answer = sip_bytes(BIG, name, arguments, indexed=True, area=area)
    assert str(answer.values[0]).startswith(str(first))
    assert answer.total == (1 if name == "count" else 200_000)
    assert answer.fetched_bytes == area.moved
    assert area.moved <= 256 * 1024
    assert area.calls <= 4


def test_a_foreign_object_is_indexed_by_its_first_whole_scan() -> None:
    content = b"foreign\n" + BIG
    area = BytesArea(content)
    assert sip_bytes(content, "tail", {"lines": 1}, area=area).total == 200_001
    assert area.moved == len(content)
    area.moved = 0
    answer = sip_bytes(content, "lines", {"start": 150_001, "limit": 1}, area=area)
    assert answer.values == ["00150000 some text of a line of a log"]
    assert area.moved <= 256 * 1024


def test_an_index_of_other_content_never_gives_a_wrong_answer() -> None:
    attributes = inspect(BIG).attributes()
    info = ObjectInfo("k", len(BIG), None, identity="3", attributes={**attributes, Attribute.ENCODING: "utf-8"})
    shifted = BytesArea(b"x" + BIG[:-1])
    answer = run(run_sip((shifted, info), "lines", {"start": 100_000, "limit": 1}))  # type: ignore[arg-type]
    assert answer.values == ["00100000 some text of a line of a log"]
    assert any("index" in note for note in answer.notes)


def test_a_cursor_serves_only_the_content_and_the_operation_that_it_came_from() -> None:
    cursor = sip_bytes(BIG[:4000], "lines", {"limit": 2}).cursor
    with pytest.raises(BadRequest, match="changed"):
        sip_bytes(BIG[:5000], "lines", {"cursor": cursor})
    with pytest.raises(BadRequest, match="lines"):
        sip_bytes(BIG[:4000], "head", {"cursor": cursor})
    with pytest.raises(BadRequest):
        sip_bytes(BIG[:4000], "lines", {"cursor": "nonsense"})


def test_the_size_of_a_foreign_object_bounds_what_head_reads() -> None:
    area = BytesArea(b"line\n" * (64 * MIB // 5))
    info = ObjectInfo("k", len(area.data), None, identity="big")
    answer = run(run_sip((area, info), "head", {}))  # type: ignore[arg-type]
    assert answer.total_is_lower_bound
    assert "of at least" in answer.text
    assert area.moved <= MIB
    assert info_of(b"").size == 0


def test_sections_are_read_by_name() -> None:
    content = b"[pods_list]\nNAME READY\np1 1/1\n\n[events]\nLAST TYPE\n1m Normal\n"
    assert sip_bytes(content, "head", {"section": "events"}).values[:2] == ["LAST TYPE", "1m Normal"]
    with pytest.raises(BadRequest, match="pods_list"):
        sip_bytes(content, "head", {"section": "nodes"})
    assert sip_bytes(b'[tool]\n{"a":[1,2]}\n', "jq", {"program": ".a|length"}).values == [2]
    assert sip_bytes(b'[a]\n{"x":1}\n\n[b]\n{"x":2}\n', "jq", {"program": ".x", "section": "b"}).values == [2]


def test_the_note_of_a_cut_line_names_only_ways_that_there_are() -> None:
    head, tail = (sip_bytes(b"x" * 1000, operation, {"max_bytes": 100}) for operation in ("head", "tail"))
    assert head.cursor
    assert "cursor=, or read(" in head.notes[0]
    assert tail.cursor is None
    assert "go on with read(" in tail.notes[0]
