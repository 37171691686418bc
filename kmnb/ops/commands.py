"""Every operation by name, declared once: magics, command line and REST are derived from this table."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache
from typing import Any

from kmnb.core.describe import Operation
from kmnb.errors import UnknownPlugin
from kmnb.ops import _commands_clean, _commands_compute, _commands_named, _commands_store
from kmnb.ops._command import REF, Command
from kmnb.ops._commands_store import defaults, listing_of
from kmnb.ops.sip import sip_names, sip_operation

__all__ = ["Command", "commands", "defaults", "find_command", "listing_of"]


@cache
def commands() -> Mapping[str, Command]:
    """Every command by name: the declared ones, and one for each sip that is installed."""
    modules = (_commands_store, _commands_clean, _commands_named, _commands_compute)
    declared = (found for module in modules for found in module.COMMANDS)
    sips = (_sip_command(name) for name in sip_names())
    return {command.name: command for command in (*declared, *sips)}


def _sip_command(name: str) -> Command:
    operation = sip_operation(name)

    async def sip(workspace: Any, given: Mapping[str, Any]) -> Any:
        artifact = await workspace.get_async(given["ref"])
        return await getattr(artifact, f"{name}_async")(**{key: value for key, value in given.items() if key != "ref"})

    return Command(Operation(name, operation.summary, (REF, *operation.params), operation.examples), sip)


def find_command(name: str) -> Command:
    """Find a command by name.

    Raises:
        UnknownPlugin: There is none; the message offers near names.
    """
    known = commands()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=2)
    step = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(sorted(known))}."
    raise UnknownPlugin(f"command {name[:100]!r}", "there is none", step)
