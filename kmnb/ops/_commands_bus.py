"""Commands over the bus, and over what reaches a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb.core.answers import Answer, line, table, text_answer
from kmnb.core.describe import Param
from kmnb.core.display import count_text
from kmnb.core.jsonable import json_text
from kmnb.ops._command import REF, command, word

_MESSAGES = 100


@command(
    "publish",
    "Publish an artifact to its discussion: the reference first, then the message.",
    REF,
    Param("text", "text", "What to say beside the reference."),
    Param("message_type", "text", "The signal.", default="agree"),
    Param("channel", "text", "The channel.", default="broadcast"),
    effect="write",
)
async def publish(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Publish a reference."""
    artifact = await workspace.get_async(given["ref"])
    number = await workspace.publish_async(
        artifact, given["text"], message_type=given["message_type"], channel=given["channel"]
    )
    return line(f"{artifact.key} published as {number}", {"key": artifact.key, "messageId": number})


@command(
    "discussion",
    "Show the messages of a discussion, oldest first.",
    word("thread", "Thread; the workspace's own when absent.", required=False),
    Param("limit", "integer", "Most messages.", default=_MESSAGES, minimum=1),
)
async def discussion(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """List messages."""
    found: list[Any] = []
    walk = workspace.discussion_async(given["thread"] or None)
    try:
        async for message in walk:
            found.append(message)
            if len(found) == given["limit"]:
                break
    finally:
        await walk.aclose()
    rows = [(one.agent, one.message_type, one.text, ", ".join(a.key for a in one.artifacts)) for one in found]
    return table(f"{count_text(len(found), 'messages')}", ("agent", "signal", "text", "artifacts"), rows, items=found)


@command(
    "project",
    "Show what of an artifact enters a model's history.",
    REF,
    Param("mode", "text", "How; the workspace's when absent.", choices=("ignore", "reference", "embed")),
)
async def project(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Project an artifact."""
    artifact = await workspace.get_async(given["ref"])
    part = await workspace.project_async(artifact, given["mode"])
    title = "nothing enters the history" if part is None else f"a part of type {part.get('type', 'unknown')}"
    return text_answer(title, "" if part is None else json_text(part, indent=2), part)


@command(
    "resolve",
    "Put the results in the place of embeds in a text.",
    word("text", "The text, for example «artifact_content:report.md»."),
    Param("stage", "text", "Which embeds.", default="late", choices=("early", "late", "all")),
)
async def resolve(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Resolve embeds."""
    found = await workspace.resolve_async(given["text"], stage=given["stage"])
    problems = [{"problem": one} for one in found.problems]
    return text_answer("resolved", str(found), {"text": str(found), "parts": found.parts, "problems": problems})


@command(
    "unfence",
    "Save the fenced artifact blocks of a text, and give the text without them.",
    word("text", "The text, with blocks between «««save_artifact: … and »»»."),
    effect="write",
)
async def unfence(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Save blocks."""
    found = await workspace.unfence_async(given["text"])
    problems = [{"problem": one} for one in found.problems]
    return text_answer("saved", str(found), {"text": str(found), "parts": found.parts, "problems": problems})


COMMANDS = (publish, discussion, project, resolve, unfence)
