"""What a program's leaving by ``sys.exit`` means."""

from __future__ import annotations

import sys


def status_of(code: object) -> int:
    """Give the exit status of what ``sys.exit`` was given; a text goes to stderr."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1
