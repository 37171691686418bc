"""What is shown of slices, outcomes and artifacts; everything that varies from run to run is left out. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kmnb.core.display import Card, count_text, joined, size_text

if TYPE_CHECKING:
    from kmnb.core.outcome import Outcome
    from kmnb.core.slice import Slice

COLUMNS_MAX = 40
"""Most columns of a shown table; further ones are counted in a note."""
ROWS_MAX = 200
"""Most rows or lines that are laid out at all."""


def slice_card(answer: Slice) -> Card:
    """Lay out a bounded answer: dicts and matches as a table, anything else as lines."""
    values = answer.values[:ROWS_MAX]
    notes = [*answer.notes, *_problem_notes(answer)]
    title, more = _slice_title(answer), len(answer.values) - len(values)
    if values and all(isinstance(value, dict) for value in values):
        names = list(dict.fromkeys(str(name) for value in values for name in value))
        if len(names) > COLUMNS_MAX:
            notes.append(f"not shown: {count_text(len(names) - COLUMNS_MAX, 'further columns')}")
        rows = [[_cell(value.get(name)) for name in names[:COLUMNS_MAX]] for value in values]
        return Card(title, columns=names[:COLUMNS_MAX], rows=rows, more=more, notes=notes)
    if values and all(hasattr(value, "number") and hasattr(value, "text") for value in values):
        rows = [[value.number, value.text] for value in values]
        return Card(title, columns=("line", "text"), rows=rows, more=more, notes=notes)
    return Card(title, body="".join(f"{_cell(value)}\n" for value in values), more=more, notes=notes)


def _slice_title(answer: Slice) -> str:
    receipt = answer.receipt or {}
    total = None
    if answer.total is not None:
        total = f"of {answer.total:,}{' or more' if answer.total_is_lower_bound else ''}"
    counted = joined([f"{answer.shown:,} {total}" if total else f"{answer.shown:,} shown"])
    return joined([receipt.get("op", "slice"), counted, None if answer.complete else "more follows"])


def _problem_notes(answer: Slice) -> list[str]:
    if not answer.skipped:
        return []
    first = f"; line {answer.problems[0].line}: {answer.problems[0].reason}" if answer.problems else ""
    return [f"left out: {count_text(answer.skipped, 'records')}{first}"]


def outcome_card(outcome: Outcome) -> Card:
    """Lay out the end of a run: how it ended, what it printed, and what proves its numbers."""
    code = f"exit code {outcome.exit_code}"
    stopped = None if outcome.reason in ("exit", "signal") else f"stopped: {outcome.reason}"
    if stopped and outcome.reason_by == "program":
        stopped += " (by its own account)"
    title = joined([outcome.status, code, stopped])
    notes = ["output was cut"] if outcome.truncated else []
    if outcome.level < 2:
        # The level says something about the machine; only a weak one must be said.
        notes.append(f"isolation level {outcome.level}: not for programs that are not trusted")
    notes += [f"stored: {artifact.key}" for artifact in outcome.artifacts[:5]]
    errors = f"[stderr]\n{outcome.stderr}" if outcome.stderr else ""
    body = joined_lines(outcome.stdout, errors)
    return Card(title, facts=_proof(outcome.receipt), body=body, notes=notes)


def receipt_card(receipt: Any) -> Card:
    """Lay out what a receipt proves."""
    digest, level = receipt.digest[:19], f"isolation level {receipt.level}"
    title = joined(["receipt", digest, f"exit code {receipt.exit_code}", level])
    numbers = count_text(len(receipt.numbers), "numbers")
    return Card(title, facts=[*_proof(receipt), ("lists", numbers)])


def _proof(receipt: Any) -> list[tuple[str, str]]:
    if receipt is None:
        return []
    inputs = [str(artifact.get("key")) for artifact in receipt.artifacts]
    shown = ", ".join(inputs[:3]) + (f" and {len(inputs) - 3} more" if len(inputs) > 3 else "")
    return [("program", receipt.program_digest[:19]), ("over", shown)]


def joined_lines(*texts: str) -> str:
    """Put texts below one another, each ending its last line."""
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in texts if text)


def artifact_card(artifact: Any) -> Card:
    """Lay out a handle from what it knows: no call is made."""
    media_type, rows = artifact.media_type, count_text(artifact.rows, "rows")
    version = None if artifact.version is None else f"version {artifact.version}"
    title = joined([artifact.key, version, size_text(artifact.size), rows, media_type])
    reference = {
        "uri": artifact.uri,
        "key": artifact.key,
        "bytes": artifact.size,
        "rows": artifact.rows,
        "contentType": media_type,
        "digest": artifact.digest,
        "version": artifact.version,
    }
    known = {name: value for name, value in reference.items() if value is not None}
    return Card(title, body=artifact.preview or "", unit="lines of the preview", reference=known)


def spill_card(message: Mapping[str, Any], artifact: Any) -> Card:
    """Lay out a spilled result: the artifact, or the text that stayed inline."""
    if artifact is not None:
        return artifact_card(artifact)
    text = str(message.get("content", ""))
    return Card(joined(["stayed inline", size_text(len(text.encode("utf-8", "replace")))]), body=text)


def workspace_card(url: str, settings: Sequence[Any]) -> Card:
    """Lay out where a workspace stands, with the origin of every value."""
    rows = [(setting.name, _cell(setting.value), setting.origin) for setting in settings if setting.value is not None]
    return Card(f"connected to {url}", columns=("setting", "value", "from"), rows=rows)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(value)
