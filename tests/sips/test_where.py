"""The where language: exact, the same on every format, never an error on mixed values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.errors import ExpressionError
from kmnb.sips._compare import like_pattern
from kmnb.sips._where import WHERE_MAX_BYTES, parse_where

ROWS: list[dict[str, Any]] = [
    {"a": "1", "s": "Running", "n": None},
    {"a": "10", "s": "Pending", "n": ""},
    {"a": 9007199254740993, "s": "50%", "n": "x"},
    {"a": "x", "s": "run", "n": True},
    {"a": "00010", "s": "A_b", "n": [1]},
    {"s": "two\nlines"},
]


def kept(where: str) -> list[int]:
    """Numbers of the rows that a condition keeps."""
    condition = parse_where(where)
    return [number for number, row in enumerate(ROWS) if condition.holds(row.get)]


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("a > 5", [1, 2, 4]),
        ("a = 10", [1, 4]),
        ("a = '10'", [1]),
        ("a == '10' OR a <> 'x' and a != 10", [0, 1, 2]),
        ("a != 10", [0, 2, 3]),
        ("not a = 10", [0, 2, 3]),
        ("not (a > 5)", [0]),
        ("a = 9007199254740993", [2]),
        ("a = 9007199254740992", []),
        ("a < '2'", [0, 1, 4]),
        ("s like 'R%'", [0]),
        ("s ilike 'r_n%'", [0, 3]),
        ("s like '%\\%'", [2]),
        ("s like 'A\\_b'", [4]),
        ("s like '%e%i%'", [1]),
        ("s like 'two%lines'", [5]),
        ("s not like '%n%'", [2, 4]),
        ("n is null", [0, 1, 5]),
        ("n is not null", [2, 3, 4]),
        ("a is null", [5]),
        ("n = ''", [1]),
        ("n = true", [3]),
        ("n != true", [1, 2, 4]),
        ("a in (1, '10')", [0, 1]),
        ("a not in (1, 10)", [2, 3]),
        ("n in ('x') or n = true", [2, 3]),
        ('"a" = "10"', [1]),
        ("`a` = '10'", [1]),
        ("'10' = a", [1]),
        ("5 < a", [1, 2, 4]),
        ("missing = 1", []),
        ("missing != 1", []),
        ("not missing = 1", []),
        ("missing = 1 or s = 'run'", [3]),
        ("s > 5", []),
    ],
)
def test_a_condition_keeps_just_these_rows(where: str, rows: list[int]) -> None:
    assert kept(where) == rows


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("", "found the end"),
        ("a", "a comparison"),
        ("a >", "at character 4"),
        ("a = null", "Write: x is null"),
        ("a in (b)", "not the column b"),
        ("a ~ 3", "'~' is not understood at character 3"),
        ("('x' = a", "expected ')'"),
        ("a = 'x", "a quote is not closed at character 5"),
        ("a = 1 b", "expected 'and', 'or' or the end at character 7"),
        ("a like 5", "expected a text"),
        ("__import__('os')", "a comparison"),
        ("not " * 100 + "a = 1", "more than 64"),
        ("(" * 100 + "a = 1", "more than 64"),
        ("a = '" + "x" * WHERE_MAX_BYTES + "'", "longer than"),
    ],
)
def test_what_is_no_condition_says_where_and_why(where: str, reason: str) -> None:
    with pytest.raises(ExpressionError, match="where") as caught:
        parse_where(where)
    assert reason in str(caught.value)


def test_a_number_that_cannot_be_held_is_a_clear_error() -> None:
    assert not parse_where("v = 1e999999999").holds({"v": 1}.get)
    with pytest.raises(ExpressionError, match="the exponent is too large at character 5"):
        parse_where("v = 1e" + "9" * 30)


@given(st.text(max_size=40))
def test_any_text_is_a_condition_or_a_clear_error(text: str) -> None:
    try:
        condition = parse_where(text)
    except ExpressionError:
        return
    for row in ROWS:
        assert condition.holds(row.get) in (True, False)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5), st.lists(st.integers())
)


@given(
    VALUES, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), st.one_of(st.integers(), st.text("ab'1", max_size=3))
)
def test_no_value_makes_a_comparison_raise_and_not_turns_only_what_can_be_told(
    value: Any, operator: str, literal: int | str
) -> None:
    written = str(literal) if isinstance(literal, int) else "'" + literal.replace("'", "''") + "'"
    plain, turned = parse_where(f"v {operator} {written}"), parse_where(f"not v {operator} {written}")
    found = plain.test({"v": value}.get)
    assert turned.test({"v": value}.get) is (None if found is None else not found)


@given(st.integers(), st.integers())
def test_integers_of_any_size_compare_exactly_also_as_text(one: int, other: int) -> None:
    for value in (one, str(one)):
        assert parse_where(f"v < {other}").holds({"v": value}.get) is (one < other)
        assert parse_where(f"v = {other}").holds({"v": value}.get) is (one == other)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=3),
    st.decimals(allow_nan=False, allow_infinity=False, places=3),
)
def test_decimal_texts_compare_exactly(one: Decimal, other: Decimal) -> None:
    assert parse_where(f"v <= {other:f}").holds({"v": f"{one:f}"}.get) is (one <= other)


@given(st.text("ab%_", max_size=8), st.text("ab", max_size=8))
def test_like_agrees_with_its_definition(pattern: str, text: str) -> None:
    def matches(p: str, t: str) -> bool:
        if not p:
            return not t
        if p[0] == "%":
            return any(matches(p[1:], t[at:]) for at in range(len(t) + 1))
        return bool(t) and p[0] in ("_", t[0]) and matches(p[1:], t[1:])

    assert like_pattern(pattern, ignore_case=False)(text) is matches(pattern, text)


def test_a_hostile_pattern_costs_no_more_than_its_length() -> None:
    assert not like_pattern("%a" * 2000 + "%b", ignore_case=False)("a" * 20_000)
