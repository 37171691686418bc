"""What lies below a prefix. Pure. The keys that every backend accepts stand in ``core/keys.py``."""

from __future__ import annotations

from kmnb.core.keys import check_key, check_prefix
from kmnb.errors import KeySyntaxError

__all__ = ["check_key", "check_prefix", "is_below", "is_key"]


def is_below(key: str, prefix: str) -> bool:
    """Tell whether a key is a checked prefix itself or lies below it, by whole segments."""
    return not prefix or key == prefix or key.startswith(prefix + "/")


def is_key(name: str) -> bool:
    """Tell whether an object can be asked for; others may write names that no key can have."""
    try:
        check_key(name)
    except KeySyntaxError:
        return False
    return True
