"""Make handles of what the store or a reference told."""

from __future__ import annotations

from kmnb.core.addresses import NamedAddress, parse_uri
from kmnb.core.envelope import Envelope
from kmnb.core.metadata import Area, ObjectInfo
from kmnb.ops.context import Context
from kmnb.ops.handle import Artifact


def discussion_handle(context: Context, info: ObjectInfo) -> Artifact:
    """Handle of a discussion artifact that the store told of."""
    return Artifact(context, key=info.key, info=info, hooks=context.live.hooks, ttl_seconds=context.ttl_seconds)


def envelope_handle(context: Context, envelope: Envelope) -> Artifact:
    """Handle of what an envelope tells; nothing was asked."""
    return Artifact(
        context,
        key=envelope.key,
        envelope=envelope,
        hooks=context.live.hooks,
        ttl_seconds=context.ttl_seconds,
    )


def named_handle(context: Context, info: ObjectInfo, *, address: NamedAddress, version: int) -> Artifact:
    """Handle of one version of a named artifact."""
    return Artifact(
        context,
        key=info.key,
        area=Area.NAMED,
        info=info,
        uri=address.uri(version),
        version=version,
        hooks=context.live.hooks,
    )


def address_of_handle(artifact: Artifact) -> NamedAddress | None:
    """Address of a named artifact; None for a discussion artifact."""
    return parse_uri(artifact.uri).address
