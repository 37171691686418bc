"""Every operation by name, declared once: magics, command line and REST are derived from this table."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from kmnb.core.describe import Operation
from kmnb.errors import UnknownPlugin
from kmnb.ops import (
    _commands_bus,
    _commands_charts,
    _commands_clean,
    _commands_compute,
    _commands_named,
    _commands_store,
)
from kmnb.ops._command import REF, Command
from kmnb.ops._command_lines import LINES
from kmnb.ops._commands_store import defaults, listing_of
from kmnb.ops.sip import sip_names, sip_operation

__all__ = ["Command", "commands", "defaults", "find_command", "listing_of"]


_IN_PYTHON = {
    "list": "ls",
    "delete": "rm",
    "remove": "forget",
    "download": "get",
    "sweep": "gc",
    "open_thread": "open",
    "close_thread": "close",
    "close_session": "end-session",
    "run_cell": "run",
}
"""Methods of workspaces and handles that are commands under another name."""


class _Commands(Mapping[str, Command]):
    """The declared commands, and one for each installed sip, which is loaded when it is asked for."""

    def __init__(self) -> None:
        modules = (
            _commands_store,
            _commands_clean,
            _commands_named,
            _commands_compute,
            _commands_bus,
            _commands_charts,
        )
        self._known: dict[str, Command] = {found.name: found for module in modules for found in module.COMMANDS}

    def __getitem__(self, name: str) -> Command:
        if name not in self._known and name in sip_names():
            self._known[name] = _sip_command(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._known, *sip_names())))

    def __len__(self) -> int:
        return len({*self._known, *sip_names()})


@cache
def commands() -> Mapping[str, Command]:
    """Every command by name: the declared ones, and one for each sip that is installed."""
    return _Commands()


def _sip_command(name: str) -> Command:
    operation = sip_operation(name)

    async def sip(workspace: Any, given: Mapping[str, Any]) -> Any:
        artifact = await workspace.get_async(given["ref"])
        return await artifact.sip_async(name, **{key: value for key, value in given.items() if key != "ref"})

    lines = LINES.get(name, ())
    return Command(Operation(name, operation.summary, (REF, *operation.params), operation.examples, lines), sip)


def find_command(name: str) -> Command:
    """Find a command by name.

    Raises:
        UnknownPlugin: There is none; the message offers near names.
    """
    known = commands()
    if name in known:
        return known[name]
    own = _IN_PYTHON.get(name.replace("-", "_").removesuffix("_async"))
    near = [own] if own else difflib.get_close_matches(name, known, n=2)
    step = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(sorted(known))}."
    raise UnknownPlugin(f"command {name[:100]!r}", "there is none", step)
