"""The command line: ``kmnb COMMAND …``, the same operations as the magics.

Answers go to stdout exactly as the operation gave them, remarks to stderr. Exit codes::

    0 done    1 failed    2 the call cannot be meant    3 not found    4 a limit was passed    5 the store
    6 the sandbox    7 it exists already    124 a program ran out of time    130 interrupted    141 the reader went away

``run`` gives the exit code of the program. The module's name is ``cli``; ``kmnb cli`` is the same as ``kmnb``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kmnb.core.describe import Operation, Param
from kmnb.core.layouts import LAYOUTS
from kmnb.frontends._frontend import Frontend

_PLACES = (
    Param("url", "text", "Store; without it $KMNB_URL, the configuration file, or the store of the user."),
    Param("namespace", "text", "First segment of keys."),
    Param("crew", "text", "Second segment of keys."),
    Param("thread", "text", "Third segment of keys."),
    Param("agent", "text", "Fourth segment of keys."),
    Param("app", "text", "App of named artifacts."),
    Param("user", "text", "User of named artifacts."),
    Param("session", "text", "Session of named artifacts."),
    Param("layout", "text", "Layout of named artifacts; of a peer's store that peer's.", choices=LAYOUTS),
    Param("config", "text", "Configuration file."),
    Param("json", "flag", "Whether to print JSON.", default=False),
)
_HIDDEN = tuple(replace(param, advanced=True) for param in _PLACES)
"""The same after the command: taken, but told once in the help of ``kmnb`` itself."""
_ASKED = (Param("version", "flag", "Print the version.", default=False),)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: Words after ``kmnb``; those of the process when absent.

    Returns:
        The exit code.
    """
    from kmnb.frontends._output import ended

    with ended() as end:
        end.code = _main(list(sys.argv[1:] if argv is None else argv))
    return end.code


def _main(words: list[str]) -> int:
    from kmnb.frontends._forms import Form, HelpAsked
    from kmnb.frontends._output import put_text

    cut = _first_word(words)
    places, rest = words[:cut], words[cut:]
    try:
        _, given = Form(Operation("kmnb", ""), "kmnb", (*_PLACES, *_ASKED)).parse(places)
    except HelpAsked:
        return put_text(_help())
    if given.pop("version"):
        from kmnb import __version__

        return put_text(f"kmnb {__version__}\n")
    if not rest or rest[0] == "help":
        return put_text(_help(rest[1:]))
    try:
        return _command(rest[0], rest[1:], given)
    except HelpAsked as asked:
        return put_text(asked.args[0])


def _first_word(words: list[str]) -> int:
    """Find the command: the first word that is neither an option nor the value of one."""
    flags = {"--json", "--help", "-h", "--version"}
    place = 0
    while place < len(words) and words[place].startswith("-"):
        place += 1 if words[place] in flags or "=" in words[place] else 2
    return min(place, len(words))


def _command(name: str, words: list[str], given: dict[str, Any]) -> int:
    from kmnb.frontends._forms import Form
    from kmnb.ops.commands import find_command

    if (front := _frontend(name)) is not None:
        return int(front(words))
    command = find_command(name)
    own = {param.name for param in command.operation.params}
    extra = tuple(param for param in _HIDDEN if param.name not in own)
    arguments, more = Form(command.operation, f"kmnb {name}", extra).parse(words)
    places = given | {key: value for key, value in more.items() if value not in (None, False)}
    as_json = places.pop("json")
    if name == "connect":
        places |= {key: value for key, value in arguments.items() if value}
    return _carry_out(command, arguments, places, as_json=as_json)


def _carry_out(command: Any, arguments: dict[str, Any], places: dict[str, Any], *, as_json: bool) -> int:
    from kmnb import _bridge
    from kmnb._connect import connect
    from kmnb.frontends._input import carry_out, read_source
    from kmnb.frontends._output import show
    from kmnb.frontends._outside import check_shared, connect_still
    from kmnb.frontends._progress import patience, terminal_show

    if "source" in arguments:
        arguments["source"] = Path(arguments["source"])
    arguments = read_source(command, arguments, standard_input=True)
    if (show_line := terminal_show()) is not None:
        _bridge.patience = patience(show_line)
    workspace = (connect_still if command.effect == "delete" else connect)(places.pop("url"), **places)
    try:
        check_shared(workspace)
        answer = _bridge.run(carry_out(command, workspace, arguments))
        return show(command.name, answer, as_json=as_json, arguments=arguments)
    finally:
        workspace.close()


def _frontend(name: str) -> Any:
    """The main function of another front end; None where there is no such command."""
    from kmnb import _plugins

    module = name.replace("-", "_")
    if module not in _plugins.names("kmnb.frontends", "kmnb.frontends"):
        return None
    found: Frontend = _plugins.load("kmnb.frontends", "kmnb.frontends", module, "FRONTEND")
    return found.main


def _help(words: Sequence[str] = ()) -> str:
    from kmnb import _plugins
    from kmnb.frontends._forms import Form
    from kmnb.ops.commands import commands, find_command

    if words:
        if (front := _frontend(words[0])) is not None:
            front(["--help"])
            return ""
        return Form(find_command(words[0]).operation, f"kmnb {words[0]}", _HIDDEN).help()
    usage = Form(Operation("kmnb", __doc__ or ""), "kmnb", (*_PLACES, *_ASKED)).help()
    usage = usage.replace("usage: kmnb", "usage: kmnb COMMAND", 1)
    lines = [f"  {name:<14} {command.operation.summary}" for name, command in commands().items()]
    for name in _plugins.names("kmnb.frontends", "kmnb.frontends"):
        front = _plugins.load("kmnb.frontends", "kmnb.frontends", name, "FRONTEND")
        if front.main is not None and name != "cli":
            lines.append(f"  {name.replace('_', '-'):<14} {front.help}")
    return "\n".join([usage, "commands (kmnb COMMAND --help tells more):", *lines, ""])


FRONTEND = Frontend("The command line itself.", main)
