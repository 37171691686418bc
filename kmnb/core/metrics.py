"""Counts of garbage collection as Prometheus text. Pure: reports go in, lines come out.

======================================= ======= ==================================================
name                                    kind    labels and meaning
======================================= ======= ==================================================
``kmnb_gc_runs_total``                  counter ``action``: closings, sweeps and retentions carried out
``kmnb_gc_objects_total``               counter ``action``, ``reason``, ``deleted``: objects judged
``kmnb_gc_deleted_bytes_total``         counter ``action``, ``reason``: bytes of what was deleted
``kmnb_gc_failures_total``              counter ``action``: deletions that failed
``kmnb_gc_seconds_total``               counter ``action``: time spent
``kmnb_gc_last_run_timestamp_seconds``  gauge   ``action``: when the last one began
======================================= ======= ==================================================
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from kmnb.core.report import Report

_HELP = {
    "kmnb_gc_runs_total": ("counter", "Closings, sweeps and retentions carried out."),
    "kmnb_gc_objects_total": ("counter", "Objects judged, by reason."),
    "kmnb_gc_deleted_bytes_total": ("counter", "Bytes of what was deleted, by reason."),
    "kmnb_gc_failures_total": ("counter", "Deletions that failed."),
    "kmnb_gc_seconds_total": ("counter", "Time spent collecting."),
    "kmnb_gc_last_run_timestamp_seconds": ("gauge", "When the last collection began."),
}
Key = tuple[str, tuple[tuple[str, str], ...]]


class Metrics:
    """What all reports of a process add up to. Dry runs are not counted."""

    def __init__(self) -> None:
        self._values: dict[Key, float] = defaultdict(float)

    def add(self, report: Report) -> None:
        """Count a report."""
        if report.dry_run:
            return
        action = {"action": report.action}
        self._count("kmnb_gc_runs_total", action, 1)
        self._count("kmnb_gc_failures_total", action, len(report.failures))
        self._count("kmnb_gc_seconds_total", action, report.seconds)
        failed = {failure.key for failure in report.failures}
        for verdict in report.verdicts:
            labels = {**action, "reason": str(verdict.reason)}
            went = verdict.deletes and verdict.key not in failed
            self._count("kmnb_gc_objects_total", {**labels, "deleted": str(went).lower()}, 1)
            if went:
                self._count("kmnb_gc_deleted_bytes_total", labels, verdict.size or 0)
        self._values[_key("kmnb_gc_last_run_timestamp_seconds", action)] = report.started_at.timestamp()

    def _count(self, name: str, labels: Mapping[str, str], amount: float) -> None:
        self._values[_key(name, labels)] += amount

    def text(self) -> str:
        """Write everything in Prometheus' text format."""
        lines = []
        for name, (kind, meaning) in _HELP.items():
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
            for (found, labels), value in sorted(self._values.items()):
                if found == name:
                    inner = ",".join(f'{label}="{text}"' for label, text in labels)
                    lines.append(f"{name}{{{inner}}} {value:g}" if value < 1e6 else f"{name}{{{inner}}} {value:.17g}")
        return "\n".join(lines) + "\n"


def _key(name: str, labels: Mapping[str, str]) -> Key:
    return name, tuple(sorted(labels.items()))
