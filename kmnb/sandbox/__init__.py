"""Run small programs so that they can touch nothing else.

``run`` gives an :class:`~kmnb.core.outcome.Outcome` also when the program fails; only a sandbox that cannot run
anything, or not at the level that is asked for, raises.
"""

from __future__ import annotations

from kmnb.sandbox._api import Report, Verdict, doctor, doctor_async, run, run_async, validate, validate_async

__all__ = ["Report", "Verdict", "doctor", "doctor_async", "run", "run_async", "validate", "validate_async"]
