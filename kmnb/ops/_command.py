"""What a command is, and the parameters that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kmnb.core.describe import Operation, Param
from kmnb.ops._command_lines import LINES

Handler = Callable[[Any, Mapping[str, Any]], Coroutine[Any, Any, Any]]
"""Called with a workspace and complete arguments; gives an object that can show itself."""
Effect = Literal["read", "write", "delete"]


@dataclass(frozen=True, slots=True)
class Command:
    """One operation and what carries it out."""

    operation: Operation
    """Name, help and parameters."""
    handler: Handler
    """What is done."""
    effect: Effect = "read"
    """What it needs permission for."""

    @property
    def name(self) -> str:
        """Name of the operation."""
        return self.operation.name


def command(name: str, summary: str, *params: Param, effect: Effect = "read") -> Callable[[Handler], Command]:
    """Declare the command that a handler carries out."""
    return lambda handler: Command(Operation(name, summary, params, lines=LINES.get(name, ())), handler, effect)


def word(name: str, help_text: str, *, required: bool = True) -> Param:
    """Declare a positional text."""
    return Param(name, "text", help_text, required=required, positional=True, default=None if required else "")


REF = word("ref", "Artifact: key, artifact:// URI, envelope or marker text.")
SOURCE = word("source", "File to read; the command line takes - for standard input, a magic {{name}} for data.")
PROGRAM = word("source", "File of the program; - for standard input.")
RECEIPT = word(
    "source", "File of the receipt as JSON, or a notebook; - for standard input, a magic {{name}} for the receipt."
)
TEXTS = (PROGRAM, RECEIPT)
"""Sources that are handed over as text and not as a path."""
FILENAME = word("filename", "Name of the named artifact; user: before it opts into user scope.")
MEDIA_TYPE = Param("media_type", "text", "MIME type; found out when absent.")
ORIGIN = (
    Param("tool", "text", "Name of the tool that gave the data.", required=True),
    Param("agent", "text", "Agent that the data belongs to; the workspace's when absent."),
    Param("thread", "text", "Thread that the data belongs to; the workspace's when absent."),
    MEDIA_TYPE,
)


def some_of(given: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Give those of the named arguments that are not None."""
    return {name: given[name] for name in names if given[name] is not None}
