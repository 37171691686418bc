"""The rules of range reads, shared by all backends. Pure."""

from __future__ import annotations

from kmnb.core.metadata import ObjectInfo
from kmnb.errors import BadRequest, DigestMismatch


def check_range(start: int, end: int) -> None:
    """Accept a range of bytes; the end is exclusive and may lie past the object's end.

    Raises:
        BadRequest: Negative, reversed, or not whole numbers.
    """
    whole = isinstance(start, int) and isinstance(end, int)
    if not whole or start < 0 or end < start:
        step = "Give 0 ≤ start ≤ end; the end is exclusive"
        raise BadRequest(f"range from {start!r} to {end!r}", "it is negative, reversed or not a number", step)


def same_object(found: ObjectInfo, expected: ObjectInfo | None) -> None:
    """Make sure that an object is still the one that was seen before.

    Args:
        found: What is there now.
        expected: What an earlier ``head`` or an envelope said; None when nothing is expected. Its identity counts,
            or its digest where it has none.

    Raises:
        DigestMismatch: It was written again meanwhile.
    """
    if expected is None:
        return
    if expected.identity is not None and found.identity is not None:
        same = expected.identity == found.identity
    else:
        same = expected.digest is None or found.digest is None or expected.digest == found.digest
    if not same:
        reason = "it was written again since its facts were read"
        raise DigestMismatch(f"artifact {found.key!r}", reason, "Ask for its facts again")
