"""The workspace's use cases that a handle offers as methods."""

from __future__ import annotations

from typing import Any

from kmnb.errors import ArtifactNotFound
from kmnb.ops.context import Context
from kmnb.ops.expiry import missing_error
from kmnb.ops.handle import Artifact
from kmnb.ops.named import address_of, keep_artifact


class Hooks:
    """Keep, hold and release, and the reason why something is gone.

    Args:
        context: The workspace.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    async def keep(self, artifact: Artifact, name: str, **options: Any) -> Artifact:
        """Copy the artifact to a named one and give its handle."""
        return await keep_artifact(self._context, artifact, address_of(self._context, name), **options)

    async def missing(self, artifact: Artifact) -> ArtifactNotFound:
        """Make the error that says why an artifact is not there."""
        return await missing_error(
            self._context, artifact.key, created_at=artifact.created_at, expires_at=artifact.expires_at
        )
