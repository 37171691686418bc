"""Object buckets: the stream behind one, with what kmnb asks of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb.errors import ArtifactNotFound, NotSupported
from kmnb.storage.backends._nats_layout import CHUNK_BYTES, stream_name
from kmnb.storage.backends._nats_link import Link
from kmnb.storage.backends._nats_stream import SECOND, Stream, ensure_stream, find_stream

HEADER_BYTES = 512
"""Room that the headers of a chunk may need."""


class Bucket(Stream):
    """The stream of an object bucket."""

    def __init__(self, link: Link, name: str, config: Mapping[str, Any]) -> None:
        super().__init__(link, config)
        self.name = name
        subjects = {f"$O.{name}.C.>", f"$O.{name}.M.>"}
        if not subjects <= set(config.get("subjects") or ()):
            raise NotSupported(f"bucket {name}", "its stream is no object store", "Name another bucket in the URL")

    @property
    def chunk_bytes(self) -> int:
        """Size of the chunks to write: the usual one, or what the server and the bucket take."""
        limits = (self.link.max_payload, int(self.config.get("max_msg_size") or 0))
        return min(CHUNK_BYTES, *(max(1, limit - HEADER_BYTES) for limit in limits if limit > 0))

    @classmethod
    async def open(cls, link: Link, name: str, *, ttl_seconds: int | None) -> Bucket:
        """Use a bucket as it is, or make it.

        Args:
            link: The connection.
            name: The bucket.
            ttl_seconds: Age at which objects of a new bucket expire; None for never.

        Raises:
            NotSupported: There is a stream of that name that is no object store.
        """
        config = {
            "name": stream_name(name),
            "subjects": [f"$O.{name}.C.>", f"$O.{name}.M.>"],
            "storage": "file",
            "retention": "limits",
            "discard": "new",
            "max_age": (ttl_seconds or 0) * SECOND,
            "num_replicas": link.address.replicas,
            "allow_rollup_hdrs": True,
            "allow_direct": True,
        }
        return cls(link, name, await ensure_stream(link, config))

    @classmethod
    async def find(cls, link: Link, name: str) -> Bucket:
        """Use a bucket that must be there.

        Raises:
            ArtifactNotFound: There is none.
        """
        config = await find_stream(link, stream_name(name))
        if config is None:
            raise ArtifactNotFound(f"bucket {name}", "there is none")
        return cls(link, name, config)

    async def set_ttl(self, seconds: float) -> None:
        """Have objects expire at an age in seconds, the present ones too.

        Raises:
            StoreDenied: These credentials may not.
        """
        thing = f"bucket {self.name}"
        present = (await self.api("STREAM.INFO", thing=thing))["config"]
        age = int(seconds * SECOND)
        # The server refuses to remember identities of messages for longer than the messages.
        window = min(int(present.get("duplicate_window") or age), age)
        wanted = {**present, "max_age": age, "duplicate_window": window}
        self.config = (await self.api("STREAM.UPDATE", wanted, thing=thing))["config"]
