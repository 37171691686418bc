"""One declaration of an operation's parameters; every front end is derived from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["text", "integer", "number", "flag", "texts", "json"]
"""Type of a parameter: text, int, float, bool, list of text, or any JSON value."""


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of an operation."""

    name: str
    """Python name; the command line shows ``_`` as ``-``."""
    kind: Kind
    """Type of the value; text that arrives for another kind is coerced."""
    help: str
    """One sentence for people, with unit and inclusivity."""
    default: Any = None
    """Value when it is not given; None also means "not given"."""
    required: bool = False
    """Whether it must be given."""
    positional: bool = False
    """Whether Python and the command line take it without its name."""
    choices: tuple[str, ...] = ()
    """The only allowed texts; empty for any."""
    minimum: float | None = None
    """Smallest allowed number, inclusive."""
    below: Literal["refused", "default"] = "refused"
    """What a smaller number is; sips take it for the default, as agents of Kubemoot expect."""
    advanced: bool = False
    """Whether short help may leave it out."""


@dataclass(frozen=True, slots=True)
class Example:
    """A call with its answer; it is documentation and a test at once."""

    content: bytes
    """Content of the artifact."""
    arguments: Mapping[str, Any]
    """Arguments of the call."""
    values: tuple[Any, ...]
    """Expected ``Slice.values``."""
    text: str | None = None
    """Expected ``Slice.text``; None when it is not stated."""
    media_type: str | None = None
    """MIME type given at the spill."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Everything the front ends need to offer an operation."""

    name: str
    """Name in Python, magics, command line, MCP and REST."""
    summary: str
    """One line of help."""
    params: tuple[Param, ...] = ()
    """Parameters, positional ones first."""
    examples: tuple[Example, ...] = ()
    """Calls with their answers."""
    lines: tuple[str, ...] = ()
    """Arguments as people type them, where there are no examples with answers."""
