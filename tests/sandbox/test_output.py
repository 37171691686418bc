"""The kept part of an output: beginning, end, and what is said of the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.sandbox._output import Keeper


def kept(raw: bytes, cap: int, size: int = 7) -> Keeper:
    keeper = Keeper(cap)
    for at in range(0, len(raw), size):
        keeper.feed(raw[at : at + size])
    return keeper


@given(st.binary(max_size=3000), st.integers(1, 4000), st.integers(1, 500))
def test_the_way_of_cutting_the_pipe_into_blocks_does_not_matter(raw: bytes, cap: int, size: int) -> None:
    assert kept(raw, cap, size).text() == kept(raw, cap, max(1, len(raw))).text()


@given(st.text(max_size=3000), st.integers(1, 4000))
def test_valid_text_stays_valid_and_within_the_cap(text: str, cap: int) -> None:
    keeper = kept(text.encode(), cap)
    shown, replaced = keeper.text()
    assert replaced == 0
    assert len(shown.encode()) <= cap
    assert keeper.truncated or shown == text


def test_a_long_output_keeps_its_beginning_and_its_end() -> None:
    raw = b"".join(b"row %d\n" % number for number in range(200_000)) + b"TOTAL 12345\n"
    shown, _ = kept(raw, 65_536, 65_536).text()
    assert shown.startswith("row 0\nrow 1\n")
    assert shown.endswith("TOTAL 12345\n")
    left_out = int(shown.split("[… ")[1].split(" ")[0])
    note = f"\n[… {left_out} bytes left out …]\n"
    assert left_out + len(shown.encode()) - len(note.encode()) == len(raw)


def test_under_a_small_cap_only_the_beginning_is_kept() -> None:
    assert kept(b"x" * 10_000, 100).text() == ("x" * 100, 0)


@pytest.mark.parametrize("raw", [b"ok\n\xff" + b"\0" * 70_000 + b"end\n", "naïve".encode("utf-16")])
def test_bytes_that_are_no_utf8_are_replaced_and_counted(raw: bytes) -> None:
    shown, replaced = kept(raw, 100_000).text()
    assert replaced >= 1
    assert shown.count("\ufffd") == replaced
    assert "\0" in shown
