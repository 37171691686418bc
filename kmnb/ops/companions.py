"""Companions as views: ``report.csv.metadata.json`` is made of the version's own record, so it cannot fall behind."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from kmnb.core.addresses import NamedAddress
from kmnb.core.companion import SUFFIX, companion_of
from kmnb.core.metadata import Area, Attribute, ObjectInfo
from kmnb.errors import BadRequest, DigestMismatch
from kmnb.ops.context import Context
from kmnb.ops.handle import Artifact
from kmnb.ops.handles import address_of_handle
from kmnb.ops.named import load_version
from kmnb.storage._protocols import ObjectArea


def base_of(address: NamedAddress) -> NamedAddress | None:
    """Address of the artifact that a companion's name belongs to; None for another name."""
    if not address.filename.endswith(SUFFIX) or address.filename == SUFFIX:
        return None
    return replace(address, filename=address.filename.removesuffix(SUFFIX))


async def metadata_of(artifact: Artifact) -> dict[str, Any]:
    """Read the companion document of a version of a named artifact; its bytes are not read.

    Raises:
        ArtifactNotFound: It is no longer there.
    """
    address = address_of_handle(artifact)
    _, info = await artifact.locate()
    filename = artifact.key if address is None else address.name
    return companion_of(info, filename=filename, version=artifact.version or 0)


async def load_companion(context: Context, address: NamedAddress, version: int | None = None) -> Artifact:
    """Get a handle of a companion; it has the version of its artifact.

    Args:
        context: The workspace.
        address: The artifact itself, not the companion.
        version: Which one; None for the latest.
    """
    artifact = await load_version(context, address, version)
    number = artifact.version or 0
    view = _View(context.backend.named, address, number)
    info = await view.head(address.version_key(number))
    uri = replace(address, filename=address.filename + SUFFIX).uri(number)
    return Artifact(
        context,
        key=info.key,
        area=Area.NAMED,
        info=info,
        uri=uri,
        version=number,
        hooks=context.live.hooks,
        store=view,
    )


class _View:
    """One document, made of the record of one version whenever it is read."""

    def __init__(self, named: ObjectArea, address: NamedAddress, version: int) -> None:
        self._named, self._address, self._version = named, address, version

    async def _document(self) -> tuple[bytes, ObjectInfo]:
        info = await self._named.head(self._address.version_key(self._version))
        document = companion_of(info, filename=self._address.name, version=self._version)
        return json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "replace"), info

    async def head(self, key: str) -> ObjectInfo:
        """Tell size and digest of the document."""
        document, info = await self._document()
        digest = "sha256:" + hashlib.sha256(document).hexdigest()
        told: dict[str, str] = {Attribute.CONTENT_TYPE: "application/json"}
        return ObjectInfo(key + SUFFIX, len(document), digest, info.created_at, digest, told)

    async def get_range(self, key: str, start: int, end: int, *, info: ObjectInfo | None = None) -> bytes:
        """Read some bytes of the document."""
        document, _ = await self._document()
        if info is not None and info.size != len(document):
            raise DigestMismatch(f"artifact {key!a:.1000}", "its metadata changed")
        return document[start:end]

    async def stream(self, key: str, *, info: ObjectInfo | None = None) -> AsyncIterator[bytes]:
        """Read all of the document."""
        yield (await self._document())[0]

    async def put(self, key: str, source: Any, **options: Any) -> ObjectInfo:
        """Refused: a companion is a view."""
        raise BadRequest(f"artifact {key!a:.1000}", "is a view", "Save the artifact with other metadata.")

    def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        """Refused: companions are not listed."""
        raise BadRequest("companions", "are not listed")

    async def delete(self, key: str) -> None:
        """Refused: a companion goes with its artifact."""
        raise BadRequest(f"artifact {key!a:.1000}", "is a view", "It goes with its artifact.")
