"""Decide which parts of a JMESPath expression are evaluated while the records of one list pass by.

Those parts become slots; what is left of the expression is evaluated on the slots at the end of the document.
Nothing is read here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kmnb.core.walks import Path
from kmnb.sips._jmes_eval import Compiler
from kmnb.sips._jmes_values import Node, One, flattened, is_false
from kmnb.sips._json_values import ListNeed, Need

Stage = Callable[[list[Any]], list[Any]]
_FOLDS = frozenset({"length", "sum", "min", "max", "avg", "min_by", "max_by"})


class _Whole(Exception):
    """The expression looks at the document as a whole."""


@dataclass(slots=True)
class Slot:
    """A part of an expression that is evaluated on the way."""

    path: Path
    """Where the list, or the single value, stands."""
    is_list: bool
    """Whether it is fed with the elements of a list."""
    stages: list[Stage] = field(default_factory=list)
    """What is done with the elements."""
    fold: str | None = None
    """Function that takes them in batches; None collects them."""
    key: One | None = None
    """What a fold compares by."""
    stop: int | None = None
    """Number of elements after which no more are needed."""
    start: int = 0
    """Number of elements before the first one that is looked at."""
    need: Need | None = None
    """What its value is."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How an expression is evaluated over one document."""

    slots: list[Slot]
    """Parts that are evaluated on the way; empty when the document is needed whole."""
    rest: Node
    """What is left, with slots in the places of these parts."""
    records: Path | None = None
    """Where the list stands whose elements are walked; None for none."""
    need: Need = field(default_factory=Need)
    """What is looked at of its elements."""

    @property
    def is_whole(self) -> bool:
        """Whether the document is needed whole."""
        return not self.slots

    @property
    def is_list(self) -> bool:
        """Whether the answer is just the collected elements of one list."""
        return (
            len(self.slots) == 1
            and self.rest["type"] == "slot"
            and self.slots[0].fold is None
            and (self.slots[0].is_list)
        )


def plan_expression(tree: Node) -> Plan:
    """Decide how an expression is evaluated."""
    planner = _Planner()
    try:
        rest = planner.rewrite(tree)
    except _Whole:
        return Plan([], tree)
    paths = {slot.path for slot in planner.slots if slot.is_list}
    singles = {slot.path for slot in planner.slots if not slot.is_list}
    overlap = any(a != b and b[: len(a)] == a for a in paths | singles for b in paths | singles)
    if len(paths) > 1 or paths & singles or overlap or not planner.slots:
        return Plan([], tree)
    return Plan(planner.slots, rest, next(iter(paths), None), planner.need)


class _Planner:
    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.need = Need()
        self._compiler = Compiler()

    def rewrite(self, node: Node) -> Node:
        """Put slots into the places of parts that begin at the document."""
        kind, children = node["type"], node["children"]
        if kind == "literal":
            return node
        if kind in ("index", "slice", "expref", "slot") or (path := _path(node)) == ():
            raise _Whole
        slot = Slot(path, is_list=False) if path is not None else self._stream(node)
        if slot is not None:
            return self._slot(slot)
        if (special := _SPECIAL.get(kind)) is not None:
            return special(self, node)
        return {**node, "children": [self.rewrite(child) for child in children]}

    def left(self, node: Node) -> Node:
        """Rewrite a node of which only the first part begins at the document."""
        first, *others = node["children"]
        return {**node, "children": [self.rewrite(first), *others]}

    def _slot(self, slot: Slot) -> Node:
        self.slots.append(slot)
        return {"type": "slot", "value": len(self.slots) - 1, "children": []}

    def index(self, node: Node) -> Node:
        """Rewrite what an index or a slice follows; a walk needs no more elements than these ask for."""
        first, *others = node["children"]
        path, stop = _path(first), _stop(others[0]) if others else None
        if path is None or stop is None:
            return self.left(node)
        slot = Slot(path, is_list=True, stop=stop, start=_start(others[0]), need=ListNeed(self.need))
        return {**node, "children": [self._slot(slot), *others]}

    def pipe(self, node: Node) -> Node:
        """``A | f(@)`` is ``f(A)``; of ``A | [0]`` only the first element of A is needed."""
        left, *others = node["children"]
        right = others[0]
        if len(others) == 1 and _takes_input(right):
            return self.rewrite({**right, "children": [left, *right["children"][1:]]})
        slot = self._stream(left)
        if slot is None:
            return self.left(node)
        slot.stop = _first_needed(right)
        return {**node, "children": [self._slot(slot), *others]}

    def function(self, node: Node) -> Node:
        """Fold the elements of a list on the way where the function allows it."""
        name, children = node["value"], node["children"]
        if name in _FOLDS and children and len(children) == 1 + name.endswith("_by"):
            slot = self._stream(children[0]) or self._list(children[0])
            if slot is not None and self._fold(slot, name, children[1:]):
                return self._slot(slot)
        new = [child if child["type"] == "expref" else self.rewrite(child) for child in children]
        return {**node, "children": new}

    def _list(self, node: Node) -> Slot | None:
        path = _path(node)
        return Slot(path, is_list=True, need=ListNeed(self.need)) if path is not None else None

    def _fold(self, slot: Slot, name: str, others: list[Node]) -> bool:
        items = slot.need.items if slot.need is not None else None
        slot.fold = name
        if name.endswith("_by"):
            if others[0]["type"] != "expref":
                return False
            slot.key = self._compiler.full(others[0]["children"][0], items)
            slot.need = items
        else:
            if name != "length" and items is not None:
                items.whole()
            slot.need = None
        return True

    def _stream(self, node: Node) -> Slot | None:
        """Read a projection over a list of the document as stages over its elements."""
        if node["type"] not in ("projection", "filter_projection"):
            return None
        base = node["children"][0]
        stages: list[Stage] = []
        items: Need | None = self.need
        is_flat = base["type"] == "flatten"
        if is_flat:
            base = base["children"][0]
        path = _path(base)
        if path is None:
            inner = self._stream(base)
            if inner is None or inner.stop is not None:
                return None
            path, stages = inner.path, inner.stages
            items = inner.need.items if inner.need is not None else None
        if is_flat:
            items = _flat_items(items, stages)
        need = self._element_stages(node, items, stages)
        return Slot(path, is_list=True, stages=stages, need=ListNeed(need))

    def _element_stages(self, node: Node, items: Need | None, stages: list[Stage]) -> Need | None:
        if node["type"] == "filter_projection":
            test = self._compiler.full(node["children"][2], items)
            if node["children"][2]["type"] in ("comparator", "not_expression"):
                stages.append(lambda rows: [row for row in rows if test(row)])
            else:
                stages.append(lambda rows: [row for row in rows if not is_false(test(row))])
        right, need = self._compiler.make(node["children"][1], items)
        stages.append(lambda rows: [made for row in rows if (made := right(row)) is not None])
        return need


