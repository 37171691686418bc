"""A store of kmnb as the artifact service of Google's Agent Development Kit; needs ``kmnb[adk]``.

::

    from kmnb.integrations.adk import ArtifactService
    runner = Runner(agent=agent, artifact_service=ArtifactService("s3://bucket/artifacts"), …)
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import kmnb
from kmnb._bridge import bridge
from kmnb.core.addresses import NamedAddress
from kmnb.core.companion import read_custom
from kmnb.errors import ArtifactNotFound, BadRequest
from kmnb.integrations._adk_checks import (
    HOPS_MAX,
    Scope,
    address_of,
    check_scope,
    invalid,
    is_reference,
    missing,
    references_of,
)
from kmnb.integrations._adk_parts import ATTRIBUTE, Packed, assemble, pack, unpack
from kmnb.ops import named, pins, saving
from kmnb.ops.handle import Artifact
from kmnb.ops.handles import address_of_handle
from kmnb.ops.workspace import Workspace

if TYPE_CHECKING:
    from google.adk.artifacts import BaseArtifactService as _Service
    from google.adk.artifacts.base_artifact_service import ArtifactVersion
    from google.genai.types import Part
else:
    _Service = object

__all__ = ["SCHEMES", "ArtifactService", "register"]

SCHEMES = tuple(f"kmnb+{kind}" for kind in ("memory", "file", "nats", "s3", "gs", "az"))
"""Schemes that :func:`register` makes known to the kit."""
_HEADS_MAX = 16


class ArtifactService(_Service):  # type: ignore[misc]  # the kit is not followed by the type checker
    """Versioned artifacts of agents on any store of kmnb, with the kit's interface from 1.17 on.

    Versions start at 0 and are immutable; a number is never given out twice, also not after a deletion. What is
    saved here is what ``ws.load`` finds, and the other way round.

    Args:
        store: Address of a store, an open workspace, or None for the default store.
        namespace: What takes the place of the application's name, so that applications share; None keeps them apart.
        options: Further arguments of :func:`kmnb.connect`.

    Raises:
        NotSupported: google-adk is not installed.
        StoreUnavailable: The store does not answer.
    """

    def __init__(self, store: str | Workspace | None = None, *, namespace: str | None = None, **options: Any) -> None:
        try:
            from google.adk.artifacts import BaseArtifactService
        except ImportError as error:
            raise missing() from error
        BaseArtifactService.register(type(self))
        self.workspace = store if isinstance(store, Workspace) else kmnb.connect(store, **options)
        """The workspace behind the service; close it when the service is no longer used."""
        self._app = namespace

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: Part | dict[str, Any],
        session_id: str | None = None,
        custom_metadata: dict[str, Any] | None = None,
    ) -> int:
        """Store the next version of a name; returns its number.

        Args:
            app_name: Application.
            user_id: End user.
            filename: Name; ``user:`` before it means user scope.
            artifact: A part with inline data, text or a file's URI, or a dict that can be made one.
            session_id: Conversation; needed without ``user:``.
            custom_metadata: A JSON object kept with the version.

        Raises:
            InputValidationError: A name, a part or metadata that cannot be meant.
            StoreError: It could not be stored.
        """
        scope = Scope(app_name, user_id, session_id)
        address = address_of(scope, filename, app=self._app, is_new=True)
        data, media_type, packed = pack(artifact, scope)
        try:
            told = {**saving.told_of(address, custom_metadata), ATTRIBUTE: packed.to_text()}
            saved = await bridge(
                saving.save_version(self.workspace.context, address, data, media_type=media_type, told=told)
            )
        except BadRequest as error:
            invalid(str(error))
        return saved.version or 0

    async def load_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None, version: int | None = None
    ) -> Part | None:
        """Load a part; references are followed, at most five. None where there is none.

        Args:
            app_name: Application.
            user_id: End user.
            filename: Name; ``r.csv@3``, ``r.csv@latest`` and ``r.csv@label`` pin a version.
            session_id: Conversation.
            version: Which one; None for the latest.

        Raises:
            InputValidationError: A name that cannot be meant, or a reference that leaves its scope or has no end.
        """
        scope = Scope(app_name, user_id, session_id)
        found = await self._find(scope, filename, version)
        for hop in range(HOPS_MAX + 1):
            if found is None:
                return None
            packed = await self._facts(found)
            uri = packed.uri
            if uri is None or not is_reference(uri):
                return await self._part(found, packed)
            if hop == HOPS_MAX:
                invalid(f"Exceeded maximum recursion depth resolving artifact reference: {uri}")
            found, scope = await self._follow(uri, scope)
        return None

    async def _follow(self, uri: str, scope: Scope) -> tuple[Artifact | None, Scope]:
        for reference in references_of(uri, scope):
            found = await self._find(reference.scope, reference.filename, reference.version)
            if found is not None:
                return found, reference.scope
        return None, scope

    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str | None = None) -> list[str]:
        """List the names of a session and of its user, sorted; without a session those of the user.

        Args:
            app_name: Application.
            user_id: End user.
            session_id: Conversation.
        """
        check_scope(Scope(app_name, user_id, session_id))
        app = self._app or app_name
        return await bridge(named.list_names(self.workspace.context, app=app, user=user_id, session=session_id))

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Delete every version of a name; silent when there is none. Their numbers are not given out again.

        Args:
            app_name: Application.
            user_id: End user.
            filename: Name.
            session_id: Conversation.
        """
        address = address_of(Scope(app_name, user_id, session_id), filename, app=self._app)
        try:
            if await bridge(named.list_versions(self.workspace.context, address)):
                await bridge(named.remove_address(self.workspace.context, address))
            else:
                await bridge(pins.refuse_pin(self.workspace.context, address))
        except BadRequest as error:
            invalid(str(error))

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """List the versions of a name, ascending.

        Args:
            app_name: Application.
            user_id: End user.
            filename: Name.
            session_id: Conversation.
        """
        address = address_of(Scope(app_name, user_id, session_id), filename, app=self._app)
        return await bridge(named.list_versions(self.workspace.context, address))

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        """Tell the facts of every version of a name, ascending; no bytes are read.

        Args:
            app_name: Application.
            user_id: End user.
            filename: Name.
            session_id: Conversation.
        """
        scope = Scope(app_name, user_id, session_id)
        numbers = await self.list_versions(app_name=app_name, user_id=user_id, filename=filename, session_id=session_id)
        gate = asyncio.Semaphore(_HEADS_MAX)

        async def look(number: int) -> ArtifactVersion | None:
            async with gate:
                return await self._version(scope, filename, number)

        told = await asyncio.gather(*map(look, numbers))
        return [version for version in told if version is not None]

    async def get_artifact_version(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None, version: int | None = None
    ) -> ArtifactVersion | None:
        """Tell the facts of a version; no bytes are read. None where there is none.

        Args:
            app_name: Application.
            user_id: End user.
            filename: Name.
            session_id: Conversation.
            version: Which one; None for the latest.
        """
        return await self._version(Scope(app_name, user_id, session_id), filename, version)

    async def _find(self, scope: Scope, filename: str, version: int | None) -> Artifact | None:
        address = address_of(scope, filename, app=self._app)
        try:
            return await bridge(pins.load_address(self.workspace.context, address, version))
        except ArtifactNotFound:
            return None
        except BadRequest as error:
            invalid(str(error))

    async def _facts(self, found: Artifact) -> Packed:
        _, info = await bridge(found.locate())
        return unpack(info.attributes)

    async def _part(self, found: Artifact, packed: Packed) -> Part | None:
        # The kit's interface wants the whole payload at once.
        try:
            return assemble(packed, b"".join([block async for block in found.stream_async()]))
        except ArtifactNotFound:
            return None

    async def _version(self, scope: Scope, filename: str, version: int | None) -> ArtifactVersion | None:
        from google.adk.artifacts.base_artifact_service import ArtifactVersion

        found = await self._find(scope, filename, version)
        if found is None:
            return None
        _, info = await bridge(found.locate())
        packed, number = unpack(info.attributes), found.version or 0
        made = packed.create_time or (info.created_at.timestamp() if info.created_at else 0.0)
        return ArtifactVersion(
            version=number,
            canonical_uri=self._uri(address_of_handle(found) or address_of(scope, filename, app=self._app), number),
            custom_metadata=read_custom(info),
            create_time=made,
            mime_type=packed.mime_type,
        )

    def _uri(self, address: NamedAddress, version: int) -> str:
        """The kit's own spelling for a store in memory, else a URI that every workspace of the store opens."""
        if not self.workspace.url.startswith("memory:"):
            return address.uri(version)
        session = f"/sessions/{address.session}" if address.session is not None else ""
        return f"memory://apps/{address.app}/users/{address.user}{session}/artifacts/{address.name}/versions/{version}"


def register() -> None:
    """Make the kit's command line know ``--artifact_service_uri kmnb+file:///path`` and the other :data:`SCHEMES`.

    Call it in the ``services.py`` of the folder of agents.

    Raises:
        NotSupported: google-adk is not installed, or too old to know own schemes.
    """
    try:
        from google.adk.cli.service_registry import get_service_registry
    except ImportError as error:
        raise missing() from error

    def make(uri: str, **_: Any) -> ArtifactService:
        return ArtifactService(uri.removeprefix("kmnb+"))

    for scheme in SCHEMES:
        get_service_registry().register_artifact_service(scheme, make)
