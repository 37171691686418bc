"""Command lines, help texts and JSON Schemas, all made from the declaration of an operation.

argparse reads the options; words that belong to no option are handed to the positional parameters in order, wherever
they stand. After ``--`` everything is a word.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from kmnb.core.arguments import checked, split_texts
from kmnb.core.describe import Example, Operation, Param
from kmnb.errors import BadRequest

_LETTERS = {
    "lines": "n", "max": "m", "ignore_case": "i", "fixed": "F", "invert": "v", "context": "C", "out": "o", "where": "w",
}  # fmt: skip
"""Short options that people know from head and grep."""

_NUMBER = re.compile(r"-\d+(\.\d+)?$")


class HelpAsked(Exception):
    """Somebody asked for help; the text is the exception's argument."""


@dataclass(frozen=True, slots=True)
class Form:
    """One operation as a command line."""

    operation: Operation
    """What is called."""
    command: str
    """How the line begins, for example ``%artifact head`` or ``kmnb head``."""
    extra: tuple[Param, ...] = ()
    """Further options of the front end; their values come back apart."""

    def parse(self, words: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read a command line.

        Args:
            words: The line without the command.

        Returns:
            The operation's arguments, checked and complete, and the values of the extra options.

        Raises:
            HelpAsked: ``--help`` was among the words.
            BadRequest: The line cannot be understood; the message ends with the way to help.
        """
        try:
            given = self._read(words)
            extra = {param.name: given.pop(param.name, None) for param in self.extra}
            return checked(self.operation, given), checked(Operation(self.operation.name, "", self.extra), extra)
        except BadRequest as error:
            step = error.next_step or f"See {self.command} --help."
            raise type(error)(error.thing, error.reason, step, **error.facts) from None

    def help(self) -> str:
        """Usage, every parameter, and examples."""
        parser = self._parser(words=True)
        typed = [f"{self.command} {words}".rstrip() for words in self.operation.lines]
        examples = (typed or [self.line(example) for example in self.operation.examples])[:2]
        parser.epilog = "\n  ".join(["examples:", *examples]) if examples else None
        return parser.format_help()

    def line(self, example: Example) -> str:
        """Write an example as a command line; the artifact's key stands for its content."""
        words = [self.command, "KEY"] if self._params("ref") else [self.command]
        for name, value in example.arguments.items():
            param = next((param for param in self.operation.params if param.name == name), None)
            if param is not None:
                words += _written(param, value)
        return " ".join(words)

    def options(self) -> Iterator[tuple[str, Param]]:
        """Every option as it is typed, with its parameter."""
        for param in (*self.operation.params, *self.extra):
            yield from ((name, param) for name in _names(param))

    def words(self) -> tuple[Param, ...]:
        """The positional parameters in order."""
        return tuple(param for param in self.operation.params if param.positional)

    def _params(self, name: str) -> list[Param]:
        return [param for param in self.operation.params if param.name == name]

    def _read(self, words: Sequence[str]) -> dict[str, Any]:
        cut = list(words).index("--") if "--" in words else len(words)
        options, rest = self._parser(words=False).parse_known_args(list(words[:cut]))
        if getattr(options, "help", False):
            raise HelpAsked(self.help())
        for word in rest:
            if word.startswith("-") and word != "-" and not _NUMBER.match(word):
                self._unknown(word.partition("=")[0])
        values = {name: value for name, value in vars(options).items() if name != "help" and value is not None}
        for param in self.operation.params:
            if param.kind == "texts" and param.name in values:
                values[param.name] = [text for word in values[param.name] for text in split_texts(word)]
        return values | self._place([*rest, *words[cut + 1 :]], [p for p in self.words() if p.name not in values])

    def _place(self, words: list[str], params: Sequence[Param]) -> dict[str, Any]:
        placed: dict[str, Any] = {}
        for param in params:
            if words and param.kind == "texts":
                placed[param.name] = words if param.name == "refs" else [t for word in words for t in split_texts(word)]
                words = []
            elif words:
                placed[param.name] = _json(words.pop(0)) if param.kind == "json" else words.pop(0)
        if words:
            raise BadRequest(self.command, f"does not know what to do with {words[0][:100]!r}")
        return placed

    def _unknown(self, word: str) -> NoReturn:
        near = difflib.get_close_matches(word, [name for name, _ in self.options()], n=1)
        step = f"Did you mean {near[0]}?" if near else f"See {self.command} --help."
        raise BadRequest(self.command, f"has no option {word[:100]!r}", step)

    def _parser(self, *, words: bool) -> argparse.ArgumentParser:
        parser = _Parser(
            prog=self.command,
            description=self.operation.summary,
            add_help=False,
            allow_abbrev=False,
            formatter_class=_formatter,
        )
        for param in self.words() if words else ():
            many = {"texts": "+" if param.required else "*"}.get(param.kind, None if param.required else "?")
            parser.add_argument(
                param.name, help=f"{_help(param)} Also {', '.join(_names(param))}.", nargs=many, metavar=_metavar(param)
            )
        for param in (*self.operation.params, *self.extra):
            shown = argparse.SUPPRESS if param.positional or (param.advanced and param in self.extra) else _help(param)
            parser.add_argument(*_names(param), dest=param.name, help=shown, **_action(param))
        parser.add_argument("-h", "--help", action="store_true", default=False, help="Show this help and do nothing.")
        return parser


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=30, width=100)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadRequest(self.prog, message.removeprefix("argument "), f"See {self.prog} --help.")


