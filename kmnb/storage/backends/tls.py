"""NATS JetStream over TLS: ``tls://host`` is ``nats://host`` that accepts no connection without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb.storage.backends import nats


class _Plugin:
    schemes: tuple[str, ...] = ("tls",)
    summary = "NATS JetStream over TLS, required"

    async def open(self, url: str, options: Mapping[str, Any]) -> nats.NatsBackend:
        """Open a store; see the protocol."""
        return await nats.BACKEND.open(url, {**options, "tls_required": True})


BACKEND = _Plugin()
