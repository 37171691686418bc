"""Receipts travel with what a notebook shows, in the metadata of its outputs, where comparing tools do not look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

NAME = "kmnb"
"""Our key in an output's metadata."""
RECEIPT_MAX_BYTES = 64 * 1024
"""Largest receipt that a notebook carries."""
_KINDS = (("kmnb.core.outcome", "Outcome"), ("kmnb.core.slice", "Slice"))


def carry_receipts(shell: Any) -> Callable[[], None]:
    """Let shown outcomes and slices carry their receipts.

    Args:
        shell: An IPython shell.

    Returns:
        What takes that back.
    """
    formatter = shell.display_formatter.mimebundle_formatter
    before = [(*kind, formatter.for_type_by_name(*kind, _with_receipt)) for kind in _KINDS]

    def undo() -> None:
        for module, name, earlier in before:
            if formatter.for_type_by_name(module, name) is not _with_receipt:
                continue  # somebody else has put something in its place
            formatter.pop(f"{module}.{name}", None)
            if earlier is not None:
                formatter.for_type_by_name(module, name, earlier)

    return undo


def _with_receipt(shown: Any, include: Any = None, exclude: Any = None) -> Any:
    from kmnb.core.jsonable import json_text

    bundle, receipt = shown._repr_mimebundle_(include, exclude), shown.receipt
    if receipt is None:
        return bundle
    facts = receipt if isinstance(receipt, Mapping) else receipt.as_dict()
    size = len(json_text(facts))
    told = facts if size <= RECEIPT_MAX_BYTES else {"omitted": f"{size} bytes", "digest": facts.get("digest")}
    return bundle, {NAME: {"receipt": told}}
