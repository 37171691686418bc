"""``kmnb sweep``: collect garbage once, or every so often until it is stopped; for a cron job or a sidecar."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

from kmnb.core.describe import Operation, Param
from kmnb.errors import BadRequest, KmnbError
from kmnb.frontends._frontend import Frontend

OPERATION = Operation(
    "sweep",
    "Delete what belongs to no active thread and is older than the grace window, once or every so often.",
    (
        Param("every", "text", "Pause between two sweeps, for example 30m, 90s or 1h; without it one sweep."),
        Param("dry_run", "flag", "Whether only to say what would be deleted.", default=False),
        Param("foreign", "flag", "Whether threads that this registry never held may go too.", default=False),
        Param("explain", "text", "Key of an artifact; tell what would happen to it and why, and delete nothing."),
        Param("metrics", "flag", "Whether to print Prometheus metrics after each sweep.", default=False),
        Param("json", "flag", "Whether to print JSON, one line a sweep.", default=False),
        Param("url", "text", "Store; without it $KMNB_URL, the configuration file, or the store of the user."),
        Param("namespace", "text", "Namespace whose artifacts are swept."),
        Param("crew", "text", "Crew whose artifacts are swept."),
        Param("config", "text", "Configuration file."),
    ),
)
_DURATION = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>s|m|h|d)?")
_UNITS = {None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PLACES = ("namespace", "crew", "config")


def main(words: Sequence[str]) -> int:
    """Run ``kmnb sweep``.

    Args:
        words: The words after it.

    Returns:
        The exit code: 1 when deletions failed.

    Raises:
        BadRequest: Words that cannot be understood.
        StoreError: The store cannot be opened, or a single sweep cannot list it.
    """
    from kmnb.frontends._forms import Form, HelpAsked
    from kmnb.frontends._output import put_text, show
    from kmnb.frontends._outside import connect_still

    try:
        given, _ = Form(OPERATION, "kmnb sweep").parse(words)
    except HelpAsked as asked:
        return put_text(asked.args[0])
    pause = None if given["every"] is None else seconds_of(given["every"])
    with connect_still(given["url"], **{name: given[name] for name in _PLACES}) as workspace:
        if given["explain"]:
            answer = _explained(workspace, given["explain"], foreign=given["foreign"])
            return show("sweep", answer, as_json=given["json"], arguments=given)
        if pause is None:
            return _once(workspace, given)
        while True:
            _guarded(workspace, given)
            time.sleep(pause)


def _once(workspace: Any, given: dict[str, Any]) -> int:
    from kmnb.core.jsonable import json_text
    from kmnb.frontends._output import put_text, remark

    report = workspace.sweep(dry_run=given["dry_run"], foreign=given["foreign"])
    put_text(json_text(report.to_json()) + "\n" if given["json"] else report.text)
    for note in report.notes:
        remark(note)
    if given["metrics"]:
        put_text(workspace.metrics())
    return 1 if report.failures else 0


def _guarded(workspace: Any, given: dict[str, Any]) -> None:
    """Sweep; a store that is away for a while is told and tried again."""
    from kmnb.frontends._output import remark

    try:
        _once(workspace, given)
    except (KmnbError, OSError) as error:
        remark(str(error))


def _explained(workspace: Any, key: str, *, foreign: bool) -> Any:
    from kmnb._bridge import run
    from kmnb.ops.explain import explained

    return run(explained(workspace.context, workspace.sweep(dry_run=True, foreign=foreign), key))


def seconds_of(text: str) -> float:
    """Read a time such as ``30m``, ``90s``, ``1.5h`` or ``2d``; a bare number counts seconds.

    Raises:
        BadRequest: It is none, or not above zero.
    """
    found = _DURATION.fullmatch(text.strip())
    seconds = 0.0 if found is None else float(found["number"]) * _UNITS[found["unit"]]
    if not seconds > 0:
        raise BadRequest(f"time {text[:40]!a}", "is none", "Write for example 30m, 90s or 1h.")
    return seconds


FRONTEND = Frontend("Collect garbage once, or every so often.", main)
