"""What kmnb's own tests and those of others' plug-ins stand on: contract suites and throw-away services."""

from __future__ import annotations

from kmnb.testing._scratch import Scratch, ScratchUnavailable, scratch

__all__ = ["Scratch", "ScratchUnavailable", "scratch"]
