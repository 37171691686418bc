"""Throw-away memory stores."""

from __future__ import annotations

import secrets

from kmnb.testing._scratch import Scratch


def start() -> Scratch:
    """Give a store in this process's memory."""
    name = f"scratch-{secrets.token_hex(8)}"
    return Scratch(f"memory://{name}", fresh=lambda number: f"memory://{name}-{number}", close=lambda: None)
