"""The rule of record values, shared by all backends. Pure."""

from __future__ import annotations

from kmnb.errors import BadRequest, BoundExceeded

RECORD_MAX_BYTES = 64 * 1024
"""Largest record in bytes."""


def check_value(key: str, value: bytes) -> None:
    """Accept a record's value.

    Raises:
        BadRequest: It is not bytes.
        BoundExceeded: It is longer than :data:`RECORD_MAX_BYTES`.
    """
    if not isinstance(value, bytes | bytearray | memoryview):
        raise BadRequest(f"record {key!r}", f"a value of type {type(value).__name__} is not bytes")
    if len(value) > RECORD_MAX_BYTES:
        facts = {"limit": "RECORD_MAX_BYTES", "value": RECORD_MAX_BYTES, "unit": "bytes", "kept": 0}
        reason = f"{len(value)} bytes, the limit is {RECORD_MAX_BYTES}"
        raise BoundExceeded(f"record {key!r}", reason, "Store it as an artifact", **facts)
