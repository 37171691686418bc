"""Commands over programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb.core.bounds import RUN_SECONDS
from kmnb.core.describe import Param
from kmnb.ops._command import command, word

LANGUAGE = Param("language", "text", "Language of the program.", default="python", positional=True)
OPTIONS = (
    Param(
        "with", "texts", "Artifact that the program reads below /artifacts; may be given again. None: the open turn's."
    ),
    Param("timeout", "number", "Deadline in seconds.", default=RUN_SECONDS, minimum=0.001),
    Param("level", "integer", "Isolation that is required: 3, 2, 1 or 0.", minimum=0),
)


@command(
    "run",
    "Run a program over artifacts in the sandbox.",
    word("source", "File of the program; - for standard input."),
    LANGUAGE,
    *OPTIONS,
)
async def run(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Run a program; the front end hands its text over as ``source``."""
    artifacts = given["with"]
    level = {} if given["level"] is None else {"required_level": given["level"]}
    return await workspace.run_async(
        given["source"], language=given["language"], artifacts=artifacts, timeout_seconds=given["timeout"], **level
    )


SESSION = Param("session", "text", "Keep the kernel, and so its variables, under this name until it is idle or closed.")
"""What a cell takes besides the options of a run."""


async def compute(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Run a cell; the front end hands its text over as ``source``."""
    level = {} if given["level"] is None else {"required_level": given["level"]}
    return await workspace.run_cell_async(
        given["source"],
        language=given["language"],
        artifacts=given["with"],
        session=given.get("session"),
        timeout_seconds=given["timeout"],
        **level,
    )


COMMANDS = (run,)
