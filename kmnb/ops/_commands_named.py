"""Commands over named artifacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kmnb.core.answers import Answer, line, table, text_answer
from kmnb.core.describe import Param
from kmnb.core.display import count_text
from kmnb.core.jsonable import json_text
from kmnb.ops._command import FILENAME, MEDIA_TYPE, SOURCE, command, word

VERSION = Param("version", "integer", "Version from 0.", required=True, positional=True, minimum=0)
SOME_VERSION = Param("version", "integer", "Version from 0; the latest when absent.", minimum=0)
LABEL = word("label", "The label.")
NEW_NAME = word("new_name", "The other name.")


@command("save", "Save the next version of a named artifact.", FILENAME, SOURCE, MEDIA_TYPE, effect="write")
async def save(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Save a version."""
    return await workspace.save_async(given["filename"], given["source"], media_type=given["media_type"])


@command(
    "load",
    "Give the handle of a named artifact.",
    FILENAME,
    SOME_VERSION,
)
async def load(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Load a version."""
    return await workspace.load_async(given["filename"], version=given["version"])


@command(
    "append",
    "Save a version that holds the previous bytes plus a chunk; version 0 of a new name.",
    FILENAME,
    SOURCE,
    Param("whole", "flag", "Whether the previous bytes come first; otherwise the chunk alone.", default=True),
    effect="write",
)
async def append(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Append to a named artifact."""
    return await workspace.append_async(given["filename"], given["source"], whole=given["whole"])


@command("restore", "Save an old version again as the latest.", FILENAME, VERSION, effect="write")
async def restore(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Restore a version."""
    return await workspace.restore_async(given["filename"], given["version"])


@command(
    "copy", "Copy a version of a named artifact to another name.", FILENAME, NEW_NAME, SOME_VERSION, effect="write"
)
async def copy(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Copy a version."""
    return await workspace.copy_async(given["filename"], given["new_name"], version=given["version"])


@command(
    "diff",
    "Compare two versions by what they hold: rows and columns, JSON paths, or lines.",
    FILENAME,
    Param("old", "integer", "The one version.", required=True, positional=True, minimum=0),
    Param("new", "integer", "The other; the latest when absent.", positional=True, minimum=0),
)
async def diff(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Compare two versions."""
    found = await workspace.diff_async(given["filename"], given["old"], given["new"])
    title = f"{found.kind}: {found.added} added, {found.removed} removed, {found.changed} changed"
    return text_answer(title, found.text, asdict(found))


@command("metadata", "Show what the store and its writer know of a version.", FILENAME, SOME_VERSION)
async def metadata(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Show metadata."""
    told = await workspace.metadata_async(given["filename"], version=given["version"])
    return table(f"{given['filename']} · metadata", ("name", "value"), [(k, json_text(v)) for k, v in told.items()])


@command(
    "label",
    "Give a version a label, which then names it; a label moves.",
    FILENAME,
    LABEL,
    SOME_VERSION,
    effect="write",
)
async def label(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Set a label."""
    number = await workspace.label_async(given["filename"], given["label"], version=given["version"])
    return line(
        f"{given['filename']}@{given['label']} is version {number}", {"label": given["label"], "version": number}
    )


@command("unlabel", "Take a label away.", FILENAME, LABEL, effect="write")
async def unlabel(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Drop a label."""
    await workspace.unlabel_async(given["filename"], given["label"])
    return line(f"{given['filename']} has no label {given['label']}", {"label": given["label"]})


@command("labels", "List the labels of a named artifact.", FILENAME)
async def labels(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """List labels."""
    found = await workspace.labels_async(given["filename"])
    return table(f"{given['filename']} · {len(found)} labels", ("label", "version"), list(found.items()))


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
    title = f"{count_text(len(names), 'named artifacts')}"
    return table(title, ("filename",), [(name,) for name in names], items=names)


@command("forget", "Remove every version of a named artifact.", FILENAME, effect="delete")
async def forget(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Remove a named artifact."""
    count = await workspace.remove_async(given["filename"])
    told = "removed, every version" if count else "has no version, nothing was removed"
    return line(f"{given['filename']} {told}", {"filename": given["filename"]})


COMMANDS = (
    save, load, append, versions, filenames, forget, restore, copy, diff, metadata, label, unlabel, labels,
)  # fmt: skip
