"""Cursors: opaque texts that resume an answer, bound to the artifact and to the call they came from."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any

from kmnb.errors import BadRequest

_END = 2**63
"""Above every number that a cursor holds: bytes, lines, records."""


def seal(operation: str, bound_to: str, state: Mapping[str, Any]) -> str:
    """Write a cursor.

    Args:
        operation: Name of the operation that goes on.
        bound_to: Digest, or another identity, of the content it stands in.
        state: What the operation needs to go on; JSON values.

    Returns:
        Text of letters, digits, ``-`` and ``_``.
    """
    raw = json.dumps([operation, bound_to, dict(state)], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")


def unseal(cursor: str, operation: str, bound_to: str) -> dict[str, Any]:
    """Read a cursor again.

    Args:
        cursor: What :func:`seal` wrote.
        operation: Name of the operation that is asked.
        bound_to: Identity of the content as it is now.

    Returns:
        The state.

    Raises:
        BadRequest: Not a cursor, one of another operation, or the artifact is not the same any more.
    """
    try:
        name, identity, state = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise _altered() from None
    if name != operation or not isinstance(state, dict):
        raise BadRequest("cursor", f"it belongs to {name!s:.40}, not to {operation}", "Pass it to the same operation.")
    if identity != bound_to:
        raise BadRequest("cursor", "the artifact has changed since", "Begin again without a cursor.")
    return state


def numbers_of(state: str | None, *needed: str, optional: Sequence[str] = ()) -> dict[str, int]:
    """Read the numbers that an operation wrote into a cursor; anybody may have changed them since.

    Args:
        state: The state of a cursor as JSON; None where an answer begins.
        needed: Names that must be there.
        optional: Names that may be there.

    Returns:
        Natural numbers by name; empty where an answer begins.

    Raises:
        BadRequest: A number is missing, or is none.
    """
    if state is None:
        return {}
    found: dict[str, Any] = json.loads(state)
    told = {name: found[name] for name in (*needed, *optional) if found.get(name) is not None}
    if not told.keys() >= set(needed) or not all(type(one) is int and 0 <= one < _END for one in told.values()):
        raise _altered()
    return told


def _altered() -> BadRequest:
    return BadRequest("cursor", "it is not one that a slice gave", "Pass Slice.cursor unchanged.")
