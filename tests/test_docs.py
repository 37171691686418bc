"""The documentation is complete, its code runs and its links lead somewhere."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

import pytest

from tests.children import python
from tests.source import ROOT

DOCS = ROOT / "docs"
PROSE = sorted(
    path
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCS.rglob("*.md")]
    if path.is_file()
)
REFERENCE = DOCS / "reference"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
DECISION_PARTS = ("Status", "Context", "Decision", "Consequences")

PREPARED = """
import kmnb
ws = kmnb.connect("memory://", thread="docs", agent="docs")
"""


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def executed(path: Path) -> bool:
    return path.is_relative_to(DOCS / "howto") or path.is_relative_to(DOCS / "explain") or path.parent == ROOT


@pytest.mark.parametrize("path", [p for p in PROSE if executed(p) and BLOCK.search(p.read_text("utf-8"))], ids=name)
def test_the_python_blocks_of_a_page_run(path: Path, tmp_path: Path) -> None:
    """One after another in one interpreter; the program keeps the page's line numbers, so that an error names them."""
    shutil.copy(ROOT / "notebooks" / "data" / "pods.json", tmp_path)
    page = path.read_text("utf-8")
    lines = [""] * (page.count("\n") + 1)
    for block in BLOCK.finditer(page):
        first = page.count("\n", 0, block.start(1))
        code = block[1].splitlines()
        lines[first : first + len(code)] = code
    program = tmp_path / f"page-{path.stem}.py"  # never the name of a module, such as nats
    program.write_text("\n".join(lines), "utf-8")
    run = f"import pathlib\nexec(compile(pathlib.Path({str(program)!r}).read_text('utf-8'), {name(path)!r}, 'exec'))"
    answer = python("-c", f"{PREPARED}\n{run}", cwd=tmp_path)
    assert answer.code == 0, answer


@pytest.mark.parametrize("path", PROSE, ids=name)
def test_the_links_of_a_page_lead_somewhere(path: Path) -> None:
    targets = [link for link in LINK.findall(path.read_text("utf-8")) if "://" not in link and link[:7] != "mailto:"]
    assert [link for link in targets if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", PROSE, ids=name)
def test_a_page_begins_with_a_title_and_closes_its_blocks(path: Path) -> None:
    text = path.read_text("utf-8").removeprefix(
        "<!-- Written by docs/generate.py; change the source, then run `make docs`. -->\n\n"
    )
    assert text.startswith("# ")
    assert text.count("```") % 2 == 0


def test_the_generated_reference_is_current() -> None:
    """After a change of a declaration or a docstring, run `make docs`."""
    generated = runpy.run_path(str(DOCS / "generate.py"))["pages"]()
    stale = [page for page, text in generated.items() if (REFERENCE / page).read_text("utf-8") != text]
    assert stale == []


def test_every_operation_is_explained_by_an_example_or_a_parameter_table() -> None:
    operations = runpy.run_path(str(DOCS / "generate.py"))["operations"]()
    text = (REFERENCE / "operations.md").read_text("utf-8")
    assert [name for name in operations if f"## `{name}`" not in text] == []


@pytest.mark.parametrize("path", sorted((DOCS / "decisions").glob("*.md")), ids=name)
def test_a_decision_has_a_number_a_date_and_its_four_parts(path: Path) -> None:
    text = path.read_text("utf-8")
    assert re.match(r"\d{3}-[a-z0-9-]+\.md$", path.name)
    assert re.search(r"\b20\d\d-\d\d-\d\d\b", text)
    assert [part for part in DECISION_PARTS if not re.search(rf"\b{part}\b", text, re.IGNORECASE)] == []


def test_the_numbers_of_decisions_are_used_once() -> None:
    numbers = [path.name[:3] for path in (DOCS / "decisions").glob("*.md")]
    assert len(numbers) == len(set(numbers))


def test_the_readme_begins_with_the_two_commands() -> None:
    first = (ROOT / "README.md").read_text("utf-8").split("```")[1]
    assert [line.split()[1:3] for line in first.splitlines()[1:]] == [["make", "demo"], ["make", "test"]]
