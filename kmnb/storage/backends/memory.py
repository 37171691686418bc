"""Stores in memory: ``memory://`` is private to the caller, ``memory://NAME`` shared within the process."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Any

from kmnb.core.metadata import Capability
from kmnb.storage._obstore import Bucket
from kmnb.storage._urls import split_url, take_options
from kmnb.storage.backends._bucket import BucketBackend

_ODD = re.compile(r"[:@%]")
# Signs of a user, a password or a port, which a name in memory has not; it is shown.
METADATA_BYTES = 2_000
"""Longest metadata of one object, as on S3, so that larger ones take the same road in all buckets."""

_lock = threading.Lock()
_shared: dict[str, Any] = {}


class _Plugin:
    schemes = ("memory",)
    summary = "this process's memory; gone with it, seen by nobody else"

    async def open(self, url: str, options: Mapping[str, Any]) -> BucketBackend:
        """Open a store in memory.

        Args:
            url: ``memory://`` for a new private one, ``memory://NAME`` for one that the process shares.
            options: None are known.

        Raises:
            BadRequest: A name with ``:``, ``@`` or ``%``.
        """
        from obstore.store import MemoryStore

        parts = split_url(url)
        take_options(parts, options, {})
        if _ODD.search(parts.host + parts.path):
            raise parts.refused("no store in memory can have that name", "Write memory:// or memory://NAME")
        name = "/".join(filter(None, (parts.host, parts.path)))
        with _lock:
            store = _shared.setdefault(name, MemoryStore()) if name else MemoryStore()
        bucket = Bucket(store, f"memory://{name}", is_memory=True)
        return BucketBackend(bucket, "", metadata_bytes=METADATA_BYTES, capabilities=frozenset({Capability.RANGE}))


BACKEND = _Plugin()
