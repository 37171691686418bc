"""A turn: exactly the artifacts of some messages, as files, while a block runs."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kmnb._bridge import bridge, run
from kmnb.core.display import count_text
from kmnb.core.envelope import Envelope
from kmnb.core.references import find_markers, read_message
from kmnb.errors import BadRequest
from kmnb.ops.artifacts import get_artifact
from kmnb.ops.bus import Message
from kmnb.ops.context import Context
from kmnb.ops.handle import Artifact
from kmnb.ops.materialise import Manifest, materialise
from kmnb.ops.spill import Spill

FOLDER_PREFIX = "kmnb-turn-"
"""Beginning of the names of the temporary folders of turns; the owner's process id follows."""


class Turn:
    """Materialises artifacts when it is entered and removes the files when it is left.

    ``ws.run`` and ``%%compute`` read them under ``/artifacts`` while the innermost turn is open.

    Args:
        context: The workspace.
        things: Messages, spills, envelopes, handles, keys or marker texts; one of them or several.
    """

    def __init__(self, context: Context, things: Any) -> None:
        self._context, self._things = context, things
        self._folder: str | None = None
        self._manifest: Manifest | None = None
        self._artifacts: tuple[Artifact, ...] = ()

    def __repr__(self) -> str:
        told = "not open" if self._manifest is None else f"open, {count_text(len(self._artifacts), 'artifacts')}"
        return f"<turn: {told}>"

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """Handles of what was materialised, in order, each once."""
        return self._artifacts

    @property
    def folder(self) -> Path:
        """Where the files are while the turn is open. Raises BadRequest before."""
        return self.manifest.folder

    @property
    def manifest(self) -> Manifest:
        """What the folder holds. Raises BadRequest while the turn is not open."""
        if self._manifest is None:
            raise BadRequest("this turn", "is not open", "Use it in a with block.")
        return self._manifest

    async def _open(self) -> Self:
        found: dict[str, Artifact] = {}
        for reference in _references(self._things):
            artifact = await get_artifact(self._context, reference)
            found.setdefault(artifact.uri, artifact)
        self._artifacts = tuple(found.values())
        # At once: the name of a folder that a thread makes is lost when its caller is cancelled.
        self._folder = tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-")
        try:
            os.chmod(self._folder, 0o711)  # noqa: S103 - a run with a user of its own must pass through
            items = [await artifact.locate() for artifact in self._artifacts]
            self._manifest = await materialise(items, Path(self._folder) / "artifacts")
        except BaseException:
            await self._close()
            raise
        self._context.live.turns.append(self)
        return self

    async def _close(self) -> None:
        if self in self._context.live.turns:
            self._context.live.turns.remove(self)
        folder, self._folder, self._manifest = self._folder, None, None
        if folder is not None:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return run(self._open())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run(self._close())

    async def __aenter__(self) -> Self:
        return await bridge(self._open())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await bridge(self._close())


def _references(things: Any) -> list[Any]:
    """Flatten what people hand to a turn into single references."""
    if isinstance(things, Message):
        return list(things.artifacts)
    if isinstance(things, Spill):
        return [things.artifact] if things.artifact is not None else []
    if isinstance(things, Mapping) and "key" not in things and "artifact" not in things:
        return list(read_message(things))
    if isinstance(things, str) and (markers := find_markers(things)):
        return list(markers)
    if isinstance(things, Artifact | Envelope | Mapping | str | bytes):
        return [things]
    if isinstance(things, Iterable):
        return [reference for thing in things for reference in _references(thing)]
    raise BadRequest(f"{type(things).__name__}", "names no artifacts", "Give messages, envelopes or handles.")
