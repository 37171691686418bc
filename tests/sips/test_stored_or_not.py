"""What is stored with a result changes how an answer is found, never what it says."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest

from kmnb.errors import KmnbError
from tests.sips.driving import sip_bytes

CSV = "name,n\npod-a,00010\npod-b,\n"
ROWS = '{"a":1}\n{bad\n\n{"a":2,"b":null}\n'
POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {}\n"
CONTENTS = {
    "table": CSV.encode(),
    "table with ragged rows": b"a,b\n1\n1,2\n1,2,3\n1,2,\n",
    "table with a mark before a quoted name": b'\xef\xbb\xbf"a\nb",c\n1,"2\n\n3"\n',
    "table whose first record does not end": b'"a,b\n1,2\n',
    "table in UTF-16": CSV.encode("utf-16"),
    "table in Latin-1": "Année;Café\n1;déjà\n2;vu\n".encode("latin-1"),
    "rows with bad ones": ROWS.encode(),
    "rows in gzip": gzip.compress(ROWS.encode()),
    "sections": f"[a]\n{ROWS}[b]\n{CSV}".encode(),
    "sections in UTF-16": f"[a]\n{CSV}[b]\n{CSV}".encode("utf-16"),
    "sections of YAML": f'[a]\n{{"items":[1,2]}}\n[b]\n{POD.format("x")}---\n{POD.format("y")}'.encode(),
    "two tables": b"NAME   STATUS   AGE\nweb    Up       1d\n\nNAME   READY   STATUS\nweb    1/1     Up\n",
    "prometheus with a mark": b'\xef\xbb\xbf# TYPE up gauge\nup{job="a"} 1\n',
    "prometheus with a mark before a sample": b'\xef\xbb\xbfup{job="a"} 1\nup{job="b"} 2\n',
    "documents of YAML": f"{POD.format('x')}---\nkind: [\n---\n{POD.format('y')}".encode(),
    "prometheus": b'# TYPE up gauge\nup{job="a"} 1\nup{job="b",x="y"} 0 17\n',
    "prometheus with bad lines": b"# TYPE up gauge\nup{ 1\nnope\n" + b"up 2\n" * 9,
    "series with a bad one": b'{"status":"success","data":{"resultType":"vector","result":['
    b'{"metric":{"a":"1"},"value":[1,"2"]},{"metric":{},"value":7}]}}',
    "a row beside its columns": b"NAME    READY   STATUS\nweb     1/1     Up\nlonger-name-here\nx y z\n",
    "list": b'{"items":[{"a":1},{"b":[null]}],"more":{}}',
    "bad list": b'{"items":[{"a":1}',
    "nothing": b"",
    "a mark of UTF-8 alone": b"\xef\xbb\xbf",
    "a mark on a line of its own": b"\xef\xbb\xbf\r\na,b\r\n1,2\r\n",
    "a mark alone": b"\xff\xfe",
}
TABLES = [content for name, content in CONTENTS.items() if name.startswith("table")]
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("count", {}), ("schema", {}), ("select", {"columns": "*"}), ("select", {"columns": "*", "limit": 1}),
    ("lines", {"limit": 2}), ("tail", {"lines": 2}), ("grep", {"pattern": "a", "max": 1}), ("outline", {}),
)  # fmt: skip


def told(content: bytes, operation: str, arguments: dict[str, Any], *, indexed: bool) -> Any:
    """The answer without what it cost and without what only a scan can tell."""
    media_type = "text/csv" if content in TABLES else None
    try:
        answer = sip_bytes(content, operation, arguments, indexed=indexed, media_type=media_type)
    except KmnbError as fault:
        return str(fault)
    total = None if answer.total_is_lower_bound else answer.total
    return replace(
        answer, receipt=None, fetched_bytes=0, scanned_bytes=0, total=total, notes=sorted(answer.notes), problems=()
    )


@pytest.mark.parametrize("name", CONTENTS)
def test_an_answer_says_the_same_stored_or_not(name: str) -> None:
    for operation, arguments in ASKED:
        stored, scanned = (told(CONTENTS[name], operation, arguments, indexed=indexed) for indexed in (True, False))
        assert stored == scanned, operation


def test_a_byte_order_mark_hides_no_sample() -> None:
    content = CONTENTS["prometheus with a mark before a sample"]
    assert [row["job"] for row in sip_bytes(content, "select", {"columns": ["job"]}).values] == ["a", "b"]


def test_a_count_says_what_it_leaves_out_without_a_read() -> None:
    answer = sip_bytes(CONTENTS["sections"], "count", {}, indexed=True)
    assert (answer.values, answer.skipped, answer.fetched_bytes) == ([2], 1, 0)
    assert answer.notes == ("only the first section, a, was read; section= names another, such as b",)


def test_a_query_reads_each_section_as_what_it_is() -> None:
    pods = (POD.format("x") + "---\n" + POD.format("y")).encode()
    other = json.dumps({"items": [{"a": 1}]}).encode() + b"\n"
    last, first = b"[a]\n" + other + b"[b]\n" + pods, b"[b]\n" + pods + b"[a]\n" + other
    for content, indexed in ((last, True), (first, False)):
        answer = sip_bytes(content, "jq", {"program": ".metadata.name", "section": "b"}, indexed=indexed)
        assert answer.values == ["x", "y"]
    assert sip_bytes(first, "jmespath", {"expression": "items[].a", "section": "a"}).values == [[1]]
