"""What happens when a magic is called: read its line, carry the command out, keep the answer."""

from __future__ import annotations

from typing import Any

from kmnb import _bridge
from kmnb.frontends._forms import Form, HelpAsked
from kmnb.frontends._input import carry_out, read_source
from kmnb.frontends._magic_forms import artifact_form, artifact_help, cell_form, compute_form
from kmnb.frontends._magic_line import Line, check_variable
from kmnb.ops.commands import Command, find_command


def run_artifact(magics: Any, line: str, cell: str | None) -> Any:
    """Carry out ``%artifact``, or ``%%artifact`` where there is a cell."""
    try:
        return _artifact(magics, line, cell)
    except HelpAsked as asked:
        print(asked.args[0])
        return None


def _artifact(magics: Any, line: str, cell: str | None) -> Any:
    read = Line(line, magics.shell.user_ns, "%artifact")
    if not read.words or read.words[0] in ("--help", "-h", "help"):
        raise HelpAsked(artifact_help(read.words[1:]))
    command = find_command(read.words[0])
    given, name = _parsed(read, artifact_form(command) if cell is None else cell_form(command), read.words[1:])
    if cell is None:
        return _keep(magics, name, _call(magics, command, read_source(command, given)))
    from kmnb.frontends._magic_cell import data_of_cell

    given["source"] = data_of_cell(magics.shell, cell)
    return _keep(magics, name, _call(magics, command, given))


def _parsed(read: Line, form: Form, words: list[str]) -> tuple[dict[str, Any], str | None]:
    """Read a command line; gives the arguments and the variable of the answer, before anything is carried out."""
    given, extra = form.parse(words)
    return read.restore(given, form.operation), check_variable(extra["out"])


def run_compute(magics: Any, line: str, cell: str) -> Any:
    """Carry out ``%%compute``; its outcome is shown also where it goes to a variable."""
    try:
        read = Line(line, magics.shell.user_ns, "%%compute")
        given, name = _parsed(read, compute_form(), read.words)
    except HelpAsked as asked:
        print(asked.args[0])
        return None
    from kmnb.frontends._live import live_for
    from kmnb.ops._commands_compute import compute

    live = live_for(magics.shell)
    given = given | {"source": cell, "on_output": live.take if live else None}
    outcome = _bridge.run(compute(magics.workspace(), given), live.wait if live else None)
    _keep(magics, name, outcome)
    return outcome


def _call(magics: Any, command: Command, given: dict[str, Any]) -> Any:
    if command.name == "connect":
        return magics.connect(given.pop("url") or None, **given)
    return _bridge.run(carry_out(command, magics.workspace(), given))


def _keep(magics: Any, name: str | None, answer: Any) -> Any:
    if name is None:
        return answer
    magics.shell.user_ns[name] = answer
    return None
