"""The command lines of the magics, and their help."""

from __future__ import annotations

from typing import Any

from kmnb.core.describe import Operation, Param
from kmnb.errors import BadRequest
from kmnb.frontends._forms import Form
from kmnb.ops._command import SOURCE
from kmnb.ops._command_lines import CELL_LINES, COMPUTE_LINES

OUT = Param("out", "text", "Variable that the answer goes to.")


def artifact_form(command: Any) -> Form:
    """The command line of ``%artifact COMMAND``."""
    return Form(command.operation, f"%artifact {command.name}", (OUT,))


def cell_form(command: Any) -> Form:
    """The command line of a command whose source is the cell.

    Raises:
        BadRequest: The command takes no data.
    """
    operation = command.operation
    if SOURCE not in operation.params:
        raise BadRequest(f"%%artifact {command.name}", "it takes no cell", f"Use %artifact {command.name}, one %.")
    params = tuple(param for param in operation.params if param.name != "source")
    summary = f"{operation.summary} The data is what the cell returns, else what it prints."
    declared = Operation(operation.name, summary, params, lines=CELL_LINES.get(command.name, ()))
    return Form(declared, f"%%artifact {command.name}", (OUT,))


def compute_form() -> Form:
    """The command line of ``%%compute``."""
    from kmnb.ops._commands_compute import SESSION
    from kmnb.ops.commands import find_command

    run = find_command("run").operation
    params = (*(param for param in run.params if param.name != "source"), SESSION)
    summary = f"{run.summary} The program is the rest of the cell."
    return Form(Operation("compute", summary, params, lines=COMPUTE_LINES), "%%compute", (OUT,))


def artifact_help(words: list[str] | None = None) -> str:
    """Help of ``%artifact`` as a whole, or of one sub-command."""
    from kmnb.ops.commands import commands, find_command

    if words:
        return artifact_form(find_command(words[0])).help()
    lines = [f"  {name:<12} {command.operation.summary}" for name, command in commands().items()]
    return "\n".join(["usage: %artifact COMMAND [ARGUMENT …] [--out NAME]", "", *lines, "", _NOTES])


_NOTES = """\
%artifact COMMAND --help tells the arguments of one command; -- ends the options.
{{name}} stands for a variable of the notebook. a = %artifact get KEY keeps an answer.
examples:
  %artifact ls
  %artifact grep KEY 'error|warn' --max 20"""
