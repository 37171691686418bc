"""The ``where`` language: a condition on one row, parsed here, never evaluated as code.

::

    condition   = and-part { "or" and-part }
    and-part    = not-part { "and" not-part }
    not-part    = "not" not-part | "(" condition ")" | test
    test        = value ( "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) value
                | value [ "not" ] "in" "(" literal { "," literal } ")"
                | value [ "not" ] ( "like" | "ilike" ) 'text'
                | value "is" [ "not" ] "null"
    value       = column | literal
    literal     = 'text' | number | true | false
    column      = name | `any name` | "any name"        (after an operator "…" is text)

In ``like``, ``%`` is any text and ``_`` any one character; a backslash takes them literally. What comparisons mean
is told in :mod:`kmnb.sips._compare`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from kmnb.core.shape import text_of
from kmnb.errors import ExpressionError
from kmnb.sips._compare import Literal, like_pattern
from kmnb.sips._row_tests import Row, Test, comparison, joined, membership, negation, null_test

WHERE_MAX_BYTES = 16_384
"""Longest condition in UTF-8 bytes."""
_DEPTH_MAX = 64
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^']|'')*')|(?P<quoted>"(?:[^"]|"")*")|(?P<ticked>`(?:[^`]|``)*`)
    |(?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    |(?P<word>[^\W\d][\w.@/:-]*)|(?P<op>==|!=|<>|<=|>=|[=<>(),])|(?P<end>\Z))""",
    re.VERBOSE,
)
_RESERVED = frozenset({"and", "or", "not", "in", "like", "ilike", "is", "null", "true", "false"})
_COMPARISONS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that was understood."""

    columns: tuple[str, ...]
    """Names of the columns it looks at, each once, in order."""
    test: Test
    """Judges a row."""

    def holds(self, row: Row) -> bool:
        """Tell whether the condition is true of a row; what cannot be told is not true."""
        return self.test(row) is True


def parse_where(text: str) -> Condition:
    """Understand a condition.

    Args:
        text: The condition.

    Returns:
        What judges rows.

    Raises:
        ExpressionError: It is no condition; says where and why.
    """
    if len(text.encode("utf-8", "replace")) > WHERE_MAX_BYTES:
        raise ExpressionError("where", f"longer than {WHERE_MAX_BYTES:,} bytes", "Filter in two steps, or use run.")
    return _Parser(text).parse()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def _tokens(source: str) -> Iterator[_Token]:
    at = 0
    while True:
        match = _TOKEN.match(source, at)
        if match is None:
            rest = source[at:].lstrip()
            place = len(source) - len(rest)
            reason = "a quote is not closed" if rest[:1] in "'\"`" else f"{rest[:1]!r} is not understood"
            raise ExpressionError("where", f"{reason} at character {place + 1}", _HELP)
        kind = str(match.lastgroup)
        yield _Token(kind, match.group(kind), match.start(kind))
        if kind == "end":
            return
        at = match.end()


_HELP = "Write for example: status = 'Running' and restarts > 3"


class _Parser:
    def __init__(self, source: str) -> None:
        self._rest = list(_tokens(source))[::-1]
        self._columns: dict[str, None] = {}
        self._depth = 0

    def parse(self) -> Condition:
        test = self._either()
        if self._now.kind != "end":
            self._fail("'and', 'or' or the end")
        return Condition(tuple(self._columns), test)

    @property
    def _now(self) -> _Token:
        return self._rest[-1]

    def _next(self) -> _Token:
        return self._rest.pop() if self._now.kind != "end" else self._now

    def _word(self, *words: str) -> str | None:
        """Take one of some words when it stands here."""
        found = self._now.text.lower()
        if self._now.kind in ("word", "op") and found in words:
            self._next()
            return found
        return None

    def _need(self, word: str) -> None:
        if self._word(word) is None:
            self._fail(repr(word))

    def _fail(self, expected: str) -> NoReturn:
        found = "the end" if self._now.kind == "end" else repr(self._now.text[:40])
        raise ExpressionError("where", f"expected {expected} at character {self._now.at + 1}, found {found}", _HELP)

    def _either(self) -> Test:
        tests = [self._both()]
        while self._word("or"):
            tests.append(self._both())
        return tests[0] if len(tests) == 1 else joined(tests, settles=True)

    def _both(self) -> Test:
        tests = [self._negated()]
        while self._word("and"):
            tests.append(self._negated())
        return tests[0] if len(tests) == 1 else joined(tests, settles=False)

    def _negated(self) -> Test:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise ExpressionError("where", f"more than {_DEPTH_MAX} conditions inside one another")
        try:
            if self._word("not"):
                return negation(self._negated())
            if self._word("("):
                test = self._either()
                self._need(")")
                return test
            return self._test()
        finally:
            self._depth -= 1

    def _test(self) -> Test:
        left = self._value(first=True)
        if self._now.text in _COMPARISONS and self._now.kind == "op":
            operator = _COMPARISONS[self._next().text]
            return comparison(operator, left, self._value(first=False))
        if self._word("is"):
            negated = self._word("not") is not None
            self._need("null")
            return null_test(left, negated)
        negated = self._word("not") is not None
        kind = self._word("in", "like", "ilike")
        if kind is None:
            self._fail("a comparison, 'in', 'like' or 'is null'")
        test = membership(left, self._list()) if kind == "in" else self._like(left, kind)
        return negation(test) if negated else test

    def _like(self, left: Any, kind: str) -> Test:
        if self._now.kind not in ("text", "quoted"):
            self._fail("a text")
        matches = like_pattern(_unquoted(self._next().text), ignore_case=kind == "ilike")

        def test(row: Row) -> bool | None:
            value = row(left) if isinstance(left, str) else left.value
            return None if value is None else matches(text_of(value))

        return test

    def _list(self) -> list[Literal]:
        self._need("(")
        items = [self._literal()]
        while self._word(","):
            items.append(self._literal())
        self._need(")")
        return items

    def _literal(self) -> Literal:
        value = self._value(first=False)
        if isinstance(value, str):
            raise ExpressionError("where", f"'in' takes texts and numbers, not the column {value[:80]}", _HELP)
        return value

    def _value(self, *, first: bool) -> str | Literal:
        """Read a column (its name) or a literal."""
        token = self._now
        lowered = token.text.lower()
        if token.kind == "text" or (token.kind == "quoted" and not first):
            return Literal.of_text(_unquoted(self._next().text))
        if token.kind == "number":
            try:
                return Literal.of_number(self._next().text)
            except ArithmeticError:
                reason = f"the exponent is too large at character {token.at + 1}"
                raise ExpressionError(
                    "where", reason, "Compare with a text, or use a number that can be written"
                ) from None
        if token.kind == "word" and lowered in ("true", "false"):
            self._next()
            return Literal.of_flag(lowered == "true")
        if token.kind == "word" and lowered == "null":
            raise ExpressionError("where", f"null cannot be compared, at character {token.at + 1}", "Write: x is null")
        if token.kind in ("quoted", "ticked") or (token.kind == "word" and lowered not in _RESERVED):
            self._next()
            name = token.text if token.kind == "word" else _unquoted(token.text)
            self._columns[name] = None
            return name
        self._fail("a column, a text or a number")


def _unquoted(text: str) -> str:
    return text[1:-1].replace(text[0] * 2, text[0])
