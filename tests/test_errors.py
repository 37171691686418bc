"""What errors say: the thing, the reason, and one next step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from kmnb import errors
from kmnb.errors import BadRequest, KmnbError, StoreUnavailable, said
from tests.source import Source, sources

KINDS = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, KmnbError)}


def test_an_error_in_the_reason_of_another_one_brings_no_next_step_of_its_own() -> None:
    thing = "artifact 'k'"
    inner = StoreUnavailable(thing, "127.0.0.1:1 is not reachable", "Is the server up?")
    outer = StoreUnavailable(thing, f"gave up: {said(inner, thing)}", "Is there room on its disk?")
    assert str(outer) == "artifact 'k': gave up: 127.0.0.1:1 is not reachable. Is there room on its disk?"
    assert said(inner) == "artifact 'k': 127.0.0.1:1 is not reachable"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (BadRequest("a thing"), "a thing"),
        (BadRequest("a thing", next_step="Try another."), "a thing"),
        (OSError("disk full"), "disk full"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_what_an_error_says_is_its_text_without_advice(error: Exception, text: str) -> None:
    assert said(error) == text
    assert said(error, "a thing") == text


def _whole_texts(source: Source) -> Iterator[str]:
    """Places where the whole text of a caught error of kmnb becomes a part of one that is raised."""
    for handler in ast.walk(source.tree):
        if not isinstance(handler, ast.ExceptHandler) or handler.type is None or handler.name is None:
            continue
        caught = {
            node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in ast.walk(handler.type)
        }
        raises = [node for node in ast.walk(handler) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
        if not caught & KINDS or not any(ast.unparse(node.exc.func).split(".")[-1] in KINDS for node in raises):
            continue
        for node in ast.walk(handler):
            name = node.value if isinstance(node, ast.FormattedValue) else None
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "str" and node.args:
                name = node.args[0]
            if isinstance(name, ast.Name) and name.id == handler.name:
                yield f"{source.where}:{node.lineno}"


def test_no_error_joins_the_next_steps_of_two() -> None:
    assert [place for source in sources() for place in _whole_texts(source)] == []