_SPECIAL: dict[str, Callable[[_Planner, Node], Node]] = {
    "function_expression": _Planner.function,
    "pipe": _Planner.pipe,
    "index_expression": _Planner.index,
    "subexpression": _Planner.left,
    "projection": _Planner.left,
    "filter_projection": _Planner.left,
    "value_projection": _Planner.left,
    "flatten": _Planner.left,
}


def _takes_input(node: Node) -> bool:
    """Tell whether a node is a function of its input and of nothing else."""
    first, *others = node["children"] or ({"type": "nothing"},)
    plain = all(child["type"] in ("expref", "literal") for child in others)
    return bool(node["type"] == "function_expression" and first["type"] == "current" and plain)


def _flat_items(items: Need | None, stages: list[Stage]) -> Need | None:
    """Flatten: elements that are lists give theirs, others stay; both are looked at alike."""
    stages.append(flattened)
    if items is None:
        return None
    return _Both(items, items.elements())


class _Both(Need):
    """What is needed of a value that may stand at either of two places."""

    def __init__(self, one: Need, other: Need) -> None:
        super().__init__()
        self._one, self._other = one, other

    def key(self, name: str) -> Need:
        return _Both(self._one.key(name), self._other.key(name))

    def elements(self) -> Need:
        return _Both(self._one.elements(), self._other.elements())

    def whole(self) -> None:
        self._one.whole()
        self._other.whole()

    def counted(self) -> None:
        self._one.counted()
        self._other.counted()


def _path(node: Node) -> Path | None:
    """Give the keys of a plain path; empty for the document itself; None for anything else."""
    kind = node["type"]
    if kind in ("current", "identity"):
        return ()
    if kind == "field":
        return (node["value"],)
    if kind == "subexpression":
        parts = [_path(child) for child in node["children"]]
        if all(part is not None for part in parts):
            return tuple(key for part in parts if part is not None for key in part)
    return None


def _stop(node: Node) -> int | None:
    """Give how many elements an index or a slice looks at; None where it counts from the end, or looks at all."""
    if node["type"] == "index":
        return node["value"] + 1 if node["value"] >= 0 else None
    if node["type"] == "slice":
        start, stop, step = node["children"]
        if stop is not None and stop >= 0 and (start is None or start >= 0) and (step is None or step > 0):
            return int(stop)
    return None


def _start(node: Node) -> int:
    """Give how many elements come before those that an index or a slice looks at; see :func:`_stop`."""
    return int((node["value"] if node["type"] == "index" else node["children"][0]) or 0)


def _first_needed(node: Node) -> int | None:
    """Give how many elements an expression needs of the list that it is applied to."""
    while node["type"] in ("projection", "subexpression", "filter_projection"):
        node = node["children"][0]
    if node["type"] == "index_expression" and node["children"][0]["type"] in ("identity", "current"):
        return _stop(node["children"][1])
    return None
