"""How a program or a cell is to be run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kmnb.core.bounds import OUTPUT_MAX_BYTES, RUN_SECONDS
from kmnb.ops.materialise import Manifest


@dataclass(frozen=True, slots=True)
class Asked:
    """How a program or a cell is to be run."""

    language: str = "python"
    """``python`` or ``bash``."""
    timeout_seconds: float = RUN_SECONDS
    """Wall-clock limit."""
    max_output_bytes: int = OUTPUT_MAX_BYTES
    """Bytes kept of stdout and of stderr each."""
    required_level: int = 2
    """Isolation below which it is not run."""
    limits: Mapping[str, Any] | None = None
    """Further limits of a program by name."""
    packages: Sequence[str] = ()
    """Installed packages that a Python program may import besides the standard library."""
    session: str | None = None
    """Name of the session whose kernel, and so whose variables, are kept; None is a fresh kernel."""
    remote: str | None = None
    """Address of a kernel gateway that runs it; None is this machine."""
    on_output: Callable[[str, str], None] | None = None
    """Called with ``stdout`` or ``stderr`` and a piece of text as it comes, on kmnb's own thread."""
    mimes: Sequence[str] = ("text/plain",)
    """Types of rich results that pass into ``displays`` of the Outcome."""

    def around(self, manifest: Manifest) -> dict[str, Any]:
        """Give what programs, cells and remote cells take alike."""
        return {
            "timeout_seconds": self.timeout_seconds,
            "max_output_bytes": self.max_output_bytes,
            "required_level": self.required_level,
            "on_output": self.on_output,
            "artifacts_folder": manifest.folder if manifest.entries else None,
            "artifacts": manifest.facts(),
        }
