"""Values of a wrong kind are the caller's fault, told as such, from every public verb."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kmnb
from kmnb.errors import BadRequest

VERBS: dict[str, Callable[[Any, Any], object]] = {
    "spill media_type": lambda ws, art: ws.spill("x" * 5000, tool="t", media_type=5),
    "put tool": lambda ws, art: ws.put("x", tool=5),
    "put data": lambda ws, art: ws.put(object(), tool="t"),
    "get": lambda ws, art: ws.get(5),
    "list": lambda ws, art: list(ws.list(5)),
    "delete": lambda ws, art: ws.delete(5),
    "save name": lambda ws, art: ws.save(5, b""),
    "save media_type": lambda ws, art: ws.save("a", b"", media_type=5),
    "load name": lambda ws, art: ws.load(5),
    "load version": lambda ws, art: ws.load("a", version="x"),
    "versions": lambda ws, art: ws.versions(5),
    "append": lambda ws, art: ws.append(5, b""),
    "remove": lambda ws, art: ws.remove(5),
    "open_thread": lambda ws, art: ws.open_thread(5),
    "close_thread": lambda ws, art: ws.close_thread(5),
    "run code": lambda ws, art: ws.run(5),
    "run language": lambda ws, art: ws.run("1", language=5),
    "run artifacts": lambda ws, art: ws.run("1", artifacts=5),
    "run timeout": lambda ws, art: ws.run("1", timeout_seconds="x"),
    "validate": lambda ws, art: ws.validate(5),
    "verify": lambda ws, art: ws.verify(5),
    "head": lambda ws, art: art.head("x"),
    "grep": lambda ws, art: art.grep(None),
    "lines": lambda ws, art: art.lines(0, "some"),
    "select": lambda ws, art: art.select(5),
    "jq": lambda ws, art: art.jq(5),
    "jmespath": lambda ws, art: art.jmespath(5),
    "read start": lambda ws, art: art.read("a", 2),
    "read size": lambda ws, art: art.read(0, -2),
    "hold seconds": lambda ws, art: art.hold("r", seconds="soon"),
    "retain": lambda ws, art: ws.retain(keep_last="x"),
    "retain age": lambda ws, art: ws.retain(max_age_seconds=float("inf")),
    "label": lambda ws, art: ws.label("a", 5),
    "metadata": lambda ws, art: ws.save("a", b"", metadata=[1]),
    "expected_version": lambda ws, art: ws.save("a", b"", expected_version=True),
    "hold": lambda ws, art: art.hold(None),
    "keep": lambda ws, art: art.keep(5),
    "to_pandas": lambda ws, art: art.to_pandas(columns=5),
    "connect": lambda ws, art: kmnb.connect(5),
    "connect thread": lambda ws, art: kmnb.connect("memory://", thread=5),
    "open_store": lambda ws, art: kmnb.open_store(5),
    "check text": lambda ws, art: kmnb.contract.check(5, []),
    "check receipts": lambda ws, art: kmnb.contract.check("5", 5),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_value_of_a_wrong_kind_is_a_bad_request(verb: str) -> None:
    with kmnb.connect("memory://", thread="t") as ws:
        art = ws.put("a\nb\n", tool="x")
        with pytest.raises(BadRequest):
            VERBS[verb](ws, art)
        assert art.head(1).values == ["a"]


def test_what_python_says_of_arguments_names_the_call() -> None:
    """Not what lies behind it: the part of a class, or the function whose twin was called."""
    with kmnb.connect("memory://") as ws, kmnb.open_store("memory://") as store:
        art = ws.put("x", tool="t")
        for whole, known in ((ws, "Workspace"), (art, "Artifact"), (store, "Store"), (kmnb.sandbox, "")):
            for name in (name for name in dir(whole) if name.endswith("_async")):
                for call in (getattr(whole, name), getattr(whole, name.removesuffix("_async"))):
                    with pytest.raises((TypeError, BadRequest)) as told:
                        call(*range(9))
                    at = f"{known}.{call.__name__}" if known else call.__name__
                    assert str(told.value).startswith((f"{at}()", f"{at.removesuffix('_async')}()"))
