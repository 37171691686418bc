"""One table of operations: every verb of a workspace is in it, and magics and command line show all of it.

The test of the server holds REST to the same table.
"""

from __future__ import annotations

from typing import Any

import pytest

from kmnb.frontends._magic_forms import artifact_help
from kmnb.frontends.cli import main
from kmnb.ops.commands import commands
from kmnb.ops.workspace import Workspace

OTHER_NAMES = {
    "delete": "rm", "list": "ls", "open_thread": "open", "close_thread": "close", "remove": "forget", "sweep": "gc",
    "close_session": "end-session",
}  # fmt: skip
"""Verbs whose command has a name that people know from elsewhere."""
NO_COMMAND = {
    "close": "a front end closes its workspace itself",
    "events": "an endless walk has no place on a line",
    "run_cell": "it is the magic %%compute",
}


def listed(text: str) -> set[str]:
    """Names of the commands that a help text lists."""
    return {line.split()[0] for line in text.splitlines() if line.startswith("  ") and line[2:3].isalpha()}


def test_every_verb_of_a_workspace_is_a_command() -> None:
    verbs = {name.removesuffix("_async") for name in dir(Workspace) if name.endswith("_async") and name[0] != "_"}
    assert set(OTHER_NAMES) | set(NO_COMMAND) <= verbs
    assert not {OTHER_NAMES.get(verb, verb) for verb in verbs - set(NO_COMMAND)} - set(commands())


def test_magics_and_command_line_list_the_same(capsys: pytest.CaptureFixture[str], store_url: str) -> None:
    known = set(commands())
    magics = artifact_help().partition("\n\n")[2].partition("\n\n")[0]
    assert listed(magics) == known
    assert main(["--help"]) == 0
    assert listed(capsys.readouterr().out.partition("commands (")[2]) >= known


def magic(shell: Any, line: str) -> Any:
    return shell.run_line_magic("artifact", line)


def test_named_artifacts_by_their_commands(shell: Any) -> None:
    shell.user_ns |= {"one": "a,b\n1,2\n", "two": "3,4\n"}
    magic(shell, "save t.csv {{one}}")
    assert magic(shell, "append t.csv {{two}}").version == 1
    assert magic(shell, "append t.csv {{two}} --no-whole").version == 2
    assert magic(shell, "diff t.csv 0 1").data["added"] == 1
    assert magic(shell, "label t.csv good --version 1").data == {"label": "good", "version": 1}
    assert magic(shell, "labels t.csv").data == [{"label": "good", "version": 1}]
    assert magic(shell, "unlabel t.csv good").data == {"label": "good"}
    assert magic(shell, "restore t.csv 1").version == 3
    assert magic(shell, "copy t.csv u.csv --version 0").version == 0
    assert "version" in magic(shell, "metadata t.csv --version 3").text
    assert magic(shell, "load t.csv").head(9).text.startswith("a,b\n1,2\n3,4\n")


def test_programs_and_receipts_by_their_commands(shell: Any, tmp_path: Any) -> None:
    (tmp_path / "good.py").write_text("print(40 + 2)")
    assert magic(shell, f"validate {tmp_path}/good.py").data == {"valid": True, "errors": ""}
    shell.user_ns["bad"] = "print("
    verdict = magic(shell, "validate {{bad}}")
    assert not verdict.data["valid"]
    assert verdict.text.startswith("not valid: ")
    shell.user_ns["put"] = "x" * 5000
    magic(shell, "put {{put}} --tool t --out art")
    shell.run_cell_magic("compute", "python --with art --timeout 20 --out out", "print(40 + 2)")
    assert shell.user_ns["out"].stdout == "42\n"
    assert magic(shell, "verify {{out.receipt}}").data["status"] == "verified"
    assert magic(shell, "end-session nobody").data == {"ended": False}


def test_files_and_history_by_their_commands(shell: Any, tmp_path: Any) -> None:
    shell.user_ns["data"] = "x" * 5000
    magic(shell, "open t2")
    magic(shell, "put {{data}} --tool t --thread t2 --out art")
    answer = magic(shell, f"materialise {tmp_path}/files art")
    assert [one["key"] for one in answer.data] == [shell.user_ns["art"].key]
    assert (tmp_path / "files" / shell.user_ns["art"].key).read_text() == "x" * 5000
    assert "type" in magic(shell, "project art --mode reference").data
    magic(shell, "save t.txt {{data}}")
    assert magic(shell, "resolve '2 + 2 = «math:2 + 2»' --stage all").data["text"] == "2 + 2 = 4"
    assert [t.thread for t in magic(shell, "threads")] != []


def test_every_option_of_a_compute_cell_works(shell: Any) -> None:
    shell.user_ns["data"] = "x" * 5000
    magic(shell, "put {{data}} --tool t --out art")
    cell = "import os, pathlib\nfound = pathlib.Path(os.environ['KMNB_ARTIFACTS']).rglob('t-*')\n"
    cell += "print(sum(path.stat().st_size for path in found))"
    assert shell.run_cell_magic("compute", "--with art", cell).stdout == "5000\n"
    assert shell.run_cell_magic("compute", f"bash --with {shell.user_ns['art'].key}", "echo hi").stdout == "hi\n"
    outcome = shell.run_cell_magic("compute", "bash --timeout 0.3 --out late", "sleep 20")
    assert outcome is shell.user_ns["late"]
    assert outcome.timed_out
    try:
        shell.run_cell_magic("compute", "--session s --timeout 30", "x = 41")
        assert shell.run_cell_magic("compute", "python --session s", "print(x + 1)").stdout == "42\n"
    finally:
        assert magic(shell, "end-session s").data == {"ended": True}
