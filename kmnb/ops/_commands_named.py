"""Commands over named artifacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb.core.answers import Answer, line, table
from kmnb.core.describe import Param
from kmnb.ops._command import FILENAME, MEDIA_TYPE, SOURCE, command


@command("save", "Save the next version of a named artifact.", FILENAME, SOURCE, MEDIA_TYPE, effect="write")
async def save(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Save a version."""
    return await workspace.save_async(given["filename"], given["source"], media_type=given["media_type"])


@command(
    "load",
    "Give the handle of a named artifact.",
    FILENAME,
    Param("version", "integer", "Version from 0; the latest when absent.", minimum=0),
)
async def load(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Load a version."""
    return await workspace.load_async(given["filename"], version=given["version"])


@command("versions", "List the versions of a named artifact.", FILENAME)
async def versions(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """List versions, ascending."""
    numbers = await workspace.versions_async(given["filename"])
    title = f"{given['filename']} · {len(numbers)} version{'' if len(numbers) == 1 else 's'}"
    return table(title, ("version",), [(number,) for number in numbers], items=numbers)


@command("filenames", "List the named artifacts of the session and the user.")
async def filenames(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """List names."""
    names = await workspace.filenames_async()
    return table(f"{len(names)} named artifacts", ("filename",), [(name,) for name in names], items=names)


@command("forget", "Remove every version of a named artifact.", FILENAME, effect="delete")
async def forget(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Remove a named artifact."""
    await workspace.remove_async(given["filename"])
    return line(f"{given['filename']} removed, every version", {"filename": given["filename"]})


COMMANDS = (save, load, versions, filenames, forget)
