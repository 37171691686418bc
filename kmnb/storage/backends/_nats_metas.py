"""Meta messages as they are found: an object's, or one that is not to be believed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kmnb.errors import DigestMismatch, StoreError
from kmnb.storage.backends._nats_layout import Meta, meta_subject, read_meta
from kmnb.storage.backends._nats_stream import Stored


@dataclass(frozen=True, slots=True)
class Broken:
    """A meta message that describes no object of its subject. What it says of chunks is not believed either."""

    sequence: int
    """Place of the message in the stream."""
    stored_at: datetime | None
    """When it was stored."""
    kind: type[StoreError]
    """What readers get."""
    reason: str
    """What is wrong with it."""

    def error(self, key: str) -> StoreError:
        """Give what readers get."""
        return self.kind(f"artifact {key!r}", self.reason, "Put it again, or delete it; both spare what it may name")


def understand(bucket: str, stored: Stored) -> Meta | Broken:
    """Read a meta message.

    A document that was copied under another subject still names the first object and its chunks: read, it would give
    bytes of that one, and deleted, it would take them away.

    Args:
        bucket: Bucket that holds it.
        stored: The message.
    """
    try:
        meta = read_meta(bucket, stored.data, sequence=stored.sequence, stored_at=stored.stored_at)
    except StoreError as error:
        return Broken(stored.sequence, stored.stored_at, StoreError, error.reason)
    if not meta.deleted and meta_subject(bucket, meta.name) != stored.subject:
        reason = f"its meta document is that of {meta.name!a:.1000}, put here by hand"
        return Broken(stored.sequence, stored.stored_at, DigestMismatch, reason)
    if not (meta.deleted or meta.link is not None or _adds_up(meta)):
        reason = f"its meta document speaks of {meta.size} bytes in {meta.chunks} chunks, which cannot be"
        return Broken(stored.sequence, stored.stored_at, StoreError, reason)
    return meta


def _adds_up(meta: Meta) -> bool:
    """Tell whether so many chunks can hold so many bytes: none is empty, none is larger than declared."""
    least = -(-meta.size // (meta.chunk_bytes or meta.size or 1))
    return meta.chunks == least if meta.is_even and meta.chunk_bytes else least <= meta.chunks <= meta.size
