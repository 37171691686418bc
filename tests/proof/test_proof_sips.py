"""Sips of a gigabyte and of hostile content: few bytes for questions about lines, flat memory, an end in time.

The content is made as it is read. Peaks are those of a test: what the process held before is no matter.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.core.bounds import MIB
from kmnb.core.metadata import ObjectInfo
from kmnb.core.slice import Slice
from kmnb.errors import KmnbError
from kmnb.formats._inspect import Inspector
from kmnb.ops._isolated import IsolatedRun
from kmnb.ops.sip import run_sip
from tests.sips.driving import BytesArea

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


def memory(process: int | str, field: str) -> int:
    """Memory of a process in bytes: VmRSS or its peak, VmHWM."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition(f"{field}:")[2].split()[0]) * 1024


@contextmanager
def little_memory(most: int = 64 * MIB) -> Iterator[None]:
    """Check how far the memory of this process rises meanwhile."""
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("self", "VmRSS")
    yield
    assert memory("self", "VmHWM") - before <= most


@pytest.fixture
def peaks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Peaks of the processes in which queries ran, in bytes."""
    found: list[int] = []
    close = IsolatedRun.close

    async def closed(run: IsolatedRun) -> None:
        if run._process is not None and run._process.returncode is None:
            found.append(memory(run._process.pid, "VmHWM"))
        await close(run)

    monkeypatch.setattr(IsolatedRun, "close", closed)
    return found


def sip(area: Made | BytesArea, name: str, attributes: dict[str, str] | None = None, **arguments: Any) -> Slice:
    """Take a sip of made content."""
    size = area.size if isinstance(area, Made) else len(area.data)
    info = ObjectInfo("k", size, None, identity="1", attributes=attributes or {})
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
    area = Made(SIZE, as_json=False)
    with little_memory():
        assert sip(area, "grep", pattern=f"^{area.count - 1:015d} ", count_all=True).total == 1


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("jmespath", {"expression": "sum(items[?status.phase == 'Running'].spec.n)"}),
        ("jq", {"program": '[.items[] | select(.status.phase == "Running") | .spec.n] | add'}),
        ("jq", {"program": '[.items[] | .metadata.name | ltrimstr("x")] | length'}),
    ],
)
def test_a_walk_over_a_gigabyte_needs_little_memory(name: str, arguments: dict[str, Any], peaks: list[int]) -> None:
    area = Made(SIZE, as_json=True)
    with little_memory():
        answer = sip(area, name, **arguments)
    assert answer.values in ([sum(n % 10 for n in range(area.count))], [area.count])
    # A bare interpreter with the libraries has some 40 MiB.
    assert max(peaks) <= (40 + 128) * MIB


def packed(codec: str) -> bytes:
    """Ten gigabytes of nothing: a hundred times the same member."""
    piece = bytes(100 * MIB)
    if codec == "gzip":
        return gzip.compress(piece, 9) * 100
    import zstandard

    return zstandard.ZstdCompressor(level=19).compress(piece) * 100


SIPS: dict[str, tuple[str, dict[str, Any]]] = {
    "head": ("head", {}),
    "tail": ("tail", {}),
    "lines": ("lines", {"start": 10}),
    "count": ("count", {}),
    "grep": ("grep", {"pattern": "x", "count_all": True}),
    "select": ("select", {"columns": ["*"]}),
    "stats": ("stats", {"columns": []}),
    "schema": ("schema", {}),
    "sample": ("sample", {}),
    "outline": ("outline", {}),
    "jq": ("jq", {"program": "."}),
    "jq by record": ("jq", {"program": ".k[] | length"}),
    "jmespath": ("jmespath", {"expression": "k[*].x"}),
}
SECONDS_MAX = 60


@pytest.fixture(scope="module", params=["gzip", "zstd"])
def bomb(request: pytest.FixtureRequest) -> bytes:
    return packed(request.param)


def test_a_bomb_of_ten_gigabytes_is_stopped_by_all(bomb: bytes, peaks: list[int]) -> None:
    for name, arguments in SIPS.values():
        begun = time.monotonic()
        with little_memory(96 * MIB):
            answered(lambda name=name, arguments=arguments: sip(BytesArea(bomb), name, **arguments))
        assert time.monotonic() - begun < SECONDS_MAX, name
    assert max(peaks) <= (40 + 128) * MIB


HUGE: dict[str, Callable[[], bytes]] = {
    "one string": lambda: b'"' + b"x" * 100_000_000 + b'"',
    "a string in an object": lambda: b'{"k":"' + b"x" * 100_000_000 + b'","n":1}',
    "a string in a list": lambda: b'{"k":[{"x":"' + b"x" * 100_000_000 + b'"},{"x":1}]}',
    "one line": lambda: b"x" * 100_000_000,
    "nested arrays": lambda: b"[" * 100_000 + b"]" * 100_000,
    "nested arrays in a list": lambda: b'{"k":[' + b"[" * 100_000 + b"]" * 100_000 + b"]}",
    "nested objects": lambda: b'{"k":' * 100_000 + b"1" + b"}" * 100_000,
    "open arrays": lambda: b"[" * 1_000_000,
    "quotes": lambda: b'"\n,' * 1_000_000,
}


@pytest.mark.parametrize("kind", HUGE)
def test_huge_values_are_answered_or_refused_in_time_and_bounded_memory(kind: str, peaks: list[int]) -> None:
    content = HUGE[kind]()
    for name, arguments in SIPS.values():
        begun = time.monotonic()
        # The value itself may be held some times, never its square.
        with little_memory(8 * len(content) + 128 * MIB):
            answered(lambda name=name, arguments=arguments: sip(BytesArea(content), name, **arguments))
        assert time.monotonic() - begun < SECONDS_MAX, name
    assert max(peaks, default=0) <= 4096 * MIB
    inspector = Inspector()
    begun = time.monotonic()
    for at in range(0, len(content), MIB):
        inspector.feed(content[at : at + MIB])
    assert all(len(value) < 256 * 1024 for value in inspector.finish().attributes().values())
    assert time.monotonic() - begun < SECONDS_MAX


def answered(take: Callable[[], Slice]) -> None:
    """Take a sip that may be refused, though never with anything but an error of ours that is short."""
    text = ""
    try:
        text = take().text
    except KmnbError as error:
        text = str(error) * 32
    # An error has at most 2 KiB, an answer 64.
    assert len(text.encode("utf-8", "replace")) <= 65_536
