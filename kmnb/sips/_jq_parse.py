"""Read the part of the jq language that is run here: paths, filters, comparison, simple arithmetic, construction.

Everything else is :class:`Unsupported` and left to libjq.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from kmnb.sips._jq_tokens import Token


class Unsupported(Exception):
    """This program is not one of those that are run here."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path."""

    kind: str
    """``key``, ``index``, ``slice`` or ``each``."""
    value: Any = None
    """The key, the index, or the pair of bounds."""
    is_quiet: bool = False
    """Whether an error means no output (``?``)."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a program."""

    kind: str
    """``path``, ``pipe``, ``literal``, ``compare``, ``and``, ``or``, ``math``, ``object``, ``array`` or ``call``."""
    value: Any = None
    """Steps, literal, operator, keys, or name."""
    parts: tuple[Node, ...] = ()
    """Operands or arguments."""


IDENTITY = Node("path", ())
_COMPARE = frozenset({"==", "!=", "<", "<=", ">", ">="})
_CALLS: dict[str, int] = {
    "length": 0, "not": 0, "type": 0, "keys": 0, "add": 0, "min": 0, "max": 0, "first": 0, "last": 0, "values": 0,
    "select": 1, "map": 1, "has": 1, "startswith": 1, "endswith": 1, "sort_by": 1, "group_by": 1, "unique_by": 1,
    "min_by": 1, "max_by": 1, "sort": 0, "unique": 0, "reverse": 0, "any": 0, "all": 0, "empty": 0,
}  # fmt: skip
_CONSTANTS: dict[str, Any] = {"null": None, "true": True, "false": False}


def parse(tokens: list[Token]) -> Node:
    """Read a program.

    Raises:
        Unsupported: It is not one that is run here.
    """
    reader = _Reader(tokens)
    node = reader.pipe() if tokens else IDENTITY
    if reader.next is not None:
        raise Unsupported(reader.next.text)
    return node


def parse_path(tokens: list[Token]) -> tuple[tuple[Step, ...], list[Token]] | None:
    """Read a path that begins at the input, and give what follows it; None when there is none."""
    reader = _Reader(tokens)
    try:
        node = reader.postfix()
    except Unsupported:
        return None
    if node.kind != "path" or node.parts:
        return None
    return node.value, tokens[reader.place :]


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens, self.place = tokens, 0

    @property
    def next(self) -> Token | None:
        return self._tokens[self.place] if self.place < len(self._tokens) else None

    def _is(self, *texts: str) -> bool:
        token = self.next
        return token is not None and token.kind in ("mark", "name") and token.text in texts

    def _take(self, *texts: str) -> bool:
        if self._is(*texts):
            self.place += 1
            return True
        return False

    def _need(self, text: str) -> None:
        if not self._take(text):
            raise Unsupported(f"{text} is missing")

    def pipe(self) -> Node:
        left = self._either()
        return Node("pipe", None, (left, self.pipe())) if self._take("|") else left

    def _either(self) -> Node:
        left = self._both()
        while self._take("or"):
            left = Node("or", None, (left, self._both()))
        return left

    def _both(self) -> Node:
        left = self._comparison()
        while self._take("and"):
            left = Node("and", None, (left, self._comparison()))
        return left

    def _comparison(self) -> Node:
        left = self._sum()
        if self._is(*_COMPARE):
            operator = self._tokens[self.place].text
            self.place += 1
            return Node("compare", operator, (left, self._sum()))
        return left

    def _sum(self) -> Node:
        left = self._product()
        while self._is("+", "-"):
            operator = self._tokens[self.place].text
            self.place += 1
            left = Node("math", operator, (left, self._product()))
        return left

    def _product(self) -> Node:
        left = self.postfix()
        while self._is("*", "/"):
            operator = self._tokens[self.place].text
            self.place += 1
            left = Node("math", operator, (left, self.postfix()))
        return left

    def postfix(self) -> Node:
        node = self._primary()
        steps: list[Step] = []
        while (step := self._step()) is not None:
            steps.append(step)
        if not steps:
            return node
        if node.kind == "path" and not node.parts:
            return Node("path", (*node.value, *steps))
        return Node("path", tuple(steps), (node,))

    def _step(self) -> Step | None:
        token = self.next
        if token is None:
            return None
        if token.kind == "field":
            self.place += 1
            step = Step("key", token.text[1:])
        elif self._is(".") and self._string_after():
            self.place += 2
            step = Step("key", json.loads(self._tokens[self.place - 1].text))
        elif self._is("["):
            step = self._bracket()
        else:
            return None
        return Step(step.kind, step.value, self._quiet())

    def _quiet(self) -> bool:
        quiet = False
        while self._take("?"):
            quiet = True
        return quiet

    def _string_after(self) -> bool:
        place = self.place + 1
        return place < len(self._tokens) and self._tokens[place].kind == "string"

    def _bracket(self) -> Step:
        self._need("[")
        if self._take("]"):
            return Step("each")
        token = self.next
        if token is not None and token.kind == "string":
            self.place += 1
            step = Step("key", json.loads(token.text))
        else:
            low = self._bound()
            step = Step("slice", (low, self._bound())) if self._take(":") else Step("index", low)
            if step.value in (None, (None, None)):
                raise Unsupported("bounds")
        self._need("]")
        return step

    def _bound(self) -> int | None:
        sign = -1 if self._take("-") else 1
        token = self.next
        if token is None or token.kind != "number":
            if sign < 0:
                raise Unsupported("a bound")
            return None
        if not token.text.isdigit() or len(token.text) > 9:
            raise Unsupported("a bound")
        self.place += 1
        return sign * int(token.text)

    def _primary(self) -> Node:
        token = self.next
        if token is None:
            raise Unsupported("the end")
        if token.kind in ("number", "string"):
            self.place += 1
            return Node("literal", json.loads(token.text) if token.kind == "string" else _number(token.text))
        if token.kind == "name":
            return self._name(token)
        if token.kind == "field" or self._is("."):
            # A field, and the dot of ."key", belong to the step that follows.
            self.place += token.kind != "field" and not self._string_after()
            return IDENTITY
        return self._bracketed(token)

    def _bracketed(self, token: Token) -> Node:
        if self._take("("):
            node = self.pipe()
            self._need(")")
            return node
        if self._take("["):
            node = Node("array", None, ()) if self._is("]") else Node("array", None, (self.pipe(),))
            self._need("]")
            return node
        if self._take("{"):
            return self._object()
        if self._take("-"):
            return Node("math", "-", (Node("literal", 0), self.postfix()))
        raise Unsupported(token.text)

    def _name(self, token: Token) -> Node:
        self.place += 1
        if token.text in _CONSTANTS:
            return Node("literal", _CONSTANTS[token.text])
        arguments: list[Node] = []
        if self._take("("):
            arguments.append(self.pipe())
            self._need(")")
        if _CALLS.get(token.text) != len(arguments):
            raise Unsupported(token.text)
        return Node("call", token.text, tuple(arguments))

    def _object(self) -> Node:
        keys: list[str] = []
        values: list[Node] = []
        while not self._take("}"):
            if keys:
                self._need(",")
            token = self.next
            if token is None or token.kind not in ("name", "string") or token.text.startswith("$"):
                raise Unsupported("a key")
            self.place += 1
            key = json.loads(token.text) if token.kind == "string" else token.text
            keys.append(key)
            values.append(self._either() if self._take(":") else Node("path", (Step("key", key),)))
        return Node("object", tuple(keys), tuple(values))


def _number(text: str) -> int | float:
    if text.isdigit():
        return int(text)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise Unsupported(text)
    return value
