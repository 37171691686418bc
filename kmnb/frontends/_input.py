"""What the command line reads: files, and standard input."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kmnb.core.bounds import CODE_MAX_BYTES
from kmnb.errors import BadRequest, BoundExceeded


def read_source(command: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the name of a source into what is to be read.

    Args:
        command: The command; ``run`` takes the text of a program, the others a stream of bytes.
        arguments: Checked arguments.

    Returns:
        The arguments with a path, an open stream or a program in the place of the name.

    Raises:
        BadRequest: There is no such file, or it is no text where text is needed.
        BoundExceeded: A program is too long.
    """
    given = dict(arguments)
    name = given.get("source")
    if not isinstance(name, str):
        return given
    if name != "-" and not Path(name).is_file():
        raise BadRequest(f"{name[:500]!r}", "there is no such file", "Name a file, or - for standard input.")
    if command.name == "run":
        given["source"] = _program(name)
    else:
        given["source"] = sys.stdin.buffer if name == "-" else Path(name)
    return given


def _program(name: str) -> str:
    if name == "-":
        raw = sys.stdin.buffer.read(CODE_MAX_BYTES + 1)
    else:
        with open(name, "rb") as file:
            raw = file.read(CODE_MAX_BYTES + 1)
    if len(raw) > CODE_MAX_BYTES:
        raise BoundExceeded(name, f"a program has at most {CODE_MAX_BYTES:,} bytes", limit="code", unit="bytes")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise BadRequest(name, f"is no UTF-8 text: byte {error.start}") from None
