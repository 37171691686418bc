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


def run(notebook: Path, folder: Path, *, seed: str = "0", seconds: float = 4 * SECONDS) -> Answer:
    """Run a copy of a notebook, beside a copy of its data, outside the repository and its settings."""
    shutil.copytree(ROOT / "notebooks" / "data", folder / "data", dirs_exist_ok=True)
    shutil.copy(notebook, folder)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n", "utf-8")
    options = ("--nbval", "--nbval-current-env", "--nbval-cell-timeout=60", "-q")
    return python("-m", "pytest", *options, notebook.name, cwd=folder, seconds=seconds, PYTHONHASHSEED=seed)


@pytest.mark.parametrize("seed", ["1", "2"])
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name)
def test_a_tutorial_gives_exactly_the_outputs_that_stand_in_it(notebook: Path, seed: str, tmp_path: Path) -> None:
    answer = run(notebook, tmp_path, seed=seed)
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
    (tmp_path / "data").mkdir()
    shutil.copytree(ROOT / "notebooks" / "data", tmp_path / "data", dirs_exist_ok=True)
    data = tmp_path / "changed"
    text = (ROOT / "notebooks" / "data" / file).read_text("utf-8")
    assert change(text) != text
    data.write_text(change(text), "utf-8")
    answer = run_changed(tmp_path, file, data)
    assert answer.code == 1, answer
    assert "Notebook cell execution failed" in answer.out or "mismatch" in answer.out.lower(), answer


def run_changed(folder: Path, file: str, changed: Path) -> Answer:
    """Run the first tutorial beside data of which one file was changed."""
    inner = folder / "inner"
    inner.mkdir()
    shutil.copytree(ROOT / "notebooks" / "data", inner / "data")
    shutil.copy(changed, inner / "data" / file)
    shutil.copy(NOTEBOOKS[0], inner)
    (inner / "pytest.ini").write_text("[pytest]\n", "utf-8")
    options = ("--nbval", "--nbval-current-env", "--nbval-cell-timeout=60", "-q")
    return python("-m", "pytest", *options, NOTEBOOKS[0].name, cwd=inner, seconds=4 * SECONDS)
