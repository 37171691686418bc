"""The limits of one run: named, with units, and with a reason each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields, replace
from typing import Any

from kmnb.core.bounds import CODE_MAX_BYTES, MIB, OUTPUT_MAX_BYTES, RUN_SECONDS, RUN_SECONDS_MAX
from kmnb.errors import BadRequest, shown

GIB = 1024 * MIB
UNSEEN_OPEN_FILES = 64
"""Descriptors of a process where the spawner cannot look at them."""


SMALLEST, LARGEST = "smallest", "largest"


def _bounded(default: float, smallest: float, largest: float) -> Any:
    """Declare a limit with the values that can be asked for."""
    return field(default=default, metadata={SMALLEST: smallest, LARGEST: largest})


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use at most. A run that passes one ends, and its Outcome names the limit.

    Each has a smallest value, below which not even an empty program starts, and a largest one. All but
    ``timeout_seconds`` are whole numbers.
    """

    timeout_seconds: float = _bounded(RUN_SECONDS, 0.001, RUN_SECONDS_MAX)
    """Wall-clock seconds."""
    cpu_seconds: int = _bounded(600, 1, 3600)
    """Processor seconds of one process (RLIMIT_CPU); threads count together."""
    address_bytes: int = _bounded(512 * MIB, 64 * MIB, 1024 * GIB)
    """Address space of one process (RLIMIT_AS)."""
    memory_bytes: int = _bounded(1024 * MIB, 16 * MIB, 1024 * GIB)
    """Resident memory of all processes together, looked at ten times a second."""
    processes: int = _bounded(48, 1, 4096)
    """Processes and threads at once (RLIMIT_NPROC)."""
    file_bytes: int = _bounded(32 * MIB, 1, 1024 * GIB)
    """Size of one file (RLIMIT_FSIZE)."""
    disk_bytes: int = _bounded(64 * MIB, 2 * MIB, 1024 * GIB)
    """All files together, those without a name and the program's own text included."""
    files: int = _bounded(20_000, 16, 1_000_000)
    """Files and folders together."""
    open_files: int = _bounded(256, 16, 4096)
    """Descriptors of one process (RLIMIT_NOFILE)."""
    output_bytes: int = _bounded(OUTPUT_MAX_BYTES, 1, 64 * MIB)
    """Bytes kept of stdout and of stderr each; the rest is drained and counted."""
    written_bytes: int = _bounded(64 * MIB, 1, 1024 * GIB)
    """Bytes that may be written to both together before the run is ended."""

    def __post_init__(self) -> None:
        for one in fields(self):
            whole = one.name != "timeout_seconds"
            object.__setattr__(self, one.name, _number(one, getattr(self, one.name), whole))

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
        if others is not None and not isinstance(others, Mapping):
            raise BadRequest("limits", f"must be a dict, not {shown(others)}", 'Write {"memory_bytes": 1 << 30}.')
        known = [one.name for one in fields(cls)]
        for name in others or ():
            if name not in known:
                raise BadRequest(f"limit {shown(name)}", "there is none of that name", f"Known: {', '.join(known)}.")
        return cls(**{"timeout_seconds": timeout_seconds, "output_bytes": output_bytes, **(others or {})})


def _number(one: Field[Any], value: Any, whole: bool) -> Any:
    """Give a limit's value as the number that it means.

    Raises:
        BadRequest: No finite number, no whole one where it has to be, or not between the smallest and the largest.
    """
    smallest, largest = one.metadata[SMALLEST], one.metadata[LARGEST]
    step = f"Use {'a whole number ' if whole else ''}from {smallest:,} to {largest:,}."
    number = isinstance(value, int | float) and not isinstance(value, bool)
    endless = isinstance(value, float) and not math.isfinite(value)
    if not number or endless or (whole and value != int(value)):
        raise BadRequest(one.name, f"must be a {'whole' if whole else 'finite'} number, not {shown(value)}", step)
    if not smallest <= value <= largest:
        raise BadRequest(one.name, f"{shown(value)} is too {'small' if value < smallest else 'large'}", step)
    return int(value) if whole else value


def within_sight(limits: Limits, sees_descriptors: bool) -> Limits:
    """Bound files without a name by their number where the spawner cannot see them: open files times file size."""
    if sees_descriptors:
        return limits
    return replace(limits, open_files=min(limits.open_files, UNSEEN_OPEN_FILES))


def check_code(code: Any) -> bytes:
    """Give the program's UTF-8 bytes, without a byte order mark before them: interpreters drop it from files alone.

    Raises:
        BadRequest: No text, longer than 1 MiB, or with lone surrogates or NUL characters, which no interpreter takes.
    """
    if not isinstance(code, str):
        raise BadRequest("code", f"must be a text, not {type(code).__name__}", "Pass the program itself.")
    if "\0" in code:
        raise BadRequest("code", f"holds a NUL character at place {code.index(chr(0))}", "Write it as an escape.")
    try:
        raw = code.removeprefix("\ufeff").encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadRequest("code", f"holds a lone surrogate at place {error.start}", "Write it as an escape.") from None
    if len(raw) > CODE_MAX_BYTES:
        raise BadRequest("code", f"has {len(raw)} bytes; the limit is {CODE_MAX_BYTES}", "Put data into artifacts.")
    return raw
