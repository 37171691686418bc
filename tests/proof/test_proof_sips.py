"""Sips of a gigabyte: few bytes for questions about lines, flat memory for walks. The content is made as it is read."""

from __future__ import annotations

import resource
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.core.bounds import MIB
from kmnb.core.metadata import ObjectInfo
from kmnb.core.slice import Slice
from kmnb.formats._inspect import Inspector
from kmnb.ops.sip import run_sip

SIZE = 1024 * MIB
LINE = b"%015d INFO request served in 12 ms by worker of the pool 7, trace 0\n"
WIDTH = len(LINE % 0)
RECORD = b'{"metadata":{"name":"pod-%015d","labels":{"app":"web"}},"spec":{"n":%15d},"status":{"phase":"Running"}},'
RECORD_WIDTH = len(RECORD % (0, 0))
HEAD = b'{"kind":"List","items":['


class Made:
    """Content of repeated pieces, made when it is asked for."""

    def __init__(self, size: int, *, as_json: bool) -> None:
        self._json = as_json
        width = RECORD_WIDTH if as_json else WIDTH
        self.count = size // width
        self.size = self.count * width + (len(HEAD) + 1 if as_json else 0)
        self.moved = 0

    async def get_range(self, key: str, start: int, end: int, *, info: ObjectInfo | None = None) -> bytes:
        end = min(end, self.size)
        self.moved += end - start
        if not self._json:
            return self._pieces(start, end, WIDTH)
        head = HEAD[start : min(end, len(HEAD))]
        body = self._pieces(max(start, len(HEAD)) - len(HEAD), min(end, self.size - 1) - len(HEAD), RECORD_WIDTH)
        tail = b""
        if end == self.size:
            # The comma after the last record becomes the end of the list.
            body, tail = body[:-1], b"]}"
        return (head + body + tail)[: end - start]

    def _pieces(self, start: int, end: int, width: int) -> bytes:
        first, last = start // width, -(-end // width)
        numbers = range(first, max(first, last))
        made = b"".join(RECORD % (n, n % 10) if self._json else LINE % n for n in numbers)
        return made[start - first * width : start - first * width + max(0, end - start)]


def sip(area: Made, name: str, attributes: dict[str, str] | None = None, **arguments: Any) -> Slice:
    """Take a sip of made content."""
    info = ObjectInfo("k", area.size, None, identity="1", attributes=attributes or {})
    return run(run_sip((area, info), name, arguments))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def indexed() -> dict[str, str]:
    """Attributes that a spill of the log stores."""
    area, inspector = Made(SIZE, as_json=False), Inspector("text/plain")
    for start in range(0, area.size, 8 * MIB):
        inspector.feed(run(area.get_range("k", start, start + 8 * MIB)))
    return inspector.finish().attributes()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("head", {}), ("tail", {}), ("lines", {"start": 12_345_678, "limit": 20}), ("count", {})],
)
def test_a_question_about_lines_moves_at_most_a_megabyte(
    indexed: dict[str, str], name: str, arguments: dict[str, Any]
) -> None:
    area = Made(SIZE, as_json=False)
    answer = sip(area, name, indexed, **arguments)
    assert area.moved == answer.fetched_bytes
    assert area.moved <= MIB
    assert answer.total == (1 if name == "count" else area.count)
    if name == "lines":
        assert answer.values[0].startswith("000000012345678 ")


def test_grep_of_a_gigabyte_needs_little_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    area = Made(SIZE, as_json=False)
    assert sip(area, "grep", pattern=f"^{area.count - 1:015d} ", count_all=True).total == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before <= 64 * 1024


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("jmespath", {"expression": "sum(items[?status.phase == 'Running'].spec.n)"}),
        ("jq", {"program": '[.items[] | select(.status.phase == "Running") | .spec.n] | add'}),
        ("jq", {"program": '[.items[] | .metadata.name | ltrimstr("x")] | length'}),
    ],
)
def test_a_walk_over_a_gigabyte_needs_little_memory(name: str, arguments: dict[str, Any]) -> None:
    area = Made(SIZE, as_json=True)
    answer = sip(area, name, **arguments)
    assert answer.values in ([sum(n % 10 for n in range(area.count))], [area.count])
    # A bare interpreter with the libraries has some 40 MiB.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= (40 + 128) * 1024
