"""Differences of tables, JSON documents and texts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.diff import LINES_MAX, diff_lines, diff_paths, diff_rows

TEXTS = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12).map("\n".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)


def test_rows_are_told_with_their_cells_and_columns_apart() -> None:
    old = [{"name": "a", "age": 1}, {"name": "b", "age": 2}]
    new = [{"name": "b", "age": 2, "node": "n"}, {"name": "c", "age": 3, "node": "n"}]
    found = diff_rows(old, new)
    assert (found.added, found.removed, found.columns_added, found.columns_removed) == (1, 1, ("node",), ())
    assert found.text == "- name=a, age=1\n+ name=c, age=3\n"


def test_paths_are_told_with_both_values() -> None:
    found = diff_paths({"a": [1, 2], "b": {"c": True}, "d": 0}, {"a": [1, 3, 4], "b": {"c": 1}})
    assert (found.added, found.removed, found.changed) == (1, 1, 2)
    assert found.text == "- $.d: 0\n~ $.a[1]: 2 → 3\n~ $.b.c: true → 1\n+ $.a[2]: 4\n"


@pytest.mark.parametrize(
    ("old", "new"), [({"b.c": 2}, {"b": {"c": 2}}), ({"a": [1]}, {"a[0]": 1}), ({'a"]["b': 1}, {"a": {"b": 1}})]
)
def test_names_with_signs_of_paths_are_no_paths(old: object, new: object) -> None:
    assert not diff_paths(old, new).is_same


def test_lines_are_told_in_order() -> None:
    found = diff_lines("a\nb\nc\n", "a\nB\nc\nd\n")
    assert (found.added, found.removed, found.text) == (2, 1, "-b\n+B\n+d\n")


@given(TEXTS, TEXTS)
def test_texts_are_the_same_exactly_when_nothing_differs(old: str, new: str) -> None:
    found = diff_lines(old, new)
    assert found.is_same == (old == new)
    one, other = (text.removesuffix("\n").count("\n") + bool(text) for text in (old, new))
    assert other - one == found.added - found.removed


@given(JSON, JSON)
def test_documents_are_the_same_exactly_when_nothing_differs(old: object, new: object) -> None:
    same = json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)
    assert diff_paths(old, new).is_same == same


@given(st.lists(st.fixed_dictionaries({"a": st.integers(0, 2), "b": st.integers(0, 2)}), max_size=6), st.randoms())
def test_the_order_of_rows_does_not_count(rows: list[dict[str, int]], chance: object) -> None:
    other = list(rows)
    chance.shuffle(other)  # type: ignore[attr-defined]
    assert diff_rows(rows, other).is_same


def test_long_and_very_different_texts_end_in_time_and_are_bounded() -> None:
    old = "\n".join(f"old {number}" for number in range(100_000))
    new = "\n".join(f"new {number}" for number in range(100_000))
    found = diff_lines(old, new)
    assert (found.added, found.removed) == (100_000, 100_000)
    assert found.text.count("\n") == LINES_MAX + 1
    deep: object = 1
    for _ in range(500):
        deep = [deep]
    assert diff_paths(deep, deep).is_same


@pytest.mark.parametrize(("old", "new", "text"), [
    ("a\n", "a\nb", "+b\n"),
    ("a", "a\nb\n", "+b\n"),
    ("", "a\n", "+a\n"),
    ("a\n\n", "a\n", "-\n"),
    ("a\n", "a", "~ only the end of the last line differs\n"),
])  # fmt: skip
def test_after_the_last_line_end_there_is_no_line(old: str, new: str, text: str) -> None:
    found = diff_lines(old, new)
    assert found.text == text
    assert found.added + found.removed + found.changed == 1
    assert not found.is_same