def _names(param: Param) -> list[str]:
    letter = _LETTERS.get(param.name)
    return [*([f"-{letter}"] if letter else []), "--" + param.name.replace("_", "-")]


def _action(param: Param) -> dict[str, Any]:
    if param.kind != "flag":
        action = {"type": _json} if param.kind == "json" else {}
        repeat = {"action": "append"} if param.kind == "texts" else {}
        return {"metavar": _metavar(param)} | action | repeat
    if param.default is False:
        return {"action": "store_const", "const": True}
    return {"action": argparse.BooleanOptionalAction}


def _metavar(param: Param) -> str:
    if param.choices:
        return "{" + ",".join(param.choices) + "}"
    if param.positional:
        return param.name.removesuffix("s").upper() if param.kind == "texts" else param.name.upper()
    return {"integer": "N", "number": "X", "json": "JSON"}.get(param.kind, "TEXT")


def _help(param: Param) -> str:
    shown = param.default not in (None, False, "", ()) and param.kind != "flag"
    return (param.help + (f" Default: {param.default}." if shown else "")).replace("%", "%%")


def _json(text: str) -> Any:
    """Read JSON where it is JSON; a bare word stays text, since a shell takes quotes away."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _written(param: Param, value: Any) -> list[str]:
    texts = [str(item) for item in value] if isinstance(value, list | tuple) else None
    if param.positional:
        return [shlex.quote(text) for text in texts or [str(value)]]
    name = _names(param)[-1]
    if param.kind == "flag":
        return [name] if value else [name.replace("--", "--no-", 1)]
    written = json.dumps(value) if param.kind == "json" and not isinstance(value, str) else str(value)
    return [name, shlex.quote(",".join(texts) if texts else written)]


_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "json": {},
}


def json_schema(operation: Operation) -> dict[str, Any]:
    """Describe the arguments of an operation as a JSON Schema (2020-12).

    Args:
        operation: The declaration.

    Returns:
        An object schema without further properties; defaults, choices and minima included.
    """
    return {
        "type": "object",
        "properties": {param.name: _property(param) for param in operation.params},
        "required": [param.name for param in operation.params if param.required],
        "additionalProperties": False,
    }


def _property(param: Param) -> dict[str, Any]:
    schema = dict(_SCHEMAS[param.kind]) | {"description": param.help}
    if param.default is not None:
        schema["default"] = param.default
    if param.choices:
        schema["enum"] = list(param.choices)
    if param.minimum is not None and param.below == "refused":
        schema["minimum"] = int(param.minimum) if param.kind == "integer" else param.minimum
    return schema
