"""The limits of one run: named, with units, and with a reason each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from kmnb.core.bounds import CODE_MAX_BYTES, MIB, OUTPUT_MAX_BYTES, RUN_SECONDS, RUN_SECONDS_MAX
from kmnb.errors import BadRequest

UNSEEN_OPEN_FILES = 64
"""Descriptors of a process where the spawner cannot look at them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use at most. A run that passes one ends, and its Outcome names the limit."""

    timeout_seconds: float = RUN_SECONDS
    """Wall-clock seconds; above 0, at most 300."""
    cpu_seconds: int = 600
    """Processor seconds of one process (RLIMIT_CPU); threads count together."""
    address_bytes: int = 512 * MIB
    """Address space of one process (RLIMIT_AS)."""
    memory_bytes: int = 1024 * MIB
    """Resident memory of all processes together, looked at ten times a second."""
    processes: int = 48
    """Processes and threads at once (RLIMIT_NPROC)."""
    file_bytes: int = 32 * MIB
    """Size of one file (RLIMIT_FSIZE)."""
    disk_bytes: int = 64 * MIB
    """All files together, those without a name included."""
    files: int = 20_000
    """Files and folders together."""
    open_files: int = 256
    """Descriptors of one process (RLIMIT_NOFILE)."""
    output_bytes: int = OUTPUT_MAX_BYTES
    """Bytes kept of stdout and of stderr each; the rest is drained and counted."""
    written_bytes: int = 64 * MIB
    """Bytes that may be written to both together before the run is ended."""

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value <= 0:
                raise BadRequest(one.name, f"must be a finite number above 0, not {value!r}")
        if self.timeout_seconds > RUN_SECONDS_MAX:
            step = "Ask for less, or split the work."
            raise BadRequest(
                "timeout_seconds", f"the limit is {RUN_SECONDS_MAX:.0f} s, not {self.timeout_seconds!r}", step
            )

    def as_dict(self) -> dict[str, Any]:
        """Give the limits by name, as they stand in receipts."""
        whole = int(self.timeout_seconds) == self.timeout_seconds
        # A whole number of seconds must not change its digest on the way through a JSON reader without floats.
        return asdict(self) | {"timeout_seconds": int(self.timeout_seconds) if whole else self.timeout_seconds}

    @classmethod
    def of(cls, timeout_seconds: float, output_bytes: int, others: Mapping[str, Any] | None) -> Limits:
        """Make limits from the two that every caller names and from further ones by name.

        Raises:
            BadRequest: Not a finite number above 0, or no limit of that name.
        """
        unknown = set(others or ()) - {one.name for one in fields(cls)}
        if unknown:
            raise BadRequest(f"limits {sorted(unknown)}", "there are none of that name")
        return cls(**{"timeout_seconds": timeout_seconds, "output_bytes": output_bytes, **(others or {})})


def within_sight(limits: Limits, sees_descriptors: bool) -> Limits:
    """Bound files without a name by their number where the spawner cannot see them: open files times file size."""
    if sees_descriptors:
        return limits
    return replace(limits, open_files=min(limits.open_files, UNSEEN_OPEN_FILES))


def check_code(code: Any) -> bytes:
    """Give the program's UTF-8 bytes.

    Raises:
        BadRequest: No text, longer than 1 MiB, or with lone surrogates or NUL characters, which no interpreter takes.
    """
    if not isinstance(code, str):
        raise BadRequest("code", f"must be a text, not {type(code).__name__}")
    if "\0" in code:
        raise BadRequest("code", f"holds a NUL character at place {code.index(chr(0))}", "Write it as an escape.")
    try:
        raw = code.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadRequest("code", f"holds a lone surrogate at place {error.start}", "Write it as an escape.") from None
    if len(raw) > CODE_MAX_BYTES:
        raise BadRequest("code", f"has {len(raw)} bytes; the limit is {CODE_MAX_BYTES}", "Put data into artifacts.")
    return raw
