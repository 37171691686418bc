"""Commands over discussion artifacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb.core.answers import Answer, line, table
from kmnb.core.describe import Param
from kmnb.core.display import count_text, size_text
from kmnb.core.layouts import LAYOUTS
from kmnb.ops._command import ORIGIN, REF, SOURCE, command, some_of, word

_ORIGIN_NAMES = ("tool", "agent", "thread", "media_type")


@command(
    "connect",
    "Open a store and show every default that is in force.",
    word("url", "Store: nats:// nats+embedded:/// file:/// memory:// s3:// gs:// az://", required=False),
    Param("namespace", "text", "First segment of keys."),
    Param("crew", "text", "Second segment of keys."),
    Param("thread", "text", "Third segment of keys: the discussion."),
    Param("agent", "text", "Fourth segment of keys."),
    Param("app", "text", "App of named artifacts."),
    Param("user", "text", "User of named artifacts."),
    Param("session", "text", "Session of named artifacts."),
    Param("layout", "text", "Layout of named artifacts; of a peer's store that peer's.", choices=LAYOUTS),
)
async def connect(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Tell where a workspace stands. Opening it is the front end's part."""
    return defaults(workspace)


def defaults(workspace: Any) -> Answer:
    """Tell the store of a workspace and every name that it fills in."""
    shown = [(setting.name, setting.value, setting.origin) for setting in workspace.settings]
    return table(f"connected to {workspace.url}", ("setting", "value", "from"), shown)


@command(
    "ls",
    "List artifacts, by default those of the own thread.",
    word("prefix", "Absolute prefix of whole segments; empty for the own thread.", required=False),
    Param("limit", "integer", "Most artifacts; 0 for all.", default=1000, minimum=0),
)
async def listing(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """List artifacts; it asks the store for no more than is shown."""
    items: list[Any] = []
    complete = True
    walk = workspace.list_async(given["prefix"])
    async for artifact in walk:
        if given["limit"] and len(items) == given["limit"]:
            complete = False
            break
        items.append(artifact)
    if (close := getattr(walk, "aclose", None)) is not None:
        await close()
    return listing_of(items, complete=complete)


def listing_of(items: list[Any], *, complete: bool) -> Answer:
    """Show artifacts as a table."""
    counted = f"{'' if complete else 'the first '}{count_text(len(items), 'artifacts')}"
    title = f"{counted} · {size_text(sum(item.size or 0 for item in items))}"
    rows = [(item.size, item.created_at.isoformat() if item.created_at else None, item.key) for item in items]
    full = table(title, ("bytes", "created", "key"), rows)
    # The time of writing is no part of what a notebook shows, since notebooks are compared.
    shown = [(key, size_text(size)) for size, _, key in rows]
    card = table(title, ("key", "size"), shown, more=0 if complete else None).card
    return Answer(card, full.data, full.text, tuple(items))


@command("show", "Show an artifact: its facts and its preview.", REF)
async def show(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Give the handle, which shows itself from what one ``head`` told."""
    return await workspace.get_async(given["ref"])


@command(
    "get",
    "Give the handle of an artifact, and copy its content to a file when one is named.",
    REF,
    word("path", "File to write; an existing one is replaced.", required=False),
)
async def get(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Give the handle."""
    artifact = await workspace.get_async(given["ref"])
    if given["path"]:
        await artifact.download_async(given["path"])
    return artifact


@command(
    "materialise",
    "Put artifacts into a folder for programs to read, each below its key; what else is there stays.",
    word("folder", "Folder; it is made when it is not there."),
    Param("refs", "texts", "Artifacts: keys, URIs, envelopes or marker texts.", required=True, positional=True),
)
async def materialise(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Write artifacts as files."""
    from kmnb.ops.materialise import local_path

    paths: dict[str, str] = {}
    for ref in given["refs"]:
        artifact = await workspace.get_async(ref)
        manifest = await artifact.materialise_async(given["folder"])
        paths[artifact.key] = str(local_path(manifest.folder, artifact.key))
    return table(f"{count_text(len(paths), 'artifacts')} below {given['folder']}", ("key", "path"), list(paths.items()))


@command(
    "spill", "Store data that is too large for a message; small data stays inline.", SOURCE, *ORIGIN, effect="write"
)
async def spill(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Spill a file, or what the front end read."""
    return await workspace.spill_async(given["source"], **some_of(given, *_ORIGIN_NAMES))


@command("put", "Store data whatever its size.", SOURCE, *ORIGIN, effect="write")
async def put(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Store a file, or what the front end read."""
    return await workspace.put_async(given["source"], **some_of(given, *_ORIGIN_NAMES))


@command(
    "rm",
    "Remove artifacts; silent about those that are not there.",
    Param("refs", "texts", "Artifacts: keys, URIs, envelopes or marker texts.", required=True, positional=True),
    effect="delete",
)
async def remove(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Remove each of the artifacts."""
    for ref in given["refs"]:
        await workspace.delete_async(ref)
    count = len(given["refs"])
    return line(f"{count} artifact{' is' if count == 1 else 's are'} gone", {"removed": count})


COMMANDS = (connect, listing, show, get, materialise, spill, put, remove)
