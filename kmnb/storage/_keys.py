"""The keys that every backend accepts, and what lies below a prefix. Pure.

This is the rule of objects and records alike; the grammar of discussion keys stands in ``core/keys.py``.
"""

from __future__ import annotations

from kmnb.core.bounds import KEY_MAX_BYTES
from kmnb.errors import KeySyntaxError

_REFUSED = frozenset(map(chr, range(32))) | {"\x7f", "\\"}
_STEP = "Use segments separated by single slashes, for example ns/crew/thread/agent/tool-0"


def check_key(key: str) -> str:
    """Accept a key or say what is wrong with it.

    Args:
        key: At most 1,024 UTF-8 bytes; segments separated by ``/``, none empty, ``.`` or ``..``; no control
            characters, no backslash, no lone surrogates.

    Returns:
        The key as it was given; nothing is decoded or normalised.

    Raises:
        KeySyntaxError: No object can have that key.
    """
    if not isinstance(key, str):
        raise KeySyntaxError(f"key of type {type(key).__name__}", "a key is a text", _STEP)
    if not key:
        raise KeySyntaxError("empty key", "a key has at least one character", _STEP)
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        raise KeySyntaxError(f"key {key[:80]!a}", "it holds half of a surrogate pair", _STEP) from None
    if size > KEY_MAX_BYTES:
        reason = f"{size} UTF-8 bytes, the limit is {KEY_MAX_BYTES}"
        raise KeySyntaxError(f"key {key[:60]!r}…", reason, limit="KEY_MAX_BYTES", value=size)
    if not _REFUSED.isdisjoint(key):
        raise KeySyntaxError(f"key {key[:200]!r}", "control characters and backslashes are refused", _STEP)
    for segment in key.split("/"):
        if segment in ("", ".", ".."):
            raise KeySyntaxError(f"key {key[:200]!r}", f"segment {segment!r} is refused", _STEP)
    return key


def check_prefix(prefix: str) -> str:
    """Accept a prefix of whole segments.

    Args:
        prefix: A key, with or without one trailing slash; empty for everything.

    Returns:
        The prefix without its trailing slash.

    Raises:
        KeySyntaxError: No object can lie below it.
    """
    if prefix == "":
        return ""
    return check_key(prefix[:-1] if isinstance(prefix, str) and prefix.endswith("/") and prefix != "/" else prefix)


def is_below(key: str, prefix: str) -> bool:
    """Tell whether a key is a checked prefix itself or lies below it, by whole segments."""
    return not prefix or key == prefix or key.startswith(prefix + "/")
