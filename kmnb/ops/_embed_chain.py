"""Steps of an embed's chain that need a library or a process besides the value."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from kmnb.core.embed_grammar import Step, unquote
from kmnb.core.embed_steps import LINE_STEPS, ROW_STEPS, apply_lines, apply_rows
from kmnb.core.embed_values import Value, to_json, to_lines, to_text
from kmnb.errors import ExpressionError
from kmnb.ops._embed_engine import run_engine

OTHERS = ("jsonpath", "grep", "apply_to_template")
"""Modifiers that are neither of rows nor of lines."""


async def apply_step(value: Value, step: Step) -> Value:
    """Apply one modifier, except ``apply_to_template``.

    Raises:
        ExpressionError: An unknown one, or one that cannot be applied.
    """
    if step.name in ROW_STEPS:
        return await asyncio.to_thread(apply_rows, await parsed(value), step.name, step.argument)
    if step.name in LINE_STEPS:
        return await asyncio.to_thread(apply_lines, value, step.name, step.argument)
    if step.name == "grep":
        return await asyncio.to_thread(_grep, value, unquote(step.argument))
    if step.name == "jsonpath":
        data = await asyncio.to_thread(to_json, await parsed(value))
        return replace(value, kind="json", data=await run_engine("jsonpath", data, unquote(step.argument)))
    known = ", ".join(sorted([*ROW_STEPS, *LINE_STEPS, *OTHERS]))
    raise ExpressionError(f"modifier {step.name!a:.80}", f"is not known; known are {known}")


async def parsed(value: Value) -> Value:
    """Read YAML, which needs a process of its own; anything else stays as it is."""
    if value.kind != "text" or not ("yaml" in value.media_type or "yml" in value.media_type):
        return value
    return replace(value, kind="json", data=await run_engine("yaml", value.data))


def compile_pattern(pattern: str) -> Any:
    """Compile a regular expression of RE2, which takes linear time whatever it is given.

    Raises:
        ExpressionError: It is none.
    """
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        raise ExpressionError(f"pattern {pattern!a:.200}", "is no regular expression of RE2") from error


def _grep(value: Value, pattern: str) -> Value:
    regex = compile_pattern(pattern)
    lines = to_lines(to_text(value))
    return replace(value, kind="text", data="".join(line for line in lines if regex.search(line)))


async def render_template(template: str, value: Value) -> str:
    """Fill a Mustache template: a dict as is, a list as ``items``, CSV as ``headers`` and ``data_rows``, or ``text``.

    Raises:
        ExpressionError: The template cannot be rendered.
    """
    return str(await run_engine("mustache", await asyncio.to_thread(_context, await parsed(value)), template))


def _context(value: Value) -> dict[str, Any]:
    if "csv" in value.media_type:
        rows = to_json(value)
        headers = list(rows[0]) if rows and isinstance(rows[0], dict) else []
        return {"headers": headers, "data_rows": [[row.get(name) for name in headers] for row in rows]}
    try:
        data = to_json(value) if value.kind != "text" or "json" in value.media_type else value.data
    except ExpressionError:
        data = value.data
    if isinstance(data, dict):
        return data
    return {"items": data} if isinstance(data, list) else {"text": data}
