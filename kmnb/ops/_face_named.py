"""The part of a workspace for named artifacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb._bridge import blocking, bridged
from kmnb.core.addresses import NamedAddress
from kmnb.core.policy import Policy
from kmnb.core.report import Report
from kmnb.ops import named, saving
from kmnb.ops.context import Context
from kmnb.ops.handle import Artifact
from kmnb.ops.retain import retain


class NamedFace:
    """Save, load, versions, append, filenames and remove."""

    context: Context

    def _address(self, name: str) -> NamedAddress:
        return named.address_of(self.context, name)

    async def _save(
        self,
        name: str,
        data: Any,
        *,
        media_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
    ) -> Artifact:
        """Store the next version of a name.

        Args:
            name: File name; ``user:`` before it opts into user scope.
            data: Text, bytes, a JSON value, a path, a file, or an iterator of bytes or text.
            media_type: MIME type.
            metadata: Custom metadata, a JSON object.
            expected_version: Version that must be the latest; None for any.

        Returns:
            A handle of the new version.

        Raises:
            KeySyntaxError: The name leaves its place.
            VersionConflict: Another version than the expected one is the latest.
            StoreError: It could not be stored.
        """
        return await saving.save_version(
            self.context,
            self._address(name),
            data,
            media_type=media_type,
            metadata=metadata,
            expected_version=expected_version,
        )

    async def _load(self, name: str, *, version: int | None = None) -> Artifact:
        """Get a handle of a version; the bytes are not read.

        Args:
            name: File name.
            version: Which one; None for the latest.

        Raises:
            ArtifactNotFound: No such name or version.
        """
        return await named.load_version(self.context, self._address(name), version)

    async def _versions(self, name: str) -> list[int]:
        """List the versions of a name, ascending; empty for an unknown name.

        Args:
            name: File name.
        """
        return await named.list_versions(self.context, self._address(name))

    async def _append(self, name: str, chunk: Any, *, whole: bool = True) -> Artifact:
        """Store a version that holds the previous bytes plus a chunk; version 0 on a missing name.

        Args:
            name: File name.
            chunk: What is added.
            whole: Whether the previous bytes come first; otherwise the version is the chunk alone.

        Raises:
            StoreError: It could not be stored.
        """
        return await saving.append_version(self.context, self._address(name), chunk, whole=whole)

    async def _filenames(self) -> list[str]:
        """List the names of this session and of this user, sorted; those of the user begin with ``user:``."""
        return await named.list_filenames(self.context)

    async def _remove(self, name: str) -> int:
        """Remove every version of a name; their numbers are not given out again.

        Args:
            name: File name.

        Returns:
            How many versions were removed.
        """
        return await named.remove_address(self.context, self._address(name))

    async def _retain(
        self,
        *,
        keep_last: int | None = None,
        max_age_seconds: float | None = None,
        quota_bytes: int | None = None,
        dry_run: bool = True,
    ) -> Report:
        """Apply a retention policy to the named artifacts of this session and this user.

        Without a policy nothing named is ever removed. The latest version of a name, labelled and held versions stay.

        Args:
            keep_last: How many versions of each name stay.
            max_age_seconds: Age above which a version goes.
            quota_bytes: Bytes that all versions together may take; the oldest go first.
            dry_run: Whether only to tell what would go, which is the default.

        Returns:
            A verdict with a reason for each version.

        Raises:
            BadRequest: No rule, or one that cannot be meant.
        """
        policy = Policy(keep_last, max_age_seconds, quota_bytes)
        return await retain(self.context, policy, dry_run=dry_run)

    retain, retain_async = blocking(_retain), bridged(_retain)
    save, save_async = blocking(_save), bridged(_save)
    load, load_async = blocking(_load), bridged(_load)
    versions, versions_async = blocking(_versions), bridged(_versions)
    append, append_async = blocking(_append), bridged(_append)
    filenames, filenames_async = blocking(_filenames), bridged(_filenames)
    remove, remove_async = blocking(_remove), bridged(_remove)
