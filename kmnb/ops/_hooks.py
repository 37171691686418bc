"""The workspace's use cases that a handle offers as methods."""

from __future__ import annotations

from typing import Any

from kmnb.core.metadata import ObjectInfo
from kmnb.ops.context import Context
from kmnb.ops.expiry import missing_error
from kmnb.ops.handle import Artifact
from kmnb.ops.holds import Hold, find_copy, hold_artifact, release_hold
from kmnb.ops.named import address_of
from kmnb.storage._protocols import ObjectArea


class Hooks:
    """Keep, hold and release, and the reason why something is gone.

    Args:
        context: The workspace.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    async def keep(self, artifact: Artifact, name: str, **options: Any) -> Artifact:
        """Copy the artifact to a named one and give its handle."""
        from kmnb.ops.saving import keep_artifact

        return await keep_artifact(self._context, artifact, address_of(self._context, name), **options)

    async def hold(self, artifact: Artifact, reason: str, *, seconds: float | None = None) -> Hold:
        """Delay the artifact's collection."""
        area, info = await artifact.locate()
        return await hold_artifact(self._context, area, info, reason=reason, seconds=seconds)

    async def release(self, artifact: Artifact) -> None:
        """Take the hold back."""
        await release_hold(self._context, artifact.key)

    async def elsewhere(self, artifact: Artifact) -> tuple[ObjectArea, ObjectInfo]:
        """Find the held copy of an artifact that is gone; raises ArtifactNotFound with the reason."""
        held = await find_copy(self._context, artifact.key)
        if held is not None:
            return held
        raise await missing_error(
            self._context, artifact.key, created_at=artifact.created_at, expires_at=artifact.expires_at
        )
