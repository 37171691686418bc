"""Read the part of the jq language that is run here: paths, filters, comparison, simple arithmetic, construction.

Everything else is :class:`Unsupported` and left to libjq.
"""

from __future__ import annotations

import json
from typing import Any

from kmnb.core.finite import DIGITS_MAX
from kmnb.core.lenient import without_lone
from kmnb.sips._jq_nodes import Node, Step, TokenReader, Unsupported
from kmnb.sips._jq_tokens import Token

IDENTITY = Node("path", ())
_COMPARE = frozenset({"==", "!=", "<", "<=", ">", ">="})
_RESERVED = frozenset({"as", "def", "label", "try", "catch", "import", "include", "then", "else", "elif", "end"})
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


class _Reader(TokenReader):
    def pipe(self) -> Node:
        left = self._comma()
        return Node("pipe", None, (left, self.pipe())) if self._take("|") else left

    def _comma(self) -> Node:
        left = self._alternative()
        while self._take(","):
            left = Node("comma", None, (left, self._alternative()))
        return left

    def _alternative(self) -> Node:
        left = self._either()
        return Node("alternative", None, (left, self._alternative())) if self._take("//") else left

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
        while self._is("*", "/", "%"):
            operator = self._tokens[self.place].text
            self.place += 1
            kind = "opaque" if operator == "%" else "math"
            left = Node(kind, operator, (left, self.postfix()))
        return left

    def postfix(self) -> Node:
        node = self._primary()
        steps: list[Step] = []
        if self._quiet():
            node = Node("opaque", "?", (node,))
        while (step := self._step()) is not None:
            steps.append(step)
        if steps:
            plain = node.kind == "path" and not node.parts
            node = Node("path", (*node.value, *steps)) if plain else Node("path", tuple(steps), (node,))
        if not self._take("as"):
            return node
        name = self._variable()
        if self._is("("):
            # The source of a reduce or foreach; its programs follow.
            return Node("bind", name, (node,))
        self._need("|")
        return Node("bind", name, (node, self.pipe()))

    def _variable(self) -> str:
        token = self.next
        if token is None or not token.text.startswith("$"):
            raise Unsupported("a pattern")
        self.place += 1
        return token.text

    def _folding(self) -> Node:
        """Read what follows ``reduce`` or ``foreach``."""
        source = self.postfix()
        if source.kind != "bind" or len(source.parts) != 1:
            raise Unsupported("a source")
        return Node("fold", source.value, (source.parts[0], *self._arguments()))

    def _step(self) -> Step | None:
        token = self.next
        if token is None:
            return None
        if token.kind == "field":
            self.place += 1
            step = Step("key", token.text[1:])
        elif self._is(".") and self._string_after():
            self.place += 2
            step = Step("key", _text(self._tokens[self.place - 1]))
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
            step = Step("key", _text(token))
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
            return Node("literal", _text(token) if token.kind == "string" else _number(token.text))
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
        if token.kind in ("text", "format") or self._take(".."):
            self.place += token.kind in ("text", "format")
            return Node("opaque", token.text)
        raise Unsupported(token.text)

    def _name(self, token: Token) -> Node:
        self.place += 1
        if token.text in _CONSTANTS:
            return Node("literal", _CONSTANTS[token.text])
        if token.text == "if":
            return self._if()
        if token.text in ("reduce", "foreach"):
            return self._folding()
        if token.text in _RESERVED:
            raise Unsupported(token.text)
        if token.text.startswith("$"):
            return Node("variable", token.text)
        return Node("call", token.text, self._arguments())

    def _arguments(self) -> tuple[Node, ...]:
        arguments: list[Node] = []
        if self._take("("):
            arguments.append(self.pipe())
            while self._take(";"):
                arguments.append(self.pipe())
            self._need(")")
        return tuple(arguments)

    def _if(self) -> Node:
        condition = self.pipe()
        self._need("then")
        then = self.pipe()
        if self._take("elif"):
            return Node("if", None, (condition, then, self._if()))
        other = self.pipe() if self._take("else") else IDENTITY
        self._need("end")
        return Node("if", None, (condition, then, other))

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
            key = _text(token) if token.kind == "string" else token.text
            keys.append(key)
            values.append(self._alternative() if self._take(":") else Node("path", (Step("key", key),)))
        return Node("object", tuple(keys), tuple(values))


def _text(token: Token) -> str:
    """Give the text that a string means; line breaks may stand in it as they are."""
    return str(json.loads(without_lone(token.text.encode()), strict=False))


def _number(text: str) -> int | float:
    if text.isdigit() and len(text) <= DIGITS_MAX:
        return int(text)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise Unsupported(text)
    return value
