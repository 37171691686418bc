"""Nodes of a jq program, and a place in its tokens."""

from __future__ import annotations

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
    """``path``, ``pipe``, ``comma``, ``alternative``, ``or``, ``and``, ``compare``, ``math``, ``literal``, ``object``,
    ``array``, ``if``, ``call``, ``bind``, ``variable``, ``fold``, or ``opaque`` for what only libjq knows; its parts
    are what it is applied to."""
    value: Any = None
    """Steps, literal, operator, keys, or name."""
    parts: tuple[Node, ...] = ()
    """Operands or arguments."""


class TokenReader:
    """Walks tokens.

    Args:
        tokens: What the program was cut into.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens, self.place = tokens, 0

    @property
    def next(self) -> Token | None:
        """The token at the present place; None at the end."""
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
