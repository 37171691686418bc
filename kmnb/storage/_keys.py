"""What lies below a prefix. Pure. The keys that every backend accepts stand in ``core/keys.py``."""

from __future__ import annotations

from kmnb.core.keys import check_key, check_prefix

__all__ = ["check_key", "check_prefix", "is_below"]


def is_below(key: str, prefix: str) -> bool:
    """Tell whether a key is a checked prefix itself or lies below it, by whole segments."""
    return not prefix or key == prefix or key.startswith(prefix + "/")
