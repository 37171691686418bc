"""Commands over programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb.core.answers import Answer, line
from kmnb.core.bounds import RUN_SECONDS
from kmnb.core.describe import Param
from kmnb.ops._command import PROGRAM, RECEIPT, command, word

LANGUAGE = Param("language", "text", "Language of the program.", default="python", positional=True)


def language_names() -> tuple[str, ...]:
    """Names of the languages that a program may have."""
    from kmnb.sandbox._languages import languages

    return languages()


LEVEL = Param("level", "integer", "Isolation that is required: 3, 2, 1 or 0.", minimum=0)
OPTIONS = (
    Param(
        "with", "texts", "Artifact that the program reads below /artifacts; may be given again. None: the open turn's."
    ),
    Param("timeout", "number", "Deadline in seconds.", default=RUN_SECONDS, minimum=0.001),
    LEVEL,
    Param("remote", "text", "Address of a kernel gateway that runs it instead; needs --level 0."),
)


@command(
    "run",
    "Run a program over artifacts in the sandbox.",
    PROGRAM,
    LANGUAGE,
    *OPTIONS,
)
async def run(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Run a program; the front end hands its text over as ``source``."""
    artifacts = given["with"]
    level = {} if given["level"] is None else {"required_level": given["level"]}
    return await workspace.run_async(
        given["source"],
        language=given["language"],
        artifacts=artifacts,
        timeout_seconds=given["timeout"],
        remote=given["remote"],
        **level,
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
        on_output=given.get("on_output"),
        remote=given["remote"],
        timeout_seconds=given["timeout"],
        **level,
    )


@command("validate", "Compile a program without running it.", PROGRAM, LANGUAGE)
async def validate(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Compile a program."""
    verdict = await workspace.validate_async(given["source"], given["language"])
    text = "valid" if verdict.valid else f"not valid: {verdict.errors}"
    return line(text, {"valid": verdict.valid, "errors": verdict.errors}, ok=verdict.valid)


@command(
    "verify",
    "Run a receipt's program again over the same bytes and compare, or check a notebook as a whole.",
    RECEIPT,
    LEVEL,
)
async def verify(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Verify a receipt."""
    level = {} if given["level"] is None else {"required_level": given["level"]}
    found = await workspace.verify_async(given["source"], **level)
    data = {"status": found.status, "reason": found.reason}
    return line(f"{found.status}: {found.reason}", data, ok=found.status == "verified")


@command(
    "cite",
    "Hold what a receipt stands on, so that it can be verified later: artifacts, program and receipt.",
    RECEIPT,
    Param("seconds", "number", "How long; seven days by default.", minimum=1),
    effect="write",
)
async def cite(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Cite a receipt."""
    return await workspace.cite_async(given["source"], seconds=given["seconds"])


@command("end-session", "End a session of %%compute in this process, with its kernel.", word("name", "Its name."))
async def end_session(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """End a session."""
    ended = await workspace.close_session_async(given["name"])
    return line(f"session {given['name']} {'ended' if ended else 'is not there'}", {"ended": ended})


COMMANDS = (run, validate, verify, cite, end_session)
