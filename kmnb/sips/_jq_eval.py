"""Run programs of :mod:`kmnb.sips._jq_parse` on batches of records.

Whatever is not plainly clear here (an error, an ordering of lists, a sum of objects) raises :class:`Doubt`; the
caller then asks libjq about that record, so that there is one meaning of a program, libjq's. Integers are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kmnb.sips._jq_nodes import Node, Step, Unsupported
from kmnb.sips._jq_steps import Stage, chain, run_stages, stage_of
from kmnb.sips._jq_values import BY, COMPARE, SIMPLE, TESTS, One, calculated, each, is_true
from kmnb.sips._json_values import ListNeed, Need


class Compiler:
    """Makes stages of a program, and notes in a :class:`Need` what they look at.

    What only libjq knows makes ``is_exact`` False: the stages are of no use then, the need is.
    """

    def __init__(self) -> None:
        self.is_exact = True
        self.bound: dict[str, Need | None] = {}

    def stages(self, node: Node, at: Need | None) -> tuple[list[Stage], Need | None]:
        """Make the stages of a node.

        Args:
            node: The program.
            at: What the input is; None for a value that was made, not read.

        Returns:
            The stages, and what the outputs are where each is a part of the input.
        """
        if node.kind == "pipe":
            left, middle = self.stages(node.parts[0], at)
            right, end = self.stages(node.parts[1], middle)
            return left + right, end
        try:
            make = _CALLS.get(node.value) if node.kind == "call" else _STAGES.get(node.kind)
            return make(self, node, at) if make is not None else ([("map", self.one(node, at))], None)
        except Unsupported:
            return self._opaque(node, at), None

    def _opaque(self, node: Node, at: Need | None) -> list[Stage]:
        self.is_exact = False
        if at is not None:
            at.whole()
        for part in node.parts:
            self.collected(part, at)
        return []

    def one(self, node: Node, at: Need | None) -> One:
        """Make a function of a node that has exactly one output, and that output is used as it is.

        Raises:
            Unsupported: It may have another number of outputs, or only libjq knows it.
        """
        make = _MAKERS.get(node.kind)
        if make is None:
            raise Unsupported(node.kind)
        return make(self, node, at)

    def path(self, node: Node, at: Need | None) -> tuple[list[Stage], Need | None]:
        """Make the stages of a path."""
        stages: list[Stage] = []
        if node.parts:
            stages, at = self.stages(node.parts[0], at)
        for step in node.value:
            stages.append(stage_of(step))
            at = _after(step, at)
        return stages, at

    def single(self, node: Node, at: Need | None) -> One:
        """Make a function of a node that has one output, by way of its stages."""
        stages, end = self.stages(node, at)
        if any(kind != "map" for kind, _ in stages) or not self.is_exact:
            raise Unsupported("several outputs")
        if end is not None:
            end.whole()
        return chain([step for _, step in stages])

    def condition(self, node: Node, at: Need | None) -> One:
        """Make a test of a node."""
        test = self.one(node, at)
        if node.kind in ("compare", "and", "or"):
            return test
        return lambda value: is_true(test(value))

    def collected(self, node: Node, at: Need | None) -> One:
        """Make a function that gives the list of all outputs of a node."""
        stages, end = self.stages(node, at)
        if end is not None:
            end.whole()
        return lambda value: run_stages(stages, [value])

    def by(self, node: Node, at: Need | None) -> tuple[list[Stage], Need | None]:
        """Make the stage of a function over the elements of a list and a key."""
        key = self.one(node.parts[0], at.elements() if at is not None else None)
        function = BY[node.value]
        stage: One = lambda value: function(each(value), [key(element) for element in value])  # noqa: E731
        return [("map", stage)], _after_by(node.value, at)


def _after_by(name: str, at: Need | None) -> Need | None:
    if at is None or name in ("sort_by", "unique_by"):
        return at
    return ListNeed(at) if name == "group_by" else at.elements()


def _after(step: Step, at: Need | None) -> Need | None:
    if at is None:
        return None
    if step.kind == "key":
        return at.key(step.value)
    if step.kind == "slice":
        return at
    if step.kind == "each":
        # Of an object all values are looked at, those of keys that are not named elsewhere too.
        at.counted()
    return at.elements()


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


def _if(compiler: Compiler, node: Node, at: Need | None) -> One:
    test = compiler.condition(node.parts[0], at)
    then, other = (compiler.one(part, at) for part in node.parts[1:])
    return lambda value: then(value) if test(value) else other(value)


def _alternative(compiler: Compiler, node: Node, at: Need | None) -> One:
    left, right = (compiler.one(part, at) for part in node.parts)

    def either(value: Any) -> Any:
        found = left(value)
        return found if is_true(found) else right(value)

    return either


def _call(compiler: Compiler, node: Node, at: Need | None) -> One:
    name, count = node.value, len(node.parts)
    if (name in BY or name == "select") and count == 1:
        return compiler.single(node, at)
    if name == "map" and count == 1:
        return compiler.collected(Node("pipe", None, (_EACH, node.parts[0])), at)
    if name in SIMPLE and not count:
        if at is not None:
            at.counted() if name == "length" else at.whole()
        return SIMPLE[name]
    if name in TESTS and count == 1 and node.parts[0].kind == "literal":
        if at is not None:
            at.whole()
        return TESTS[name](node.parts[0].value)
    raise Unsupported(name)


def _select(compiler: Compiler, node: Node, at: Need | None) -> tuple[list[Stage], Need | None]:
    if len(node.parts) != 1:
        raise Unsupported("select")
    return [("filter", compiler.condition(node.parts[0], at))], at


def _values(compiler: Compiler, node: Node, at: Need | None) -> tuple[list[Stage], Need | None]:
    return [("filter", lambda value: value is not None)], at


def _empty(compiler: Compiler, node: Node, at: Need | None) -> tuple[list[Stage], Need | None]:
    return [("flat", lambda value: ())], None


def _comma(compiler: Compiler, node: Node, at: Need | None) -> tuple[list[Stage], Need | None]:
    left, right = (compiler.collected(part, at) for part in node.parts)
    return [("flat", lambda value: [*left(value), *right(value)])], None


def _by(compiler: Compiler, node: Node, at: Need | None) -> tuple[list[Stage], Need | None]:
    if len(node.parts) != 1:
        raise Unsupported(node.value)
    return compiler.by(node, at)


def _variable(compiler: Compiler, node: Node, at: Need | None) -> tuple[list[Stage], Need | None]:
    if node.value not in compiler.bound:
        raise Unsupported(node.value)
    compiler.is_exact = False
    return [], compiler.bound[node.value]


def _bind(compiler: Compiler, node: Node, at: Need | None) -> tuple[list[Stage], Need | None]:
    """Note what ``E as $x | …`` looks at; only libjq runs it."""
    compiler.is_exact = False
    _, compiler.bound[node.value] = compiler.stages(node.parts[0], at)
    return compiler.stages(node.parts[1], at)


def _fold(compiler: Compiler, node: Node, at: Need | None) -> tuple[list[Stage], Need | None]:
    """Note what ``reduce E as $x (…; …)`` looks at; only libjq runs it."""
    compiler.is_exact = False
    source, start, *others = node.parts
    _, compiler.bound[node.value] = compiler.stages(source, at)
    compiler.collected(start, at)
    for part in others:
        compiler.collected(part, None)
    return [], None


_EACH = Node("path", (Step("each"),))
_Maker = Callable[[Compiler, Node, Need | None], tuple[list[Stage], Need | None]]
_STAGES: dict[str, _Maker] = {
    "path": Compiler.path,
    "comma": _comma,
    "bind": _bind,
    "variable": _variable,
    "fold": _fold,
}
_CALLS: dict[str, _Maker] = {
    "select": _select,
    "values": _values,
    "empty": _empty,
    **dict.fromkeys(BY, _by),
}


_MAKERS: dict[str, Callable[[Compiler, Node, Need | None], One]] = {
    "path": Compiler.single,
    "pipe": Compiler.single,
    "literal": _literal,
    "compare": _compare,
    "and": _and,
    "or": _or,
    "math": _math,
    "object": _object,
    "array": _array,
    "call": _call,
    "if": _if,
    "alternative": _alternative,
}
