"""What a language needs to be run; a file in ``sandbox/languages`` declares one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kmnb import _plugins
from kmnb.errors import BadRequest, UnknownPlugin, shown

PACKAGE, GROUP = "kmnb.sandbox.languages", "kmnb.languages"


@dataclass(frozen=True, slots=True)
class Language:
    """How programs of one language are run and compiled."""

    name: str
    """Its name, the same as the file's."""
    filename: str
    """Name of the program's file in the run's folder."""
    command: tuple[str, ...] | None
    """What runs it, without the file's name at the end; None is the spawner's own Python, already running."""
    check: tuple[str, ...] | None
    """What compiles it without running it, likewise."""
    version: tuple[str, ...] = ()
    """Command that prints the interpreter's version in its first line."""
    test_program: str = ""
    """A program that prints ``42``."""
    broken_program: str = ""
    """A program that does not compile."""


@cache
def languages() -> tuple[str, ...]:
    """Names of all languages."""
    return _plugins.names(PACKAGE, GROUP)


def find_language(name: object) -> Language:
    """Find a language by its name.

    Raises:
        BadRequest: There is none of that name.
    """
    step = f"Use one of: {', '.join(languages())}."
    if not isinstance(name, str):
        raise BadRequest("language", f"must be a name, not {shown(name)}", step)
    try:
        found: Language = _plugins.load(PACKAGE, GROUP, name, "LANGUAGE")
    except UnknownPlugin:
        raise BadRequest(f"language {shown(name)}", "is unsupported", step) from None
    return found
