"""Evaluate JMESPath: expressions become functions, with a note of what they look at.

The grammar and the functions are those of the jmespath library; the meaning of every node is that of its
interpreter, except that an ordering of values that have none gives null and never an error of Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kmnb.sips._jmes_values import COMPARE, Expression, Fault, Node, One, flattened, is_false
from kmnb.sips._json_values import ListNeed, Need

Made = tuple[One, Need | None]
"""A function, and what its value is where that is a part of what was read."""


class Compiler:
    """Makes functions of nodes.

    Args:
        slots: Values that stand for parts of the expression that were evaluated while records passed by.
        needs: What these are.
    """

    def __init__(self, slots: list[Any] | None = None, needs: list[Need | None] | None = None) -> None:
        self._slots = slots if slots is not None else []
        self._needs = needs if needs is not None else []

    def make(self, node: Node, at: Need | None) -> Made:
        """Make the function of a node.

        Args:
            node: From the parser.
            at: What the input is; None for a value that was made, not read.
        """
        return _MAKERS[node["type"]](self, node, at)

    def full(self, node: Node, at: Need | None) -> One:
        """Make the function of a node whose value is used as it is."""
        function, end = self.make(node, at)
        if end is not None:
            end.whole()
        return function

    def slot(self, node: Node, at: Need | None) -> Made:
        """Make the function of a slot."""
        place, slots = node["value"], self._slots

        def read(value: Any) -> Any:
            if type(slots[place]) is Fault:
                raise slots[place].error
            return slots[place]

        return read, self._needs[place]


def _field(compiler: Compiler, node: Node, at: Need | None) -> Made:
    name = node["value"]

    def field(value: Any) -> Any:
        return value.get(name) if type(value) is dict else None

    return field, at.key(name) if at is not None else None


def _current(compiler: Compiler, node: Node, at: Need | None) -> Made:
    return (lambda value: value), at


def _literal(compiler: Compiler, node: Node, at: Need | None) -> Made:
    constant = node["value"]
    return (lambda value: constant), None


def _chain(compiler: Compiler, node: Node, at: Need | None) -> Made:
    steps: list[One] = []
    for child in node["children"]:
        step, at = compiler.make(child, at)
        steps.append(step)
    if len(steps) == 2:
        first, second = steps
        return (lambda value: second(first(value))), at

    def chained(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return chained, at


def _index(compiler: Compiler, node: Node, at: Need | None) -> Made:
    place = node["value"]

    def index(value: Any) -> Any:
        if type(value) is not list or not -len(value) <= place < len(value):
            return None
        return value[place]

    return index, at.elements() if at is not None else None


def _slice(compiler: Compiler, node: Node, at: Need | None) -> Made:
    bounds = slice(*node["children"])
    return (lambda value: value[bounds] if type(value) is list else None), at


def _comparator(compiler: Compiler, node: Node, at: Need | None) -> Made:
    left, right = (compiler.full(child, at) for child in node["children"])
    test = COMPARE[node["value"]]
    second = node["children"][1]
    if node["value"] == "eq" and second["type"] == "literal" and isinstance(second["value"], str):
        wanted = second["value"]
        return (lambda value: left(value) == wanted), None
    return (lambda value: test(left(value), right(value))), None


def _or(compiler: Compiler, node: Node, at: Need | None) -> Made:
    left, right = (compiler.full(child, at) for child in node["children"])

    def either(value: Any) -> Any:
        found = left(value)
        return right(value) if is_false(found) else found

    return either, None


def _and(compiler: Compiler, node: Node, at: Need | None) -> Made:
    left, right = (compiler.full(child, at) for child in node["children"])

    def both(value: Any) -> Any:
        found = left(value)
        return found if is_false(found) else right(value)

    return both, None


def _not(compiler: Compiler, node: Node, at: Need | None) -> Made:
    inner = compiler.full(node["children"][0], at)
    return (lambda value: is_false(inner(value))), None


def _flatten(compiler: Compiler, node: Node, at: Need | None) -> Made:
    base, end = compiler.make(node["children"][0], at)
    items = end.elements() if end is not None else None
    if items is not None:
        # An element may be a list itself, or what the list is asked for: both are looked at.
        items.whole()

    def flatten(value: Any) -> Any:
        found = base(value)
        return flattened(found) if type(found) is list else None

    return flatten, None


def _projection(compiler: Compiler, node: Node, at: Need | None) -> Made:
    base, end = compiler.make(node["children"][0], at)
    right, last = compiler.make(node["children"][1], end.elements() if end is not None else None)

    def projection(value: Any) -> Any:
        found = base(value)
        if type(found) is not list:
            return None
        return [made for element in found if (made := right(element)) is not None]

    return projection, _listed(last)


def _filter(compiler: Compiler, node: Node, at: Need | None) -> Made:
    base, end = compiler.make(node["children"][0], at)
    items = end.elements() if end is not None else None
    right, last = compiler.make(node["children"][1], items)
    test = compiler.full(node["children"][2], items)

    def filtered(value: Any) -> Any:
        found = base(value)
        if type(found) is not list:
            return None
        kept = (right(element) for element in found if not is_false(test(element)))
        return [made for made in kept if made is not None]

    return filtered, _listed(last)


def _listed(items: Need | None) -> Need | None:
    return ListNeed(items) if items is not None else None


def _values(compiler: Compiler, node: Node, at: Need | None) -> Made:
    base = compiler.full(node["children"][0], at)
    right = compiler.full(node["children"][1], None)

    def values(value: Any) -> Any:
        found = base(value)
        if type(found) is not dict:
            return None
        return [made for element in found.values() if (made := right(element)) is not None]

    return values, None


def _list(compiler: Compiler, node: Node, at: Need | None) -> Made:
    parts = [compiler.full(child, at) for child in node["children"]]
    return (lambda value: None if value is None else [part(value) for part in parts]), None


def _dict(compiler: Compiler, node: Node, at: Need | None) -> Made:
    pairs = [(child["value"], compiler.full(child["children"][0], at)) for child in node["children"]]
    return (lambda value: None if value is None else {name: part(value) for name, part in pairs}), None


def _function(compiler: Compiler, node: Node, at: Need | None) -> Made:
    from kmnb.sips._jmes_functions import caller

    name, children = node["value"], node["children"]
    call = caller(name)
    parts: list[One] = []
    end: Need | None = None
    for place, child in enumerate(children):
        if child["type"] == "expref":
            parts.append(_reference(compiler, child, end.elements() if end is not None else None))
            continue
        part, found = compiler.make(child, at)
        if name == "length" and found is not None:
            found.counted()
        elif place == 0 and name in _BY and found is not None:
            end = found
        elif found is not None:
            found.whole()
        parts.append(part)
    after = end if name == "sort_by" else end.elements() if end is not None else None
    return (lambda value: call([part(value) for part in parts])), after


_BY = frozenset({"sort_by", "min_by", "max_by"})


def _reference(compiler: Compiler, node: Node, at: Need | None) -> One:
    expression = Expression(compiler.full(node["children"][0], at))
    return lambda value: expression


def _lone_reference(compiler: Compiler, node: Node, at: Need | None) -> Made:
    return _reference(compiler, node, None), None


_MAKERS: dict[str, Callable[[Compiler, Node, Need | None], Made]] = {
    "field": _field,
    "current": _current,
    "identity": _current,
    "literal": _literal,
    "subexpression": _chain,
    "index_expression": _chain,
    "pipe": _chain,
    "index": _index,
    "slice": _slice,
    "comparator": _comparator,
    "or_expression": _or,
    "and_expression": _and,
    "not_expression": _not,
    "flatten": _flatten,
    "projection": _projection,
    "filter_projection": _filter,
    "value_projection": _values,
    "multi_select_list": _list,
    "multi_select_dict": _dict,
    "function_expression": _function,
    "expref": _lone_reference,
    "slot": Compiler.slot,
}
