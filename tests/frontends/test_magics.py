"""The magics, in a shell, over a real store."""

from __future__ import annotations

import re

import pytest

from kmnb.errors import ArtifactNotFound, BadRequest, KmnbError, UnknownPlugin
from tests.source import ROOT

DATA = "".join(f"line {number}\n" for number in range(2000))


@pytest.fixture
def key(shell):
    """Key of a stored text of 2,000 lines."""
    shell.user_ns["DATA"] = DATA
    shell.run_line_magic("artifact", "put {{DATA}} --tool text --out art")
    return shell.user_ns["art"].key


def magic(shell, line):
    return shell.run_line_magic("artifact", line)


def test_put_takes_a_value_of_the_notebook_and_out_names_the_answer(shell, key):
    assert key == "default/nocrew/default/ada/text-0"


def test_sips_give_slices_that_go_into_variables(shell, key):
    assert magic(shell, f"head {key} 2").values == ["line 0", "line 1"]
    assert magic(shell, "tail art -n 1").values == ["line 1999"]
    assert magic(shell, f"lines {key} --start 5 --limit 1").values == ["line 5"]
    assert [found.number for found in magic(shell, f"grep {key} '^line 7$'").values] == [8]
    assert magic(shell, "count {{art}}").values == [2000]
    shell.run_cell(f"got = %artifact head {key} 1")
    assert shell.user_ns["got"].values == ["line 0"]


def test_listing_shows_and_gives_handles(shell, key):
    listing = magic(shell, "ls")
    assert [artifact.key for artifact in listing] == [key]
    assert key in listing._repr_mimebundle_()["text/html"]
    assert magic(shell, f"show {key}").key == key


def test_removing_and_missing(shell, key):
    assert magic(shell, f"rm {key}").data == {"removed": 1}
    with pytest.raises(ArtifactNotFound):
        magic(shell, f"get {key}")


def test_the_cell_form_stores_what_a_cell_prints(shell):
    cell = "for n in range(2000): print('row', n)"
    spill = shell.run_cell_magic("artifact", "spill --tool rows", cell)
    assert spill.artifact.tail(1).values == ["row 1999"]


def test_the_cell_form_stores_what_a_cell_returns_and_passes_its_prints_on(shell, capsys):
    spill = shell.run_cell_magic("artifact", "spill --tool rows", "print('hello')\n'x' * 5000")
    assert spill.artifact.size == 5000
    assert capsys.readouterr().out == "hello\n"


def test_a_small_result_of_a_cell_stays_inline(shell):
    spill = shell.run_cell_magic("artifact", "spill --tool small --out s", "{'a': 1}")
    assert spill is None
    assert shell.user_ns["s"].artifact is None


def test_a_cell_that_raises_stores_nothing(shell, capsys):
    with pytest.raises(BadRequest, match="raised ZeroDivisionError"):
        shell.run_cell_magic("artifact", "spill --tool rows", "print('x' * 5000)\n1/0")
    assert list(magic(shell, "ls")) == []
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_a_cell_that_gives_nothing_is_told_so(shell):
    with pytest.raises(BadRequest, match="gave nothing"):
        shell.run_cell_magic("artifact", "spill --tool rows", "x = 1")


def test_cells_only_go_to_commands_that_take_data(shell):
    with pytest.raises(BadRequest, match="one %"):
        shell.run_cell_magic("artifact", "ls", "1")


@pytest.mark.parametrize(
    ("line", "kind", "says"),
    [
        ("head nope/x/y/z/w-0", ArtifactNotFound, "ArtifactNotFound [not-found]: "),
        ("head {{art}} --linse 3", BadRequest, "BadRequest [bad-request]: "),
        ("haed", UnknownPlugin, "UnknownPlugin [unknown-plugin]: "),
        ("grep {{art}} '('", KmnbError, "ExpressionError [bad-expression]: "),
    ],
)
def test_an_error_shows_as_one_line_without_traceback(shell, key, capsys, line, kind, says):
    result = shell.run_cell(f"%artifact {line}")
    shown = capsys.readouterr()
    assert isinstance(result.error_in_exec, kind)
    text = (shown.out + shown.err).strip()
    assert text.startswith(says)
    assert "\n" not in text
    assert "Traceback" not in text


def test_tracebacks_come_back_when_asked_for(shell, key, capsys):
    shell.run_line_magic("config", "KmnbMagics.short_errors = False")
    shell.run_cell("%artifact head nope/x/y/z/w-0")
    assert "Traceback" in capsys.readouterr().out


def test_help_comes_from_the_parser_that_parses(shell, capsys):
    magic(shell, "grep --help")
    text = capsys.readouterr().out
    assert text.startswith("usage: %artifact grep")
    assert "--ignore-case" in text
    magic(shell, "")
    assert "  grep " in capsys.readouterr().out
    shell.run_cell_magic("compute", "--help", "1")
    assert "--timeout" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["artifact", "compute"])
def test_a_question_mark_shows_the_same_help(shell, name):
    info = shell.object_inspect(f"%{name}" if name == "artifact" else f"%%{name}")
    assert info["docstring"].startswith("usage: %")


def test_an_error_leaves_the_workspace_working(shell, key):
    shell.run_cell("%artifact head nope/x/y/z/w-0")
    assert magic(shell, "head {{art}} 1").values == ["line 0"]


def test_connect_shows_every_default_and_its_origin(shell, store_url):
    workspace = magic(shell, "connect --thread t7")
    html = workspace._repr_mimebundle_()["text/html"]
    for text in ("t7", "nocrew", "ada", "environment KMNB_AGENT", "call", store_url):
        assert text in html
    assert magic(shell, "put {{x}} --tool t --out a".replace("{{x}}", "/dev/null")) is None
    assert shell.user_ns["a"].key == "default/nocrew/t7/ada/t-0"
    workspace.close()


def test_the_variable_ws_of_the_notebook_is_the_workspace(shell):
    shell.run_cell("import kmnb; ws = kmnb.connect('memory://', thread='mine')")
    shell.run_cell("ws.put('abc', tool='t')")
    assert [artifact.key for artifact in magic(shell, "ls")] == ["default/nocrew/mine/ada/t-0"]


def test_a_workspace_of_the_notebook_counts_though_the_default_was_used_before(shell):
    assert magic(shell, "ls").data == []
    shell.run_cell("import kmnb; ws = kmnb.connect('memory://', thread='mine')")
    shell.run_cell("ws.put('abc', tool='t')")
    assert [artifact.key for artifact in magic(shell, "ls")] == ["default/nocrew/mine/ada/t-0"]


def test_the_page_of_the_magics_runs_as_it_stands(shell):
    text = (ROOT / "docs" / "howto" / "magics.md").read_text("utf-8")
    shell.run_cell("def kubectl_json(): return {'items': list(range(2000))}")
    blocks = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        shell.run_cell(block).raise_error()
    assert {"pods", "counted"} <= set(shell.user_ns)
