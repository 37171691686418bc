"""Stores in memory: ``memory://`` is private to the caller, ``memory://NAME`` shared within the process."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from kmnb.core.metadata import Capability
from kmnb.storage._obstore import ObstoreBackend
from kmnb.storage._urls import split_url, take_options

_lock = threading.Lock()
_shared: dict[str, Any] = {}


class _Plugin:
    schemes = ("memory",)
    summary = "this process's memory; gone with it, seen by nobody else"

    async def open(self, url: str, options: Mapping[str, Any]) -> ObstoreBackend:
        """Open a store in memory.

        Args:
            url: ``memory://`` for a new private one, ``memory://NAME`` for one that the process shares.
            options: None are known.
        """
        from obstore.store import MemoryStore

        parts = split_url(url)
        take_options(parts, options, {})
        name = "/".join(filter(None, (parts.host, parts.path)))
        with _lock:
            store = _shared.setdefault(name, MemoryStore()) if name else MemoryStore()
        return ObstoreBackend(store, f"memory://{name}", prefix="", capabilities=frozenset({Capability.RANGE}))


BACKEND = _Plugin()
