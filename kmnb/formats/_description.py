"""The facts that a preview is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Description:
    """Facts for a preview, gathered from the beginning of content."""

    noun: str
    """What the records are called, in the plural."""
    key: str = ""
    """Column or path that tells the records apart; empty when there is none."""
    firsts: Sequence[str] = ()
    """Its first values."""
    columns: tuple[Mapping[str, Any], ...] = ()
    """Dicts with ``name``, ``type`` and ``nullable``."""
    is_table: bool = False
    """Whether the columns are those of a table."""
    shape: str = ""
    """One line or more on columns or paths."""
    outcome: str = ""
    """Outcome fields such as ``status`` and ``error``; shown before everything else."""
    shows_content: bool = True
    """Whether head and tail of the content may be shown."""
    head: str | None = None
    """What is shown instead of head and tail of the content; None for these."""
    is_spaced: bool = False
    """Whether line breaks and indentation carry no meaning, so that a preview may leave them out."""
    note: str = ""
    """A remark for the first line, such as the kind of a document."""
