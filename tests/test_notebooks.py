"""The tutorials, under strict nbval: every output of every cell is compared, and a changed row of data is noticed."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import kmnb
from kmnb.core.receipt import Receipt, digest_of
from tests.children import Answer, python
from tests.source import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SAMPLES = sorted(path for path in (ROOT / "notebooks" / "data").iterdir() if path.suffix != ".md")
FORGIVING = re.compile(r"nbval|raises-exception", re.IGNORECASE)
SECONDS = 60
"""Longest that a tutorial may take, kernel start included."""


def name(path: Path) -> str:
    return path.stem


def laid_out(folder: Path, notebooks: list[Path]) -> list[str]:
    """Put copies of notebooks beside a copy of their data, outside the repository and its settings."""
    shutil.copytree(ROOT / "notebooks" / "data", folder / "data")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n", "utf-8")
    return [Path(shutil.copy(notebook, folder)).name for notebook in notebooks]


def nbval(folder: Path, names: list[str], *, seed: str = "0", **environment: str) -> Answer:
    """Run notebooks and compare every output."""
    options = ("--nbval", "--nbval-current-env", "--nbval-cell-timeout=60", "-q")
    environment["PYTHONHASHSEED"] = seed
    return python("-m", "pytest", *options, *names, cwd=folder, seconds=SECONDS * len(names), **environment)


@pytest.mark.timeout(2 * SECONDS * len(NOTEBOOKS))
@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_tutorials_give_exactly_the_outputs_that_stand_in_them(seed: str, tmp_path: Path) -> None:
    answer = nbval(tmp_path, laid_out(tmp_path, NOTEBOOKS), seed=seed)
    assert answer.code == 0, answer


def test_what_killed_runs_left_on_the_machine_changes_no_output(tmp_path: Path) -> None:
    """The tutorial on cleaning up shows reports of sweeps, which collect that too."""
    names = laid_out(tmp_path, [notebook for notebook in NOTEBOOKS if "cleaning-up" in notebook.name])
    left = tmp_path / "temporary" / "kmnb-turn-4194305-x"  # no process can have this number
    left.mkdir(parents=True)
    answer = nbval(tmp_path, names, TMPDIR=str(left.parent))
    assert answer.code == 0, answer
    assert not left.exists()


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


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name)
def test_an_output_of_a_tutorial_holds_the_digest_of_every_sample_that_it_uses(notebook: Path) -> None:
    """So that a change of any byte shows: outputs are compared, and the digests in them are computed."""
    cells = [cell for cell in json.loads(notebook.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    source = "".join("".join(cell["source"]) for cell in cells)
    outputs = json.dumps([_compared(output) for cell in cells for output in cell["outputs"]])
    used = [path for path in SAMPLES if path.name in source]
    assert used
    for path in used:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert digest in outputs, path.name
        assert digest not in source


PROVING = [path for path in NOTEBOOKS if '"receipt": {' in path.read_text("utf-8")]


def test_several_tutorials_carry_receipts() -> None:
    assert len(PROVING) >= 3


@pytest.mark.parametrize("notebook", PROVING, ids=name)
def test_the_receipts_of_a_tutorial_prove_what_its_cells_show(notebook: Path) -> None:
    """Programs and shown texts are compared by nbval when they run; metadata, where receipts travel, is not."""
    digests = {digest_of(path.read_bytes()): path for path in SAMPLES}
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        for output in cell.get("outputs", ()):
            receipt = output.get("metadata", {}).get("kmnb", {}).get("receipt")
            shown = "".join(output.get("data", {}).get("text/plain", ()))
            if receipt is not None and "op" in receipt:
                _check_sip(receipt, digests)
            elif receipt is not None:
                _check_run(Receipt.from_value(receipt), "".join(cell["source"]), shown, digests)


def _check_sip(receipt: dict[str, Any], digests: dict[str, Path]) -> None:
    kmnb.contract.check("", [receipt])  # raises for one that was changed
    sample = digests.get(receipt["artifactDigest"])
    if sample is None:
        return  # what a program of the tutorial wrote
    with kmnb.connect("memory://") as ws:
        again = getattr(ws.put(sample, tool="sample"), receipt["op"])(**receipt["parameters"]).receipt
    own = {"key", "digest"}
    assert {name: value for name, value in json.loads(json.dumps(again)).items() if name not in own} == {
        name: value for name, value in receipt.items() if name not in own
    }


def _check_run(receipt: Receipt, source: str, shown: str, digests: dict[str, Path]) -> None:
    assert receipt.program_digest == digest_of(source.partition("\n")[2] + "\n")  # as IPython gives it
    assert [one["size"] for one in receipt.artifacts] == [
        digests[one["digest"]].stat().st_size for one in receipt.artifacts
    ]
    head, program, *printed = shown.split("\n")
    assert head == f"ok · exit code {receipt.exit_code}"
    assert program.startswith(f"program {receipt.program_digest[:19]}")
    printed = [line for line in printed if not line.startswith("stored: ")]
    assert receipt.stdout_digest == digest_of("".join(f"{line}\n" for line in printed if line))


def _compared(output: dict[str, Any]) -> Any:
    """What nbval compares of an output: its text, not its metadata."""
    return output.get("text") or output["data"]["text/plain"]


UNSEEN: tuple[tuple[str, str, str], ...] = (
    ("weather.csv", "2013-11-29,0.5,9.4,5.0,2.1,rain", "2013-11-29,0.5,9.5,5.0,2.1,rain"),
    ("coredns.log", "import glob pattern", "import glob pattarn"),
    ("prometheus.json", "1757333213,", "1757333214,"),
    ("pods.json", "eaf7d48161d81d9c3359e1c008571fd6", "eaf7d48161d81d9c3359e1c008571fd7"),
)
"""Samples of the first tutorial; text in the middle of each, and what it becomes."""


@pytest.mark.parametrize(("file", "was", "now"), UNSEEN, ids=[file for file, _, _ in UNSEEN])
def test_one_changed_row_that_no_output_shows_makes_the_first_tutorial_fail(
    file: str, was: str, now: str, tmp_path: Path
) -> None:
    assert was not in NOTEBOOKS[0].read_text("utf-8")
    names = laid_out(tmp_path, NOTEBOOKS[:1])
    data = tmp_path / "data" / file
    text = data.read_text("utf-8")
    place = text.index(was, len(text) // 3)
    data.write_text(text[:place] + now + text[place + len(was) :], "utf-8")
    answer = nbval(tmp_path, names)
    assert answer.code == 1, answer
    assert "Notebook cell execution failed" in answer.out, answer
    assert hashlib.sha256(data.read_bytes()).hexdigest() in answer.out


def test_every_sample_of_the_first_tutorial_is_changed_once() -> None:
    text = NOTEBOOKS[0].read_text("utf-8")
    assert {path.name for path in SAMPLES if path.name in text} == {file for file, _, _ in UNSEEN}
