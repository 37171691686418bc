"""What a front end reads: files, and standard input."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kmnb.core.bounds import CODE_MAX_BYTES, MIB
from kmnb.errors import BadRequest, BoundExceeded
from kmnb.ops._command import RECEIPT, TEXTS, Command

NOTEBOOK_MAX_BYTES = 64 * MIB
"""Largest notebook that is checked."""


def read_source(command: Any, arguments: Mapping[str, Any], *, standard_input: bool = False) -> dict[str, Any]:
    """Turn the path of a source into what is to be read; anything but a path is data already.

    Args:
        command: The command; programs and receipts are read as text, others take a path or a stream.
        arguments: Checked arguments.
        standard_input: Whether ``-`` means standard input.

    Returns:
        The arguments with a path, an open stream or a text in the place of the source.

    Raises:
        BadRequest: There is no such file, or it is no text where text is needed.
        BoundExceeded: A text is too long.
    """
    source = arguments.get("source")
    if not isinstance(source, Path):
        return dict(arguments)
    is_text = any(param in TEXTS for param in command.operation.params)
    most = NOTEBOOK_MAX_BYTES if RECEIPT in command.operation.params else CODE_MAX_BYTES
    if standard_input and str(source) == "-":
        return dict(arguments) | {"source": _text(sys.stdin.buffer, most) if is_text else sys.stdin.buffer}
    path = source.expanduser()
    try:
        if path.is_dir() or not path.exists():
            raise BadRequest(repr(str(path))[:500], "there is no such file", "Name a file.")
        if not is_text:
            return dict(arguments) | {"source": path}
        with path.open("rb") as file:
            return dict(arguments) | {"source": _text(file, most)}
    except (OSError, ValueError) as error:
        if isinstance(error, BadRequest):
            raise
        raise BadRequest(repr(str(path))[:500], f"cannot be read: {error}") from None


async def carry_out(command: Command, workspace: Any, given: dict[str, Any]) -> Any:
    """Carry a command out; what names a receipt may be a whole notebook."""
    if command.name == "verify":
        from kmnb.frontends._notebook import check_notebook, notebook_of

        if (notebook := notebook_of(given["source"])) is not None:
            level = {} if given["level"] is None else {"required_level": given["level"]}
            return await check_notebook(workspace, notebook, **level)
    return await command.handler(workspace, given)


def _text(file: Any, most: int) -> str:
    raw = file.read(most + 1)
    if len(raw) > most:
        raise BoundExceeded("source", f"it has more than {most:,} bytes", limit="code", unit="bytes")
    try:
        return str(raw.decode())
    except UnicodeDecodeError as error:
        raise BadRequest("source", f"it is no UTF-8 text: byte {error.start}") from None
