"""Run small programs so that they can touch nothing else.

``run`` gives an :class:`~kmnb.core.outcome.Outcome` also when the program fails; only a sandbox that cannot run
anything, or not at the level that is asked for, raises.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kmnb.sandbox._api import Report, Verdict, doctor, doctor_async, run, run_async, validate, validate_async

__all__ = ["Report", "Verdict", "doctor", "doctor_async", "run", "run_async", "validate", "validate_async"]


def __getattr__(name: str) -> Any:
    # On first use: the spawner's interpreter imports a part of this package and must stay small.
    if name not in __all__:
        raise AttributeError(f"module 'kmnb.sandbox' has no attribute {name!r}")
    from kmnb.sandbox import _api

    return getattr(_api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
