"""Content with NUL, and content that is no text: an answer holds what is there, or says why there is none."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.errors import BadRequest
from tests.sips.driving import sip_bytes

PICTURE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\n\n" + bytes(range(256))


@given(
    st.lists(st.lists(st.text(st.sampled_from('a1é\0\x07;"\n')), min_size=2, max_size=2), min_size=1, max_size=5),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
)
def test_cells_with_nul_are_those_of_the_csv_module(rows: list[list[str]], encoding: str) -> None:
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["name", "value"], *rows])
    content = out.getvalue().encode(encoding)
    options = {"columns": "*", "header": True, "delimiter": ",", "encoding": encoding}
    answer = sip_bytes(content, "select", options, media_type="text/csv")
    assert [list(row.values()) for row in answer.values] == rows
    assert sip_bytes(content, "count", {"header": True, "delimiter": ",", "encoding": encoding}).values == [len(rows)]


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_a_nul_at_the_beginning_hides_no_row(encoding: str, indexed: bool) -> None:
    content = "name,value\na,x\0y\nb,z\n".encode(encoding)
    answer = sip_bytes(content, "select", {"columns": "*"}, indexed=indexed)
    assert answer.values == [{"name": "a", "value": "x\0y"}, {"name": "b", "value": "z"}]
    assert sip_bytes(content, "count", {}, indexed=indexed).values == [2]
    log = "started\nat 1\0\0 stopped\n".encode(encoding)
    assert sip_bytes(log, "count", {}, indexed=indexed).values == [2]
    assert [each.number for each in sip_bytes(log, "grep", {"pattern": "stop"}, indexed=indexed).values] == [2]


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("select", {"columns": "*"}), ("select", {"columns": ["a"]}), ("stats", {}), ("sample", {}), ("schema", {})],
)
def test_binary_content_has_no_empty_answer(name: str, arguments: dict[str, Any], indexed: bool) -> None:
    with pytest.raises(BadRequest, match="is binary and has no rows"):
        sip_bytes(PICTURE, name, arguments, indexed=indexed)


@pytest.mark.parametrize("indexed", [False, True])
def test_lines_of_binary_content_are_counted(indexed: bool) -> None:
    filled = [line for line in PICTURE.split(b"\n") if line and not line.isspace()]
    assert sip_bytes(PICTURE, "count", {}, indexed=indexed).values == [len(filled)]


def test_text_that_somebody_calls_text_may_hold_more_nul() -> None:
    content = b"a,b\n\0,1\n\0\0,2\n"
    assert sip_bytes(content, "select", {"columns": "a"}, media_type="text/csv").values == [{"a": "\0"}, {"a": "\0\0"}]
