"""What embeds make of values: lines end at LF alone, and JSON knows no NaN."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.agent_answers import numbered
from kmnb.core.embed_values import Value, to_json, to_lines, write_value
from kmnb.errors import ExpressionError


@given(st.text("a\n\r\v\f\x85\u2028 ", max_size=30))
def test_nothing_but_lf_ends_a_line(text: str) -> None:
    lines = to_lines(text)
    assert "".join(lines) == text
    assert len(lines) == text.count("\n") + (not text.endswith("\n") and text != "")
    assert numbered(text).count("\t") == len(lines)


@pytest.mark.parametrize("text", ["[NaN]", "[-Infinity]", '{"a": Infinity}'])
def test_json_with_what_json_does_not_know_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        to_json(Value("text", text, "application/json"))


def test_a_number_beyond_floats_stays_text() -> None:
    assert write_value(Value("text", "[1e999, 1.5]", "application/json"), "json") == '["1e999",1.5]'


@pytest.mark.parametrize("form", ["json", "json_pretty"])
def test_no_nan_is_written_as_json(form: str) -> None:
    with pytest.raises(ExpressionError, match="NaN"):
        write_value(Value("json", [math.nan], "application/yaml"), form)
