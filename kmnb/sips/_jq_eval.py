"""Run programs of :mod:`kmnb.sips._jq_parse` on batches of records.

Whatever is not plainly clear here (an error, an ordering of lists, a sum of objects) raises :class:`Doubt`; the
caller then asks libjq about that record, so that there is one meaning of a program, libjq's. Integers are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kmnb.sips._jq_parse import IDENTITY, Node, Step, Unsupported
from kmnb.sips._jq_values import COMPARE, SIMPLE, TESTS, Doubt, One, calculated, each, is_true
from kmnb.sips._json_values import Need

Many = Callable[[Any], Iterable[Any]]
Stage = tuple[str, Callable[[Any], Any]]
"""``map`` with a function of one output, ``filter`` with a condition, or ``flat`` with a function of several."""


def _key_step(name: str) -> One:
    def step(value: Any) -> Any:
        if type(value) is dict:
            return value.get(name)
        if value is None:
            return None
        raise Doubt

    return step


def _index_step(place: int) -> One:
    def step(value: Any) -> Any:
        if type(value) is list:
            return value[place] if -len(value) <= place < len(value) else None
        if value is None:
            return None
        raise Doubt

    return step


def _slice_step(bounds: tuple[int | None, int | None]) -> One:
    def step(value: Any) -> Any:
        if type(value) is list:
            return value[bounds[0] : bounds[1]]
        if value is None:
            return None
        raise Doubt

    return step


_STEPS: dict[str, Callable[[Any], One]] = {"key": _key_step, "index": _index_step, "slice": _slice_step}


def _quiet(step: Many) -> Many:
    def quiet(value: Any) -> Iterable[Any]:
        try:
            return step(value)
        except Doubt:
            if isinstance(value, dict):
                raise
            return ()

    return quiet


class Compiler:
    """Makes stages of a program, and notes in a :class:`Need` what they look at."""

    def stages(self, node: Node, at: Need | None) -> tuple[list[Stage], Need | None]:
        """Make the stages of a node.

        Args:
            node: The program.
            at: What the input is; None for a value that was made, not read.

        Returns:
            The stages, and what the outputs are where each is a part of the input.

        Raises:
            Unsupported: It is not one that is run here.
        """
        if node.kind == "pipe":
            left, middle = self.stages(node.parts[0], at)
            right, end = self.stages(node.parts[1], middle)
            return left + right, end
        if node.kind == "path":
            return self._path(node, at)
        if node.kind == "call" and node.value == "select":
            return [("filter", self._condition(node.parts[0], at))], at
        if node.kind == "call" and node.value == "values":
            return [("filter", lambda value: value is not None)], at
        if node.kind == "call" and node.value == "empty":
            return [("flat", lambda value: ())], None
        return [("map", self.one(node, at))], None

    def one(self, node: Node, at: Need | None) -> One:
        """Make a function of a node that has exactly one output, and that output is used as it is."""
        make = _MAKERS.get(node.kind)
        if make is None:
            raise Unsupported(node.kind)
        return make(self, node, at)

    def _path(self, node: Node, at: Need | None) -> tuple[list[Stage], Need | None]:
        stages: list[Stage] = []
        if node.parts:
            stages, at = self.stages(node.parts[0], at)
        for step in node.value:
            stages.append(_stage(step))
            at = _after(step, at)
        return stages, at

    def single_path(self, node: Node, at: Need | None) -> One:
        """Make a function of a path that has one output."""
        stages, end = self.stages(node, at)
        if any(kind != "map" for kind, _ in stages):
            raise Unsupported("several outputs")
        if end is not None:
            end.whole()
        return _chain([step for _, step in stages])

    def _condition(self, node: Node, at: Need | None) -> One:
        test = self.one(node, at)
        return lambda value: is_true(test(value))

    def collected(self, node: Node, at: Need | None) -> One:
        """Make a function that gives the list of all outputs of a node."""
        stages, end = self.stages(node, at)
        if end is not None:
            end.whole()
        return lambda value: run_stages(stages, [value])


def _after(step: Step, at: Need | None) -> Need | None:
    if at is None:
        return None
    if step.kind == "key":
        return at.key(step.value)
    if step.kind == "slice":
        return at
    return at.elements()


def _stage(step: Step) -> Stage:
    if step.kind == "each":
        return ("flat", _quiet(each) if step.is_quiet else each)
    function = _STEPS[step.kind](step.value)
    if step.is_quiet:
        return ("flat", _quiet(lambda value: (function(value),)))
    return ("map", function)


def _chain(steps: list[One]) -> One:
    if not steps:
        return lambda value: value
    if len(steps) == 1:
        return steps[0]
    if len(steps) == 2:
        first, second = steps
        return lambda value: second(first(value))

    def chained(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return chained


def _compare(compiler: Compiler, node: Node, at: Need | None) -> One:
    left, right = (compiler.one(part, at) for part in node.parts)
    if node.value == "==" and node.parts[1].kind == "literal" and type(node.parts[1].value) is str:
        wanted = node.parts[1].value
        return lambda value: left(value) == wanted
    test = COMPARE[node.value]
    return lambda value: test(left(value), right(value))


def _and(compiler: Compiler, node: Node, at: Need | None) -> One:
    left, right = (compiler.one(part, at) for part in node.parts)
    return lambda value: is_true(left(value)) and is_true(right(value))


def _or(compiler: Compiler, node: Node, at: Need | None) -> One:
    left, right = (compiler.one(part, at) for part in node.parts)
    return lambda value: is_true(left(value)) or is_true(right(value))


def _math(compiler: Compiler, node: Node, at: Need | None) -> One:
    left, right = (compiler.one(part, at) for part in node.parts)
    operator = node.value
    return lambda value: calculated(operator, left(value), right(value))


def _object(compiler: Compiler, node: Node, at: Need | None) -> One:
    pairs = [(key, compiler.one(part, at)) for key, part in zip(node.value, node.parts, strict=True)]
    return lambda value: {key: part(value) for key, part in pairs}


def _array(compiler: Compiler, node: Node, at: Need | None) -> One:
    if not node.parts:
        return lambda value: []
    return compiler.collected(node.parts[0], at)


def _literal(compiler: Compiler, node: Node, at: Need | None) -> One:
    constant = node.value
    return lambda value: constant


def _pipe(compiler: Compiler, node: Node, at: Need | None) -> One:
    return compiler.single_path(node, at)


def _call(compiler: Compiler, node: Node, at: Need | None) -> One:
    if node.value == "map":
        each = Node("pipe", None, (Node("path", (Step("each"),)), node.parts[0]))
        return compiler.collected(each, at)
    simple = SIMPLE.get(node.value)
    if simple is not None:
        compiler.single_path(IDENTITY, at)
        return simple
    if node.value in ("has", "startswith", "endswith") and node.parts[0].kind == "literal":
        compiler.single_path(IDENTITY, at)
        return TESTS[node.value](node.parts[0].value)
    raise Unsupported(node.value)


_MAKERS: dict[str, Callable[[Compiler, Node, Need | None], One]] = {
    "path": Compiler.single_path,
    "pipe": _pipe,
    "literal": _literal,
    "compare": _compare,
    "and": _and,
    "or": _or,
    "math": _math,
    "object": _object,
    "array": _array,
    "call": _call,
}


def run_stages(stages: list[Stage], rows: list[Any]) -> list[Any]:
    """Run stages over rows; all outputs in order.

    Raises:
        Doubt: libjq is to be asked.
    """
    for kind, step in stages:
        if kind == "map":
            rows = [step(row) for row in rows]
        elif kind == "filter":
            rows = [row for row in rows if step(row)]
        else:
            rows = [output for row in rows for output in step(row)]
    return rows
