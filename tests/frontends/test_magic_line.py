"""The line of a magic is read as a shell reads it; {{name}} stands for values of the notebook."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from kmnb.errors import BadRequest
from kmnb.frontends._magic_line import Line, check_variable


def test_quotes_keep_words_together_and_braces_of_jq_alone():
    line = Line("jq K '.items[] | {name: .n, x: {}}' --out a", {}, "%artifact")
    assert line.words == ["jq", "K", ".items[] | {name: .n, x: {}}", "--out", "a"]


def test_dollar_signs_and_single_braces_are_left_alone():
    assert Line("grep K 'a{2}$HOME{x}'", {"x": 1}, "%artifact").words[-1] == "a{2}$HOME{x}"


def test_texts_and_numbers_are_written_in_place():
    names = {"n": 5, "art": SimpleNamespace(key="a/b")}
    assert Line("head {{art.key}} --lines={{ n }}", names, "%artifact").words == ["head", "a/b", "--lines=5"]


def test_a_value_is_never_cut_into_words_nor_read_as_an_option():
    assert Line("grep K {{p}}", {"p": "two words 'and a quote"}, "%artifact").words[-1] == "two words 'and a quote"


def test_objects_come_back_after_the_arguments_were_checked():
    thing = object()
    line = Line("spill {{thing}} --tool t", {"thing": thing}, "%artifact")
    assert line.restore({"source": line.words[1], "tool": "t", "n": 3}) == {"source": thing, "tool": "t", "n": 3}


def test_a_source_is_data_where_it_is_a_variable_and_else_a_file():
    line = Line("put {{text}} --tool t", {"text": "abc"}, "%artifact")
    assert line.restore({"source": "abc"}) == {"source": "abc"}
    assert line.restore({"source": "a.txt"}) == {"source": Path("a.txt")}


def test_a_bare_name_of_a_variable_stands_for_an_artifact_only_where_one_is_meant():
    thing = object()
    line = Line("head pods", {"pods": thing, "t": thing}, "%artifact")
    assert line.restore({"ref": "pods", "tool": "t"}) == {"ref": thing, "tool": "t"}
    assert line.restore({"refs": ["pods", "a/b"]}) == {"refs": [thing, "a/b"]}
    assert line.restore({"ref": "absent"}) == {"ref": "absent"}


def test_what_a_spill_gave_stands_for_what_it_stored():
    stored, inline = SimpleNamespace(artifact=object()), SimpleNamespace(artifact=None)
    line = Line("head pods {{pods}}", {"pods": stored, "small": inline}, "%artifact")
    assert line.restore({"ref": "pods", "with": [line.words[2]]}) == {"ref": stored.artifact, "with": [stored.artifact]}
    assert line.restore({"source": line.words[2], "ref": "small"}) == {"source": stored, "ref": inline}


@pytest.mark.parametrize(
    ("text", "says"),
    [("head {{nope}}", "no variable 'nope'"), ("head {{n.zip}}", "has no 'zip'"), ("head 'open", "quotation")],
)
def test_what_cannot_be_read_is_said_in_one_line(text, says):
    with pytest.raises(BadRequest, match=says):
        Line(text, {"n": 5}, "%artifact")


@pytest.mark.parametrize("name", ["1a", "a b", "class", "", "a.b"])
def test_an_answer_only_goes_to_a_name_that_python_allows(name):
    with pytest.raises(BadRequest, match="variable"):
        check_variable(name)
