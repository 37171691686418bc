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
    _log.log(level, "%s in %.3f s", report.title, report.seconds)
    return report
