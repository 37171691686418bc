"""Stores as seen by a second process."""

from __future__ import annotations

import asyncio
from typing import Any

from kmnb._connect import connect_async
from kmnb.core.metadata import Capability
from kmnb.errors import NotSupported


def check_shared(workspace: Any) -> None:
    """Refuse a store that lives inside another process: it would look empty.

    Raises:
        NotSupported: The store cannot be seen by a second process.
    """
    if Capability.CROSS_PROCESS not in workspace.context.backend.capabilities:
        raise NotSupported(
            workspace.url,
            "a memory store lives inside the process that made it and cannot be seen from outside",
            "Share artifacts through a file:///, nats:// or nats+embedded:/// store.",
        )


def connect_still(url: str | None, **options: Any) -> Any:
    """Open a workspace that does not sweep by itself, for a command whose report is to be of its own doing."""
    return asyncio.run(connect_async(url, sweep_on_connect=False, **options))
