"""Check a saved notebook as a whole: its receipts by running again, the numbers of its text against those that hold.

Shown outcomes and slices carry their receipts in the metadata of the outputs, where comparing tools do not look. A
notebook that is checked is read as text from anywhere: nothing of it is believed before it was run again here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kmnb import contract
from kmnb.core.answers import Answer, table
from kmnb.errors import BadRequest, KmnbError
from kmnb.frontends._carried import NAME
from kmnb.ops.sip import sip_names

RECEIPTS_MAX = 200
"""Most receipts of a notebook that are run again."""
COLUMNS = ("cell", "what", "status", "why")


def notebook_of(text: Any) -> dict[str, Any] | None:
    """Read a notebook; None where the text is something else."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("cells"), list) or "nbformat" not in found:
        return None
    return found


async def check_notebook(workspace: Any, notebook: Mapping[str, Any], **level: int) -> Answer:
    """Check all receipts of a notebook, then the numbers of its text.

    Args:
        workspace: Where the artifacts and programs of the receipts lie.
        notebook: What :func:`notebook_of` gave.
        **level: ``required_level`` of the runs, where it is not the usual one.

    Returns:
        A row for each receipt, and for each number that no receipt backs which holds.
    """
    cells = [cell for cell in notebook["cells"] if isinstance(cell, dict)]
    rows, holding = [], []
    found = [(place, one) for place, cell in enumerate(cells, 1) for one in _receipts(cell)]
    if len(found) > RECEIPTS_MAX:
        raise BadRequest("this notebook", f"has {len(found)} receipts; {RECEIPTS_MAX} are run again", "Split it.")
    for place, receipt in found:
        try:
            status, why = await _again(workspace, receipt, level)
        except (KmnbError, TypeError) as error:
            status, why = "cannot-verify", str(error)
        if status == "verified":
            holding.append(receipt)
        rows.append((place, str(receipt.get("digest") or receipt.get("op"))[:80], status, why))
    numbers = 0
    for place, cell in enumerate(cells, 1):
        if cell.get("cell_type") == "markdown":
            checked = contract.check(_text(cell.get("source")), holding)
            numbers += len(checked.numbers)
            rows += [(place, one.text, one.status, one.evidence) for one in checked.numbers if one.status == "unbacked"]
    return _answer(rows, receipts=len(found), numbers=numbers)


def _answer(rows: list[tuple[Any, ...]], *, receipts: int, numbers: int) -> Answer:
    ok = all(row[2] == "verified" for row in rows)
    title = f"{receipts} receipts and {numbers} numbers: {'all hold' if ok else 'not all hold'}"
    made = table(title, COLUMNS, rows)
    return Answer(made.card, {"ok": ok, "receipts": receipts, "numbers": numbers, "rows": made.data},
                  f"{made.text}{title}\n", ok=ok)  # fmt: skip


async def _again(workspace: Any, receipt: Mapping[str, Any], level: Mapping[str, int]) -> tuple[str, str]:
    if "omitted" in receipt:
        return "cannot-verify", f"its receipt was too large for the notebook ({receipt['omitted']})"
    if "op" not in receipt:
        found = await workspace.verify_async(receipt, **level)
        return found.status, found.reason
    given = receipt.get("parameters")
    if str(receipt["op"]) not in sip_names() or not isinstance(given, Mapping):
        return "cannot-verify", "it is no receipt of an operation that only reads"
    artifact = await workspace.get_async(str(receipt.get("key")))
    fresh = (await getattr(artifact, f"{receipt['op']}_async")(**given)).receipt
    if json.loads(json.dumps(fresh)) == receipt:
        return "verified", "the same question to the same bytes gave the same answer"
    return "differs", "the same question gives another answer now"


def _receipts(cell: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Walk the receipts of a cell's outputs: those that were carried along, and those that were printed."""
    for output in cell.get("outputs") or ():
        if not isinstance(output, dict):
            continue
        own = (output.get("metadata") or {}).get(NAME)
        if isinstance(own, dict) and isinstance(own.get("receipt"), dict):
            yield own["receipt"]
        for line in _text(output.get("text")).splitlines():
            if line.startswith("{") and '"program_digest"' in line:
                try:
                    printed = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(printed, dict):
                    yield printed


def _text(source: Any) -> str:
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))
