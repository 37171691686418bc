"""Read something small as a whole; whoever calls has bounded it."""

from __future__ import annotations

import hashlib
from contextlib import aclosing

from kmnb.core.metadata import ObjectInfo
from kmnb.errors import BoundExceeded
from kmnb.storage._protocols import ObjectArea


async def read_whole(area: ObjectArea, key: str, *, max_bytes: int, info: ObjectInfo | None = None) -> bytes:
    """Read an object as a whole.

    Args:
        area: Where.
        key: The object.
        max_bytes: Largest size in bytes.
        info: What an earlier ``head`` said.

    Raises:
        ArtifactNotFound: No such object.
        BoundExceeded: It is larger.
    """
    pieces, size = [], 0
    async with aclosing(area.stream(key, info=info)) as walk:  # type: ignore[type-var]
        async for piece in walk:
            size += len(piece)
            if size > max_bytes:
                raise BoundExceeded(
                    f"artifact {key!a:.1000}",
                    f"has more than {max_bytes:,} bytes",
                    "Read slices of it, or run a program over it.",
                    limit="max_bytes",
                    value=max_bytes,
                    unit="bytes",
                )
            pieces.append(piece)
    return b"".join(pieces)


async def digest_of_object(area: ObjectArea, info: ObjectInfo) -> str:
    """Tell the digest of an object: what the store knows, else that of the bytes, which are read for it.

    Raises:
        ArtifactNotFound: No such object.
    """
    if info.digest is not None:
        return info.digest
    seen = hashlib.sha256()
    async with aclosing(area.stream(info.key, info=info)) as walk:  # type: ignore[type-var]
        async for piece in walk:
            seen.update(piece)
    return f"sha256:{seen.hexdigest()}"
