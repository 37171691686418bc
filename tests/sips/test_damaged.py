"""Compressed content that ends too early or is damaged: lines before that place are read, and no end is made up."""

from __future__ import annotations

import gzip
import random
from typing import Any

import pytest
import zstandard

from kmnb.errors import BoundExceeded, StoreError
from tests.sips.driving import Cut, sip_bytes

LINES = [f"{number},{number * 7919 % 1000}" for number in range(12_000)]
TEXT = "".join(f"{line}\n" for line in LINES).encode()
PACKED = gzip.compress(TEXT)
PLACE = len(PACKED) * 9 // 10
DAMAGED = {
    "cut": PACKED[:-30],
    "wrong check": PACKED[:-8] + bytes(4) + PACKED[-4:],
    "wrong size": PACKED[:-4] + bytes(4),
    "something after it": PACKED + b"GARBAGE",
    "flipped": PACKED[:PLACE] + bytes([PACKED[PLACE] ^ 0xFF]) + PACKED[PLACE + 1 :],
    "a second member cut": PACKED + PACKED[:2000],
    "zstd cut": zstandard.compress(TEXT * 3)[:-9],
    "zstd, something after it": zstandard.compress(TEXT) + b"GARBAGE",
}


@pytest.mark.parametrize(("indexed", "size"), [(False, 700), (True, 65_536)])
@pytest.mark.parametrize("name", sorted(DAMAGED))
def test_lines_before_the_damage_are_read_and_the_rest_is_an_error(name: str, indexed: bool, size: int) -> None:
    def sip(operation: str, **arguments: Any) -> Any:
        return sip_bytes(DAMAGED[name], operation, arguments, indexed=indexed, cut=Cut(size))

    head = sip("head", lines=3)
    assert (head.values, head.complete) == (LINES[:3], True)
    assert head.total_is_lower_bound
    assert any("was not counted" in note for note in head.notes)
    assert sip("lines", start=5000, limit=2).values == LINES[5000:5002]
    assert sip("grep", pattern="^7,", max=1).values[0].text == LINES[7]
    for operation, arguments in (
        ("tail", {}), ("count", {}), ("lines", {"limit": 0, "max_bytes": 8_000_000}), ("grep", {"pattern": "zzz"}),
        ("grep", {"pattern": "^7,", "max": 1, "count_all": True}),
    ):  # fmt: skip
        with pytest.raises(StoreError, match="compressed content"):
            sip(operation, **arguments)


def test_the_beginning_of_a_bomb_is_read() -> None:
    bomb = gzip.compress(b"first\nsecond\n" + bytes(40 * 1024 * 1024), compresslevel=9)
    assert sip_bytes(bomb, "head", {"lines": 2}).values == ["first", "second"]
    with pytest.raises(BoundExceeded, match="expand"):
        sip_bytes(bomb, "tail", {})


@pytest.mark.parametrize("place", ["before", "between", "after"])
def test_frames_of_zstd_that_are_to_be_passed_over_are(place: str) -> None:
    skipped = b"\x5a\x2a\x4d\x18\x04\0\0\0abcd"
    halves = [zstandard.compress(TEXT[:1000]), zstandard.compress(TEXT[1000:])]
    halves.insert(("before", "between", "after").index(place), skipped)
    content = b"".join(halves)
    assert sip_bytes(content, "lines", {"start": 11_998}).values == LINES[11_998:]
    assert sip_bytes(content, "count", {}, indexed=True).values == sip_bytes(TEXT, "count", {}).values


@pytest.mark.parametrize("indexed", [False, True])
def test_a_block_of_zstd_that_is_larger_than_the_first_window_is_recognised(indexed: bool) -> None:
    """Until the first block is whole nothing of it can be read; a table was taken for plain text."""
    rows = random.Random(7).randbytes(2000 * 20).hex()
    content = b"id,key\n" + b"".join(b"%d,%b\n" % (n, rows[n * 40 : n * 40 + 40].encode()) for n in range(2000))
    packed = zstandard.compress(content)
    assert packed[:4] == zstandard.FRAME_HEADER
    answer = sip_bytes(packed, "select", {"columns": ["id"], "where": "id = 1999"}, indexed=indexed)
    assert (answer.values, answer.complete) == ([{"id": "1999"}], True)
    assert sip_bytes(packed, "count", {}, indexed=indexed).values == [2000]
