"""Workspaces at another time than the world's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

from kmnb import _bridge


def end_background(workspace: Any) -> None:
    """End what a workspace does by itself: a round of it renews leases and may sweep, at any moment of a test."""

    async def end() -> None:
        tasks = list(workspace.context.live.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    _bridge.run(end())


def set_clock(workspace: Any, clock: Callable[[], datetime]) -> None:
    """Give an open workspace another clock; nothing runs in its background any more."""
    end_background(workspace)
    object.__setattr__(workspace.context, "clock", clock)
