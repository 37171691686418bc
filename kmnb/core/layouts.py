"""Names of the layouts of named artifacts. Pure."""

from __future__ import annotations

LAYOUTS = ("kmnb", "agent-mesh", "adk")
"""Layouts of named artifacts: kmnb's own, and those of the peers."""
