"""Arguments of operations are checked the same way for every front end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.arguments import checked, split_texts
from kmnb.core.describe import Operation, Param
from kmnb.errors import BadRequest

LINES = Operation(
    "lines",
    "Read lines.",
    (
        Param("start", "integer", "First line, from 0.", default=0, positional=True, minimum=0),
        Param("ratio", "number", "A ratio."),
        Param("strict", "flag", "Whether a bad record raises.", default=False),
        Param("columns", "texts", "Names of columns."),
        Param("order", "text", "Which way.", default="up", choices=("up", "down")),
        Param("where", "json", "A condition."),
    ),
)


def test_defaults_fill_what_was_not_given():
    assert checked(LINES, {}) == {
        "start": 0, "ratio": None, "strict": False, "columns": None, "order": "up", "where": None
    }  # fmt: skip


def test_text_is_coerced_to_the_declared_kind():
    got = checked(LINES, {"start": "12", "ratio": "0.5", "strict": "yes", "columns": "a, b"})
    assert (got["start"], got["ratio"], got["strict"], got["columns"]) == (12, 0.5, True, ["a", "b"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("start", "x"), ("start", -1), ("start", True), ("start", 1.5), ("start", "9" * 5000), ("ratio", "nan"),
        ("ratio", "inf"), ("ratio", []), ("strict", "perhaps"), ("columns", [1]), ("columns", 3), ("order", "upp"),
        ("order", 3),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_names_the_parameter(name, value):
    with pytest.raises(BadRequest, match=f"lines: {name}") as caught:
        checked(LINES, {name: value})
    assert len(str(caught.value).encode()) <= 2048
    assert caught.value.code == "bad-request"


@pytest.mark.parametrize("given", [{"order": "\udcff"}, {"columns": ["a", "\ud800"]}, {"columns": "a" * 200_000}])
def test_text_that_cannot_be_used_is_refused_by_name(given):
    with pytest.raises(BadRequest):
        checked(LINES, given)


def test_an_unknown_name_offers_a_near_one():
    with pytest.raises(BadRequest, match="Did you mean start"):
        checked(LINES, {"strat": 1})


def test_a_missing_argument_is_described():
    needy = Operation("grep", "Find.", (Param("pattern", "text", "Regular expression.", required=True),))
    with pytest.raises(BadRequest, match="pattern: is missing"):
        checked(needy, {})


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1)))
def test_lists_of_words_survive_being_written_as_one_text(words):
    assert split_texts(",".join(words)) == words


def test_a_quoted_comma_stays_in_its_text():
    assert split_texts('"a,b",c') == ["a,b", "c"]
    assert split_texts('["a,b", "c"]') == ["a,b", "c"]


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("name", ["start", "ratio", "strict", "columns", "order"])
@pytest.mark.parametrize("value", [nested(100_000), -(10**10_000), {1: nested(5000)}], ids=["deep", "digits", "dict"])
def test_a_value_that_cannot_even_be_written_is_refused_by_name(name, value):
    with pytest.raises(BadRequest, match=f"lines: {name}: "):
        checked(LINES, {name: value})
