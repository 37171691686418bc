"""Cells that are cut all at once are those of the lines that are cut one by one."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kmnb.core.cells import CellRows, Chosen, column_of


@example(["a", "a"], 3)
@given(st.lists(st.text("ab,\r\n é", max_size=6), max_size=12), st.integers(1, 4))
def test_lines_are_cut_as_one_by_one_or_not_at_all(lines: list[str], width: int) -> None:
    text = "".join(line + "\n" for line in lines)
    wanted = [line.split(",") for line in text.split("\n")[:-1]]
    found = CellRows.cut(text, ",", width)
    if found is None:
        assert not all(len(row) == width for row in wanted) or "" in text.split("\n")[:-1]
        return
    assert list(found) == wanted
    assert [found[at] for at in range(len(found))] == wanted
    assert (found[1:], found[::-2], len(found)) == (wanted[1:], wanted[::-2], len(wanted))
    assert [found.column(place) for place in range(width)] == [[row[place] for row in wanted] for place in range(width)]
    which = [at % 2 == 0 for at in range(len(wanted))]
    chosen = Chosen(found, which)
    assert len(chosen) == len(wanted[::2])
    assert column_of(chosen, 0) == [row[0] for row in wanted[::2]]


@pytest.mark.parametrize("text", ["", "a,b\n", "a,b\nc,d\n", ",\n,\n"])
def test_even_lines_are_cut(text: str) -> None:
    found = CellRows.cut(text, ",", 2)
    assert found == [line.split(",") for line in text.split("\n")[:-1]]


@pytest.mark.parametrize("text", ["a\n", "a,b,c\nd\n", "a\nb,c,d\n", "a,b\n\nc,d\n", "\na,b\n", "a,b\nc\nd,e,f\n"])
def test_ragged_or_blank_lines_are_left_to_others(text: str) -> None:
    assert CellRows.cut(text, ",", 2) is None


def test_a_place_past_the_rows_is_an_error() -> None:
    with pytest.raises(IndexError):
        CellRows(["a", "\n"], 1)[1]
