"""Answers as JSON are read by every strict parser."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.jsonable import json_text, jsonable
from kmnb.core.metadata import Area
from kmnb.core.slice import Match
from kmnb.errors import BoundExceeded

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


def strict(text):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


@given(VALUES)
def test_any_value_becomes_json_of_a_strict_parser(value):
    text = json_text(value)
    assert strict(text) == jsonable(value)
    text.encode("utf-8")


def test_numbers_that_json_does_not_know_become_their_names():
    assert jsonable([math.nan, math.inf, -math.inf, 1.5, 2**70]) == ["NaN", "Infinity", "-Infinity", 1.5, 2**70]


def test_lone_surrogates_are_escaped():
    assert json_text("a\udc80") == '"a\\udc80"'


def test_values_of_the_house_keep_their_fields():
    assert jsonable(Match(1, 0, 0, "a")).items() >= {"number": 1, "index": 0, "offset": 0, "text": "a"}.items()
    assert jsonable({Area.NAMED: datetime(2026, 11, 30, tzinfo=UTC)}) == {"named": "2026-11-30T00:00:00+00:00"}


def test_what_is_nested_deeply_is_written_or_a_clear_error() -> None:
    value: list[Any] = []
    for _ in range(400):
        value = [value]
    assert json.loads(json_text(value)) == value
    for _ in range(100_000):
        value = [value]
    with pytest.raises(BoundExceeded, match="nested too deeply"):
        json_text(value)
