"""The tutorials, under strict nbval: every output of every cell is compared, and a changed row of data is noticed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.children import Answer, python
from tests.source import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FORGIVING = re.compile(r"nbval|raises-exception", re.IGNORECASE)
SECONDS = 30
"""Longest that a tutorial may take, kernel start included."""

Change = Callable[[str], str]


def name(path: Path) -> str:
    return path.stem


def laid_out(folder: Path, notebooks: list[Path]) -> list[str]:
    """Put copies of notebooks beside a copy of their data, outside the repository and its settings."""
    shutil.copytree(ROOT / "notebooks" / "data", folder / "data")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n", "utf-8")
    return [Path(shutil.copy(notebook, folder)).name for notebook in notebooks]


def nbval(folder: Path, names: list[str], *, seed: str = "0") -> Answer:
    """Run notebooks and compare every output."""
    options = ("--nbval", "--nbval-current-env", "--nbval-cell-timeout=60", "-q")
    return python("-m", "pytest", *options, *names, cwd=folder, seconds=SECONDS * len(names), PYTHONHASHSEED=seed)


@pytest.mark.timeout(2 * SECONDS * len(NOTEBOOKS))
@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_tutorials_give_exactly_the_outputs_that_stand_in_them(seed: str, tmp_path: Path) -> None:
    answer = nbval(tmp_path, laid_out(tmp_path, NOTEBOOKS), seed=seed)
    assert answer.code == 0, answer


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name)
def test_a_tutorial_excuses_no_output_from_comparison(notebook: Path) -> None:
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        assert not FORGIVING.search(" ".join(cell["metadata"].get("tags", [])))
        assert cell["cell_type"] != "code" or not FORGIVING.search("".join(cell["source"]))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name)
def test_a_tutorial_was_run_from_top_to_bottom_without_an_error(notebook: Path) -> None:
    cells = [cell for cell in json.loads(notebook.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell["outputs"] if output["output_type"] == "error"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name)
def test_a_tutorial_stays_small_and_names_no_folder_of_a_machine(notebook: Path) -> None:
    text = notebook.read_text("utf-8")
    assert len(text) < 400_000
    assert not re.search(r"/(root|home|work|tmp)/", text)


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("pods.json", lambda text: text.replace('"namespace":"kube-system"', '"namespace":"kube-public"', 1)),
        ("weather.csv", lambda text: text.replace("2012-01-02,10.9,10.6", "2012-01-02,10.9,40.6", 1)),
    ],
)
def test_one_changed_row_of_the_data_makes_the_first_tutorial_fail(file: str, change: Change, tmp_path: Path) -> None:
    names = laid_out(tmp_path, NOTEBOOKS[:1])
    data = tmp_path / "data" / file
    before = data.read_text("utf-8")
    data.write_text(change(before), "utf-8")
    assert data.read_text("utf-8") != before
    answer = nbval(tmp_path, names)
    assert answer.code == 1, answer
    assert "Notebook cell execution failed" in answer.out, answer
