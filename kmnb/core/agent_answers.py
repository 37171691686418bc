"""Answers of the tools that a model calls: small JSON objects of one shape. Pure."""

from __future__ import annotations

from typing import Any

from kmnb.core.embed_values import to_lines
from kmnb.errors import KmnbError, clip

NAMES_MAX = 1000
"""Most names in a listing."""


def answer(status: str, message: str, **data: Any) -> dict[str, Any]:
    """Make an answer.

    Args:
        status: ``success``, ``partial`` or ``error``.
        message: One sentence for the model.
        data: What it asked for.
    """
    return {"status": status, "message": clip(message, 2000), "data": data}


def error_answer(error: KmnbError) -> dict[str, Any]:
    """Make the answer of a failure; what went wrong and what to do next."""
    return {"status": "error", "message": str(error), "data": {}, "error_code": error.code}


def summary_of(told: dict[str, Any]) -> dict[str, Any]:
    """Summarise a companion document as ``list_artifacts`` tells it."""
    schema = told.get("schema") or {}
    return {
        "description": clip(str(told["description"]), 500) if told.get("description") else None,
        "source": clip(str(told["source"]), 200) if told.get("source") else None,
        "type": told.get("mime_type"),
        "size": told.get("size_bytes"),
        "schema_type": schema.get("type"),
        "schema_inferred": schema.get("inferred"),
    }


def numbered(text: str) -> str:
    """Put the number of each line, counted from 1, and a tab before it."""
    return "".join(f"{number}\t{line}" for number, line in enumerate(to_lines(text), 1))


def text_answer(text: str, limit_chars: int, **data: Any) -> dict[str, Any]:
    """Make the answer that holds a text, cut at a number of characters; the message says so.

    Args:
        text: The text.
        limit_chars: Most characters.
        data: Further facts.
    """
    if len(text) <= limit_chars:
        return answer("success", "The whole content.", **data, content=text, is_truncated=False)
    told = f"Cut after {limit_chars:,} characters. Embed parts of it, or search it, to see the rest."
    return answer("success", told, **data, content=text[:limit_chars], is_truncated=True)
