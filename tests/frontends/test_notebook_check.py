"""A saved notebook is checked as a whole: its receipts run again, and the numbers of its text against them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kmnb.frontends._carried import RECEIPT_MAX_BYTES
from kmnb.frontends.cli import main

COUNT = "import glob, os; print(len(open(os.environ['KMNB_ARTIFACTS'] + '/' + {key!r}).readlines()) * 100)"
TEXT = "There are 600 pods, 6 in the file, and 42 was printed. See 2026-11-30."
Notebook = dict[str, Any]


def output(shell: Any, shown: Any) -> Notebook:
    """What a notebook keeps of a shown value."""
    data, metadata = shell.display_formatter.format(shown)
    return {"output_type": "execute_result", "execution_count": 1, "data": data, "metadata": metadata}


@pytest.fixture
def notebook(shell: Any) -> Notebook:
    """A notebook with a run, a slice and a printed receipt, and a text over their numbers."""
    shell.run_cell("import kmnb; ws = kmnb.connect()")
    ws = shell.user_ns["ws"]
    pods = ws.put("".join(f"pod-{letter}\n" for letter in "abcdef"), tool="pods")
    run = ws.run(COUNT.format(key=pods.key), artifacts=[pods])
    printed = ws.run("print(42)").receipt.to_json()
    cells = [
        {"cell_type": "markdown", "source": ["# 1. Pods\n", TEXT], "metadata": {}},
        {"cell_type": "code", "source": "", "outputs": [output(shell, run), output(shell, pods.count())]},
        {"cell_type": "code", "source": "", "outputs": [{"output_type": "stream", "text": [printed, "\n"]}]},
    ]
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    """Check a notebook on the command line; give the exit code and what it says as JSON."""

    def check(notebook: Notebook) -> tuple[int, Any]:
        path = tmp_path / "notebook.ipynb"
        path.write_text(json.dumps(notebook))
        capsys.readouterr()
        code = main(["verify", str(path), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return check


def receipt_of(notebook: Notebook) -> dict[str, Any]:
    receipt = notebook["cells"][1]["outputs"][0]["metadata"]["kmnb"]["receipt"]
    assert isinstance(receipt, dict)
    return receipt


def test_a_true_notebook_holds(notebook: Notebook, check: Any, shell: Any, tmp_path: Path) -> None:
    code, told = check(notebook)
    assert (code, told["ok"], told["receipts"], told["numbers"]) == (0, True, 3, 3), told
    assert [row["status"] for row in told["rows"]] == ["verified"] * 3
    answer = shell.run_line_magic("artifact", f"verify {tmp_path}/notebook.ipynb")
    assert answer.ok
    assert "3 receipts and 3 numbers: all hold" in repr(answer)


@pytest.mark.parametrize(("true", "forged"), [("600", "601"), ("6 in", "7 in"), ("42 was", "43 was")])
def test_a_forged_number_of_the_text_is_found(notebook: Notebook, check: Any, true: str, forged: str) -> None:
    notebook["cells"][0]["source"] = TEXT.replace(true, forged)
    code, told = check(notebook)
    assert (code, told["ok"]) == (1, False)
    (row,) = [row for row in told["rows"] if row["status"] != "verified"]
    assert (row["cell"], row["what"], row["status"]) == (1, forged.split()[0], "unbacked")


def test_numbers_of_a_receipt_that_does_not_hold_back_nothing(notebook: Notebook, check: Any, shell: Any) -> None:
    receipt_of(notebook)["numbers"][0]["value"] = "700"
    code, told = check(notebook)
    assert code == 1
    assert {row["what"]: row["status"] for row in told["rows"] if row["status"] != "verified"} == {
        receipt_of(notebook)["digest"]: "cannot-verify",
        "600": "unbacked",
    }


def test_a_slice_that_says_another_number_differs(notebook: Notebook, check: Any) -> None:
    notebook["cells"][1]["outputs"][1]["metadata"]["kmnb"]["receipt"]["numbers"][0]["value"] = "8"
    assert [row["status"] for row in check(notebook)[1]["rows"]] == ["verified", "differs", "verified", "unbacked"]


def test_a_program_that_gives_something_else_differs(notebook: Notebook, check: Any, shell: Any) -> None:
    moving = shell.user_ns["ws"].run("import time; print(time.time_ns())")
    notebook["cells"].append({"cell_type": "code", "outputs": [output(shell, moving)]})
    assert check(notebook)[1]["rows"][-1]["status"] == "differs"


def test_what_is_gone_or_was_too_large_cannot_be_verified(notebook: Notebook, check: Any, shell: Any) -> None:
    ws = shell.user_ns["ws"]
    large = ws.run("for n in range(2000): print(n * 7919)")
    assert len(large.receipt.to_json()) > RECEIPT_MAX_BYTES
    notebook["cells"].append({"cell_type": "code", "outputs": [output(shell, large)]})
    ws.delete(receipt_of(notebook)["artifacts"][0]["key"])
    statuses = [row["status"] for row in check(notebook)[1]["rows"]]
    assert statuses == ["cannot-verify", "cannot-verify", "verified", "cannot-verify", "unbacked", "unbacked"]


@pytest.mark.parametrize(
    "receipt",
    [
        {"op": "stream", "key": "a/b/c/d/e-0", "parameters": {}},
        {"op": "head"},
        {"op": [], "parameters": 1},
        {"program_digest": 1},
        {},
    ],
)
def test_hostile_receipts_are_no_error(notebook: Notebook, check: Any, receipt: Any) -> None:
    notebook["cells"] = [7, {"cell_type": "code", "outputs": [3, {"metadata": {"kmnb": {"receipt": receipt}}}]}]
    code, told = check(notebook)
    assert (code, [row["status"] for row in told["rows"]]) == (1, ["cannot-verify"])


def test_a_single_receipt_that_does_not_hold_ends_with_1(notebook: Notebook, tmp_path: Path) -> None:
    path = tmp_path / "receipt.json"
    path.write_text(json.dumps(receipt_of(notebook)))
    assert main(["verify", str(path)]) == 0
    path.write_text(json.dumps(receipt_of(notebook) | {"stdout_digest": "x"}))
    assert main(["verify", str(path)]) == 2
