"""Count the reports of this process, and log a line for each."""

from __future__ import annotations

import logging

from kmnb.core.metrics import Metrics
from kmnb.core.report import Report

PROCESS = Metrics()
"""What all collections of this process add up to."""

_log = logging.getLogger("kmnb.gc")


def counted(report: Report) -> Report:
    """Count a report and log its line; gives it back."""
    PROCESS.add(report)
    level = logging.WARNING if report.failures else logging.INFO
    reasons = ", ".join(f"{name} {count} ({size} bytes)" for name, (count, size) in report.by_reason.items())
    _log.log(level, "%s in %.3f s: %s", report.title, report.seconds, reasons or "nothing was there")
    return report
