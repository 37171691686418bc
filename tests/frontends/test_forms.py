"""Command lines, help and schemas come from one declaration."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.describe import Example, Operation, Param
from kmnb.errors import BadRequest
from kmnb.frontends._forms import Form, HelpAsked, json_schema
from kmnb.frontends._magic_forms import artifact_form, cell_form, compute_form
from kmnb.ops._command_lines import CELL_LINES
from kmnb.ops.commands import commands, find_command

SELECT = Operation(
    "select",
    "Give some columns of the records.",
    (
        Param("ref", "text", "Artifact.", required=True, positional=True),
        Param("columns", "texts", "Names of columns.", required=True, positional=True),
        Param("limit", "integer", "Most records, 100% of them when absent.", minimum=0),
        Param("where", "json", "A condition."),
        Param("strict", "flag", "Whether a bad record raises.", default=False),
        Param("header", "flag", "Whether the first record names the columns."),
        Param("order", "text", "Which way.", default="up", choices=("up", "down")),
    ),
    examples=(Example(b"a,b\n1,2\n", {"columns": ["b"], "limit": 1}, ({"b": "2"},)),),
)
FORM = Form(SELECT, "%artifact select", (Param("out", "text", "Variable for the answer."),))


@pytest.mark.parametrize(
    "line",
    [
        "K a b --limit 5", "K --limit 5 a b", "--columns a --columns=b --ref K --limit 5",
        "--limit 5 --columns a,b K", "--limit=5 K a,b", "K --limit 5 -- a b", "--limit 5 -- K a b",
    ],
)  # fmt: skip
def test_words_and_options_may_stand_in_any_order(line):
    arguments, extra = FORM.parse(line.split())
    assert (arguments["ref"], arguments["columns"], arguments["limit"]) == ("K", ["a", "b"], 5)
    assert extra == {"out": None}


def test_after_two_dashes_everything_is_a_word():
    arguments, _ = FORM.parse(["K", "--strict", "--", "--limit", "-x"])
    assert arguments["columns"] == ["--limit", "-x"]
    assert arguments["strict"] is True


def test_flags_json_and_extra_options():
    arguments, extra = FORM.parse(["K", "a", "--no-header", "--where", '{"b": 2}', "--out", "rows"])
    assert (arguments["header"], arguments["where"], extra["out"]) == (False, {"b": 2}, "rows")
    assert FORM.parse(["K", "a", "--where", "b > 2"])[0]["where"] == "b > 2"
    assert FORM.parse(["K", "a"])[0]["header"] is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("K a --limt 5", "Did you mean --limit"), ("K a --zzz", "select --help"), ("K", "columns: is missing"),
        ("K a --limit five", "whole number"), ("K a --limit", "--help"), ("K a --order upp", "Use up"),
        ("K a --limit -1", "too small"), ("", "ref: is missing"),
    ],
)  # fmt: skip
def test_errors_are_one_line_with_the_next_step(line, says):
    with pytest.raises(BadRequest, match=says) as caught:
        FORM.parse(line.split())
    assert "\n" not in str(caught.value)
    assert caught.value.next_step


def test_too_many_words_are_refused():
    one = Form(
        Operation("show", "Show.", (Param("ref", "text", "Artifact.", required=True, positional=True),)), "kmnb show"
    )
    with pytest.raises(BadRequest, match="'L'"):
        one.parse(["K", "L"])


def test_help_has_usage_every_parameter_and_examples():
    with pytest.raises(HelpAsked) as caught:
        FORM.parse(["--help"])
    text = caught.value.args[0]
    assert text.startswith("usage: %artifact select")
    assert all(word in text for word in ("--limit", "--out", "100%", "REF", "COLUMN", "-h"))
    assert "%artifact select KEY b --limit 1" in text


def test_an_example_can_be_parsed_back():
    words = shlex.split(FORM.line(SELECT.examples[0]).removeprefix("%artifact select"))
    assert FORM.parse(words)[0]["limit"] == 1


def test_the_help_of_every_command_ends_with_lines_that_can_be_typed():
    forms = [form for one in commands().values() for form in (artifact_form(one), Form(one.operation, "kmnb"))]
    forms += [*(cell_form(find_command(name)) for name in CELL_LINES), compute_form()]
    for form in forms:
        _, _, shown = form.help().partition("examples:\n")
        lines = [line.strip().removeprefix(form.command) for line in shown.splitlines()]
        assert lines, form.command
        assert len(lines) == 2 or len(form.words()) == len(form.operation.params), form.command
        for line in lines:
            form.parse(shlex.split(line))


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_any_words_after_two_dashes_arrive_as_they_are(words):
    refs = Form(
        Operation("rm", "Remove.", (Param("refs", "texts", "Artifacts.", required=True, positional=True),)), "kmnb rm"
    )
    assert refs.parse(["--", *words])[0]["refs"] == words


def test_the_schema_says_everything_that_the_declaration_says():
    schema = json_schema(SELECT)
    assert schema["required"] == ["ref", "columns"]
    assert schema["properties"]["limit"]["minimum"] == 0
    assert schema["properties"]["order"] == {
        "type": "string", "description": "Which way.", "default": "up", "enum": ["up", "down"],
    }  # fmt: skip
    assert schema["additionalProperties"] is False
