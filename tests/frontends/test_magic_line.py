"""The line of a magic is read as a shell reads it; {{name}} stands for values of the notebook."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import kmnb
from kmnb.core.describe import Operation, Param
from kmnb.errors import BadRequest
from kmnb.frontends._magic_line import Line, check_variable

TAKES = Operation("any", "", tuple(Param(name, "text", "") for name in ("ref", "refs", "with", "source", "tool", "n")))


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


@pytest.mark.parametrize("word", ["$art", "{art}", "${art}"])
def test_a_variable_in_the_signs_of_others_is_told_how_to_write_it(word):
    line = Line(f"head {word}", {"art": object()}, "%artifact")
    with pytest.raises(BadRequest, match=r"Write art, or \{\{art\}\}"):
        line.restore({"ref": line.words[1]}, TAKES)
    assert line.restore({"tool": line.words[1]}, TAKES) == {"tool": word}


def test_what_stayed_inline_is_no_artifact():
    with kmnb.connect("memory://", thread="t") as ws:
        line = Line("head small", {"small": ws.spill("3 pods", tool="t")}, "%artifact")
        with pytest.raises(BadRequest, match="small: stayed inline"):
            line.restore({"ref": line.words[1]}, TAKES)


@pytest.mark.parametrize("text", ["--fixed", "-n 5", "--help", "--"])
def test_a_value_that_looks_like_an_option_is_a_value(text):
    from kmnb.frontends._magic_forms import artifact_form
    from kmnb.ops.commands import find_command

    form = artifact_form(find_command("grep"))
    line = Line("{{art}} {{p}} --max 5", {"art": object(), "p": text}, "%artifact")
    given, _ = form.parse(line.words)
    assert line.restore(given, form.operation)["pattern"] == text


def test_objects_come_back_after_the_arguments_were_checked():
    thing = object()
    line = Line("spill {{thing}} --tool t", {"thing": thing}, "%artifact")
    assert line.restore({"source": line.words[1], "tool": "t", "n": 3}, TAKES) == {"source": thing, "tool": "t", "n": 3}


def test_an_object_stands_only_where_one_is_taken():
    line = Line("head {{thing}} {{thing}}", {"thing": object()}, "%artifact")
    with pytest.raises(BadRequest, match="tool: must be text, not a variable of type object"):
        line.restore({"tool": line.words[1]}, TAKES)
    known = {"size": object()}
    line = Line("save --metadata {{size}}", known, "%artifact")
    taken = line.restore({"metadata": line.words[2]}, Operation("save", "", (Param("metadata", "json", ""),)))
    assert taken == {"metadata": known["size"]}


def test_a_source_is_data_where_it_is_a_variable_and_else_a_file():
    line = Line("put {{text}} --tool t", {"text": "abc"}, "%artifact")
    assert line.restore({"source": "abc"}, TAKES) == {"source": "abc"}
    assert line.restore({"source": "a.txt"}, TAKES) == {"source": Path("a.txt")}
    with pytest.raises(BadRequest, match=r"Write \{\{text\}\}"):
        line.restore({"source": "text"}, TAKES)


def test_a_bare_name_of_a_variable_stands_for_an_artifact_only_where_one_is_meant():
    thing = object()
    line = Line("head pods", {"pods": thing, "t": thing}, "%artifact")
    assert line.restore({"ref": "pods", "tool": "t"}, TAKES) == {"ref": thing, "tool": "t"}
    assert line.restore({"refs": ["pods", "a/b"]}, TAKES) == {"refs": [thing, "a/b"]}
    assert line.restore({"ref": "absent"}, TAKES) == {"ref": "absent"}


def test_what_a_spill_gave_stands_for_what_it_stored():
    stored, inline = SimpleNamespace(artifact=object()), SimpleNamespace(artifact=None)
    line = Line("head pods {{pods}}", {"pods": stored, "small": inline}, "%artifact")
    found = stored.artifact
    assert line.restore({"ref": "pods", "with": [line.words[2]]}, TAKES) == {"ref": found, "with": [found]}
    assert line.restore({"source": line.words[2], "ref": "small"}, TAKES) == {"source": stored, "ref": inline}


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
