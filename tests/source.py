"""The source of kmnb as the architecture tests see it: files, their imports, their functions."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "kmnb"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Import:
    """One imported module of one file."""

    module: str
    line: int
    lazy: bool
    """Whether it stands inside a function."""
    typing_only: bool
    """Whether it stands under ``if TYPE_CHECKING`` and so never happens."""

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]

    @property
    def third_party(self) -> bool:
        return self.top != "kmnb" and self.top not in sys.stdlib_module_names


@dataclass(frozen=True)
class Source:
    """One file of the package."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def where(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"


@cache
def sources() -> tuple[Source, ...]:
    """Every Python file of the package, parsed."""
    return tuple(_read(path) for path in sorted(PACKAGE.rglob("*.py")) if "node_modules" not in path.parts)


def _read(path: Path) -> Source:
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    text = path.read_text("utf-8")
    return Source(name, path, text, ast.parse(text, str(path)))


@cache
def modules() -> frozenset[str]:
    """Dotted names of all modules of the package."""
    return frozenset(source.name for source in sources())


def imports(source: Source) -> tuple[Import, ...]:
    """Every import of a file, wherever it stands, with names of kmnb resolved to the module that they come from."""
    return tuple(_walk(source, source.tree, lazy=False, typing_only=False))


def _walk(source: Source, node: ast.AST, *, lazy: bool, typing_only: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            for module in _targets(source, child):
                yield Import(module, child.lineno, lazy, typing_only)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from _walk(source, ast.Module(child.body, []), lazy=lazy, typing_only=True)
            yield from _walk(source, ast.Module(child.orelse, []), lazy=lazy, typing_only=typing_only)
        else:
            inside = lazy or isinstance(child, Function | ast.Lambda)
            yield from _walk(source, child, lazy=inside, typing_only=typing_only)


def _targets(source: Source, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = node.module or ""
    if node.level:
        package = source.name.split(".") if source.is_package else source.name.split(".")[:-1]
        base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
    if not base.startswith("kmnb"):
        yield base
        return
    for alias in node.names:
        full = f"{base}.{alias.name}"
        yield full if full in modules() else base


def functions(source: Source) -> Iterator[tuple[str, Function, ast.AST]]:
    """Every function of a file with its qualified name and what it stands in."""
    yield from _functions(source.tree, "")


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function, ast.AST]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield f"{prefix}{child.name}", child, node
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def classes(source: Source) -> Iterator[ast.ClassDef]:
    """Every class of a file."""
    return (node for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef))
