"""Cutting text to a number of bytes: it ends, it keeps its bound, it cuts no character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.pages import text_size, utf8_cut

PIECES = [b"a", "\u00e9".encode(), "\u20ac".encode(), "\U0001f600".encode(), b"\xff", b"\x80", b"\xf0\x9f"]


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=20).map(b"".join), st.integers(0, 90))
def test_a_cut_is_a_beginning_within_its_bound(data: bytes, size: int) -> None:
    kept = utf8_cut(data, size)
    assert kept
    assert data.startswith(kept)
    assert text_size(kept) <= size or len(kept) <= 4


@given(st.text(min_size=1, max_size=20), st.integers(0, 90))
def test_no_character_is_cut(text: str, size: int) -> None:
    kept = utf8_cut(text.encode(), size).decode()
    assert text.startswith(kept)
    fitting = [end for end in range(1, len(text) + 1) if len(text[:end].encode()) <= size]
    assert len(kept) == max(fitting, default=1)


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_a_first_character_that_does_not_fit_is_kept_whole(size: int) -> None:
    assert utf8_cut("\U0001f600b".encode(), size) == "\U0001f600".encode()
