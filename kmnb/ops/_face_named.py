"""The part of a workspace for named artifacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kmnb._bridge import blocking, bridged
from kmnb.core.addresses import NamedAddress
from kmnb.ops import companions, named, pins
from kmnb.ops.context import Context
from kmnb.ops.handle import Artifact

if TYPE_CHECKING:
    from kmnb.core.diff import Diff
    from kmnb.core.report import Report


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
        source: str | None = None,
        tags: Sequence[str] | None = None,
        expected_version: int | None = None,
    ) -> Artifact:
        """Store the next version of a name.

        Args:
            name: File name; ``user:`` before it opts into user scope.
            data: Text, bytes, a JSON value, a table, a path, a file, or an iterator of bytes or text.
            media_type: MIME type.
            metadata: Custom metadata, a JSON object; what the store knows itself cannot be overwritten by it.
            source: Where the data comes from.
            tags: Words to find it by.
            expected_version: Version that must be the latest; None for any.

        Returns:
            A handle of the new version.

        Raises:
            KeySyntaxError: The name leaves its place.
            VersionConflict: Another version than the expected one is the latest.
            StoreError: It could not be stored.
        """
        address = self._address(name)
        words = list(tags) if tags is not None else None
        from kmnb.ops import saving

        told = saving.told_of(address, metadata, source=source, tags=words)
        return await saving.save_version(
            self.context, address, data, media_type=media_type, told=told, expected_version=expected_version
        )

    async def _load(self, name: str, *, version: int | None = None) -> Artifact:
        """Get a handle of a version; the bytes are not read.

        Args:
            name: File name; ``report.csv@3``, ``report.csv@latest`` and ``report.csv@label`` pin a version, and
                ``report.csv.metadata.json`` is the companion that tells everything but the bytes.
            version: Which one; None for what the name says, else the latest.

        Raises:
            ArtifactNotFound: No such name, version or label.
        """
        return await pins.load_pinned(self.context, name, version)

    async def _versions(self, name: str) -> list[int]:
        """List the versions of a name, ascending; empty for an unknown name.

        Args:
            name: File name; a companion has the versions of its artifact.
        """
        address = self._address(name)
        found = await named.list_versions(self.context, address)
        base = companions.base_of(address)
        return found if found or base is None else await named.list_versions(self.context, base)

    async def _metadata(self, name: str, *, version: int | None = None) -> dict[str, Any]:
        """Tell everything about a version but its bytes: size, type, time, digest, schema, and custom metadata.

        Args:
            name: File name.
            version: Which one; None for the latest.

        Raises:
            ArtifactNotFound: No such name or version.
        """
        return await companions.metadata_of(await pins.load_pinned(self.context, name, version))

    async def _label(self, name: str, label: str, *, version: int | None = None) -> int:
        """Put a label at a version, wherever it stood before; ``load("name@label")`` finds it.

        Args:
            name: File name.
            label: The label; not a number, not ``latest``.
            version: Where to; None for the latest.

        Returns:
            The version where it stands now.

        Raises:
            ArtifactNotFound: No such version.
        """
        return await pins.move_label(self.context, self._address(name), label, version=version)

    async def _unlabel(self, name: str, label: str) -> None:
        """Take a label away; silent when there is none.

        Args:
            name: File name.
            label: The label.
        """
        await pins.drop_label(self.context, self._address(name), label)

    async def _labels(self, name: str) -> dict[str, int]:
        """Tell the labels of a name and the versions they stand at.

        Args:
            name: File name.
        """
        return await pins.labels_of(self.context, self._address(name))

    async def _restore(self, name: str, version: int) -> Artifact:
        """Make an old version the latest again: a new version with its bytes and metadata.

        Args:
            name: File name.
            version: The old one.

        Raises:
            ArtifactNotFound: No such version.
        """
        address = self._address(name)
        old = await named.load_version(self.context, address, version)
        from kmnb.ops import saving

        return await saving.keep_artifact(self.context, old, address, metadata={"restored_from": version})

    async def _copy(self, name: str, new_name: str, *, version: int | None = None) -> Artifact:
        """Copy a version to the next version of another name, with its metadata.

        Args:
            name: File name.
            new_name: The other name.
            version: Which one; None for the latest.

        Raises:
            ArtifactNotFound: No such name or version.
        """
        old = await pins.load_pinned(self.context, name, version)
        from kmnb.ops import saving

        return await saving.keep_artifact(self.context, old, self._address(new_name))

    async def _diff(self, name: str, old: int, new: int | None = None) -> Diff:
        """Compare two versions by what they hold: rows and columns, JSON paths, or lines.

        Args:
            name: File name.
            old: The one version.
            new: The other; None for the latest.

        Raises:
            ArtifactNotFound: No such version.
            BoundExceeded: A version is larger than 16 MiB.
        """
        address = self._address(name)
        one, other = [await named.load_version(self.context, address, version) for version in (old, new)]
        from kmnb.ops.compare import compare

        return await compare(one, other)

    async def _append(self, name: str, chunk: Any, *, whole: bool = True) -> Artifact:
        """Store a version that holds the previous bytes plus a chunk; version 0 on a missing name.

        Args:
            name: File name.
            chunk: What is added.
            whole: Whether the previous bytes come first; otherwise the version is the chunk alone.

        Raises:
            StoreError: It could not be stored.
        """
        from kmnb.ops import saving

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

        Raises:
            BadRequest: The name pins one version.
        """
        return await pins.remove_whole(self.context, self._address(name))

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
        from kmnb.core.policy import Policy
        from kmnb.ops.retain import retain

        policy = Policy(keep_last, max_age_seconds, quota_bytes)
        return await retain(self.context, policy, dry_run=dry_run)

    retain, retain_async = blocking(_retain), bridged(_retain)
    metadata, metadata_async = blocking(_metadata), bridged(_metadata)
    label, label_async = blocking(_label), bridged(_label)
    unlabel, unlabel_async = blocking(_unlabel), bridged(_unlabel)
    labels, labels_async = blocking(_labels), bridged(_labels)
    restore, restore_async = blocking(_restore), bridged(_restore)
    copy, copy_async = blocking(_copy), bridged(_copy)
    diff, diff_async = blocking(_diff), bridged(_diff)
    save, save_async = blocking(_save), bridged(_save)
    load, load_async = blocking(_load), bridged(_load)
    versions, versions_async = blocking(_versions), bridged(_versions)
    append, append_async = blocking(_append), bridged(_append)
    filenames, filenames_async = blocking(_filenames), bridged(_filenames)
    remove, remove_async = blocking(_remove), bridged(_remove)
