"""Cut a jq program into tokens. Nothing is run here; what is not understood is left to libjq."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kmnb.errors import ExpressionError

_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<field>\.[A-Za-z_]\w*)
    |(?P<name>\$?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)
    |(?P<format>@\w+)
    |(?P<string>")
    |(?P<mark>\?//=?|//=|\|=|\+=|-=|\*=|/=|%=|==|!=|<=|>=|//|\.\.|[][(){}.,:;|=<>+*/%?-])""",
    re.VERBOSE,
)
_OPEN, _CLOSE = {"(": ")", "[": "]", "{": "}"}, frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Token:
    """One token."""

    kind: str
    """``number``, ``field``, ``name``, ``format``, ``string``, ``text`` (a string with inner programs) or ``mark``."""
    text: str
    """Its characters; of a string with the quotes."""
    start: int
    """Where it begins in the program."""
    end: int
    """Where it ends, exclusive."""


def tokens_of(program: str) -> list[Token]:
    """Cut a program into tokens.

    Raises:
        ExpressionError: A character that begins no token, or a string that does not end.
    """
    found: list[Token] = []
    place = 0
    while place < len(program):
        match = _TOKEN.match(program, place)
        if match is None:
            raise _fault(program, place, "this character begins nothing")
        kind = str(match.lastgroup)
        end = match.end()
        if kind == "string":
            end, is_plain = _string_end(program, place)
            kind = "string" if is_plain else "text"
        if kind != "space":
            found.append(Token(kind, program[place:end], place, end))
        place = end
    return found


def _string_end(program: str, start: int) -> tuple[int, bool]:
    """Find where a string ends, and whether it has no inner programs."""
    place, is_plain = start + 1, True
    while place < len(program):
        sign = program[place]
        if sign == '"':
            return place + 1, is_plain
        if program.startswith("\\(", place):
            is_plain = False
            place = _inner_end(program, place + 2)
        else:
            place += 2 if sign == "\\" else 1
    raise _fault(program, start, "this string does not end")


def _inner_end(program: str, place: int) -> int:
    """Find the end of a program inside a string."""
    depth, start = 1, place
    while place < len(program):
        sign = program[place]
        if sign == '"':
            place, _ = _string_end(program, place)
            continue
        depth += (sign == "(") - (sign == ")")
        place += 1
        if depth == 0:
            return place
    raise _fault(program, start, "this bracket is not closed")


def inner_programs(text: str) -> list[str]:
    """Give the programs inside a string token."""
    found: list[str] = []
    place = 1
    while place < len(text):
        if text.startswith("\\(", place):
            end = _inner_end(text, place + 2)
            found.append(text[place + 2 : end - 1])
            place = end
        else:
            place += 2 if text[place] == "\\" else 1
    return found


def _fault(program: str, place: int, reason: str) -> ExpressionError:
    line = program.count("\n", 0, place) + 1
    column = place - (program.rfind("\n", 0, place) + 1) + 1
    shown = program[place : place + 20]
    return ExpressionError("jq program", f"{reason}: {shown!r} at line {line}, column {column}", "", place=place)


def segments(tokens: list[Token]) -> list[list[Token]]:
    """Cut a program at the pipes that stand in no bracket; from a binding or a definition on it is one segment."""
    parts: list[list[Token]] = [[]]
    depth, is_rest = 0, False
    for token in tokens:
        depth += (token.text in _OPEN and token.kind == "mark") - (token.text in _CLOSE and token.kind == "mark")
        is_rest = is_rest or (depth == 0 and token.kind == "name" and token.text in _BINDING)
        if token.kind == "mark" and token.text == "|" and depth == 0 and not is_rest:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


_BINDING = frozenset({"as", "def", "label", "reduce", "foreach", "try", "import", "include", "module"})


def inside(tokens: list[Token], opening: int = 0) -> list[Token] | None:
    """Give what stands between the bracket at ``opening`` and its partner, if that is the last token; else None."""
    depth = 0
    for place in range(opening, len(tokens)):
        token = tokens[place]
        if token.kind == "mark":
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
        if depth == 0:
            return tokens[opening + 1 : place] if place == len(tokens) - 1 else None
    return None


def source(program: str, tokens: list[Token]) -> str:
    """Give the text that tokens were cut from; the identity for none."""
    return program[tokens[0].start : tokens[-1].end] if tokens else "."


_STOPPING = frozenset({"halt", "halt_error", "input", "inputs", "debug", "stderr", "input_filename"})
_LOADING = frozenset({"import", "include", "modulemeta"})


def check_names(tokens: list[Token]) -> None:
    """Refuse functions that end the process, read on by themselves or load files; keys of objects may have their names.

    Raises:
        ExpressionError: The program names one.
    """
    brackets: list[str] = []
    before = ""
    for token in tokens:
        if token.kind == "mark":
            if token.text in _OPEN:
                brackets.append(token.text)
            elif token.text in _CLOSE:
                del brackets[-1:]
        elif token.kind == "name" and token.text in _STOPPING | _LOADING:
            is_key = brackets[-1:] == ["{"] and before in ("{", ",")
            if not is_key:
                step = "Programs load no files." if token.text in _LOADING else "Only the artifact is read."
                raise ExpressionError("jq program", f"{token.text} is not available", step)
        for inner in inner_programs(token.text) if token.kind == "text" else ():
            check_names(tokens_of(inner))
        before = token.text
