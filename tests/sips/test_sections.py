"""Results of several tools in one text: each section is read as what it is, whatever stands beside it."""

from __future__ import annotations

import gzip
import itertools
from typing import Any

import pytest

from tests.sips.driving import Cut, sip_bytes

PARTS = {
    "csv": b"name,n\npod-a,00010\npod-b,2\n",
    "tsv": b"name\tn\npod-a\t1\n",
    "table": b"NAME    READY   STATUS\npod-a   1/1     Running\npod-b   0/1     Pending\n",
    "json": b'{"items":[{"name":"pod-a","n":1},{"name":"pod-b","n":2},{"name":"pod-c","n":3}]}\n',
    "ndjson": b'{"name":"pod-a"}\n{"name":"pod-b"}\n',
    "prometheus": b'# TYPE up gauge\nup{job="a"} 1\nup{job="b"} 0\n',
    "text": b"one line\n\nanother: line, of text\n",
    "long": b"id,v\n" + b"".join(b"%d,x\n" % number for number in range(9_000)),
}
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("select", {"columns": "*", "limit": 50}),
    ("count", {}),
    ("schema", {}),
)


@pytest.mark.parametrize("names", list(itertools.permutations(PARTS, 2)), ids="-".join)
def test_a_section_is_read_as_if_it_stood_alone(names: tuple[str, str]) -> None:
    content = b"".join(b"[tool_%s]\n" % name.encode() + PARTS[name] for name in names)
    for operation, arguments in ASKED:
        first = sip_bytes(PARTS[names[0]], operation, arguments).values
        assert sip_bytes(content, operation, arguments).values == first
        assert sip_bytes(content, operation, arguments, indexed=True).values == first
        for name in names:
            alone = sip_bytes(PARTS[name], operation, arguments).values
            asked = {**arguments, "section": f"tool_{name}"}
            assert sip_bytes(content, operation, asked, cut=Cut(977)).values == alone
            assert sip_bytes(gzip.compress(content), operation, asked, indexed=True).values == alone


def test_a_preview_tells_the_first_section_by_its_own_kind() -> None:
    from kmnb.formats._inspect import inspect

    for names in itertools.permutations(("csv", "table", "json"), 2):
        content = b"".join(b"[tool_%s]\r\n" % name.encode() + PARTS[name] for name in names)
        alone = inspect(PARTS[names[0]])
        found = inspect(content)
        assert (found.format, found.rows) == (alone.format, alone.rows)
        assert f"{alone.rows} " in found.preview.splitlines()[0]
