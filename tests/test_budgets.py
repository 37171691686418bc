"""Sizes and habits: small files, small functions, few positional parameters, everything documented."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.source import Function, Source, classes, functions, sources

MODULE_MAX_LINES = 300
BODY_MAX_LINES = 50
BODY_USUAL_LINES = 25
USUAL_SHARE = 0.9
POSITIONAL_MAX = 3

FOREIGN_SIGNATURES: dict[str, str] = {
    "kmnb._plugins.load": "the plug-in contract of the house",
    "kmnb.ops._handle_frames._Source.batches": "the sources of polars",
}
"""Functions whose positional parameters are given by somebody else's interface, and whose."""


def ids(source: Source) -> str:
    return source.where


def body_lines(function: Function) -> int:
    """Lines of a function's body without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("source", sources(), ids=ids)
def test_a_module_is_small(source: Source) -> None:
    assert source.text.count("\n") <= MODULE_MAX_LINES


@pytest.mark.parametrize("source", sources(), ids=ids)
def test_no_function_is_long(source: Source) -> None:
    long = {name: body_lines(node) for name, node, _ in functions(source) if body_lines(node) > BODY_MAX_LINES}
    assert not long


def test_nine_functions_in_ten_are_short() -> None:
    sizes = [body_lines(node) for source in sources() for _, node, _ in functions(source)]
    assert sum(size <= BODY_USUAL_LINES for size in sizes) / len(sizes) >= USUAL_SHARE


@pytest.mark.parametrize("source", sources(), ids=ids)
def test_a_function_takes_at_most_three_positional_parameters(source: Source) -> None:
    many = {}
    for name, node, parent in functions(source):
        given = [*node.args.posonlyargs, *node.args.args]
        own = given[1:] if isinstance(parent, ast.ClassDef) and not _is_static(node) else given
        if len(own) > POSITIONAL_MAX and f"{source.name}.{name}" not in FOREIGN_SIGNATURES:
            many[name] = [argument.arg for argument in own]
    assert not many


def _is_static(node: Function) -> bool:
    return any(ast.unparse(decorator) == "staticmethod" for decorator in node.decorator_list)


@pytest.mark.parametrize("source", sources(), ids=ids)
def test_every_public_name_has_a_docstring(source: Source) -> None:
    bare = [] if ast.get_docstring(source.tree) or not source.text else ["the module"]
    for name, node in _public(source.tree, ""):
        if ast.get_docstring(node) is None:
            bare.append(name)
    assert not bare


def _public(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function | ast.ClassDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef) and not child.name.startswith("_"):
            if not _is_overload(child):
                yield f"{prefix}{child.name}", child
            if isinstance(child, ast.ClassDef):
                yield from _public(child, f"{prefix}{child.name}.")


def _is_overload(node: Function | ast.ClassDef) -> bool:
    return any(ast.unparse(decorator).endswith(("overload", ".setter")) for decorator in node.decorator_list)


@pytest.mark.parametrize("source", sources(), ids=ids)
def test_every_field_of_a_public_dataclass_has_its_own_docstring(source: Source) -> None:
    bare = [
        f"{found.name}.{field}"
        for found in classes(source)
        if _is_public_dataclass(found)
        for field in _bare_fields(found)
    ]
    assert not bare


def _is_public_dataclass(node: ast.ClassDef) -> bool:
    return not node.name.startswith("_") and any("dataclass" in ast.unparse(d) for d in node.decorator_list)


def _bare_fields(node: ast.ClassDef) -> Iterator[str]:
    for statement, following in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        told = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if not told and not statement.target.id.startswith("_"):
            yield statement.target.id
