"""Get, list and delete artifacts by whatever names them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

from kmnb.core.addresses import SCHEME, discussion_uri, parse_uri
from kmnb.core.envelope import Envelope
from kmnb.core.events import DELETED
from kmnb.core.keys import check_key, check_prefix, thread_prefix
from kmnb.core.references import has_marker, read_reference
from kmnb.errors import ArtifactNotFound, BadRequest
from kmnb.ops.context import Context
from kmnb.ops.events import tell
from kmnb.ops.expiry import missing_error
from kmnb.ops.handle import Artifact
from kmnb.ops.handles import address_of_handle, discussion_handle, envelope_handle
from kmnb.ops.holds import find_copy
from kmnb.ops.named import remove_version
from kmnb.ops.pins import load_address, remove_target
from kmnb.ops.threads import follow_thread


async def get_artifact(context: Context, reference: Any) -> Artifact:
    """Get a handle of what a reference names.

    Args:
        context: The workspace.
        reference: A key or an ``artifact://`` URI, which cost one ``head``; an envelope as dict, JSON or marker
            text, or a handle, which cost no call.

    Raises:
        ArtifactNotFound: The key or URI names nothing; the reason says what is known.
        EnvelopeError: It is no reference.
        KeySyntaxError: It names a key that no object can have.
    """
    if isinstance(reference, Artifact):
        return reference
    if isinstance(reference, str) and reference.startswith(SCHEME):
        return await _get_uri(context, reference)
    if isinstance(reference, Mapping | Envelope | bytes) or (isinstance(reference, str) and _is_envelope(reference)):
        return envelope_handle(context, read_reference(reference))
    if isinstance(reference, str):
        return await _get_key(context, reference)
    raise BadRequest(
        f"reference of type {type(reference).__name__}",
        "names no artifact",
        "Give a key, an artifact:// URI, an envelope or a handle.",
    )


def _is_envelope(text: str) -> bool:
    return text.lstrip()[:1] == "{" or has_marker(text)


async def _get_uri(context: Context, uri: str) -> Artifact:
    target = parse_uri(uri)
    if target.key is not None:
        return await _get_key(context, target.key)
    if target.address is None:
        raise BadRequest(uri, "names no artifact")
    return await load_address(context, target.address, target.version)


async def _get_key(context: Context, key: str) -> Artifact:
    try:
        info = await context.backend.discussions.head(check_key(key))
    except ArtifactNotFound as error:
        held = await find_copy(context, key)
        if held is None:
            raise await missing_error(context, key) from error
        # Without its identity the handle asks again, and finds the copy.
        info = replace(held[1], identity=None)
    follow_thread(context, key)
    return discussion_handle(context, info)


async def list_artifacts(context: Context, prefix: str = "") -> AsyncIterator[Artifact]:
    """Walk handles of discussion artifacts, sorted by key.

    Args:
        context: The workspace.
        prefix: Whole segments from the area's top, trailing slash optional; empty for the workspace's own thread.
    """
    names = context.names
    own = thread_prefix(names.namespace, names.crew, names.thread)
    async for info in context.backend.discussions.list(check_prefix(prefix) or own):
        yield discussion_handle(context, info)


async def delete_artifact(context: Context, reference: Any) -> None:
    """Delete what a reference names; silent when it is not there.

    Args:
        context: The workspace.
        reference: A key, a URI, an envelope or a handle. A named one without a version or
            a pin means every version.

    Raises:
        EnvelopeError: It is no reference.
    """
    if isinstance(reference, str) and reference.startswith(SCHEME):
        target = parse_uri(reference)
        if target.address is not None:
            await remove_target(context, target.address, target.version)
        else:
            await _delete_key(context, target.key or "")
        return
    if isinstance(reference, Artifact) and (address := address_of_handle(reference)) is not None:
        if reference.version is not None:
            await remove_version(context, address, reference.version)
        return
    await _delete_key(context, _key_of(reference))


async def _delete_key(context: Context, key: str) -> None:
    await context.backend.discussions.delete(check_key(key))
    await tell(context, DELETED, key, uri=discussion_uri(key))


def _key_of(reference: Any) -> str:
    if isinstance(reference, Artifact):
        return reference.key
    if isinstance(reference, str) and not _is_envelope(reference):
        return reference
    return read_reference(reference).key
