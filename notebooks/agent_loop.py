"""A small agent on Google's Agent Development Kit, offline: artifacts in its three handling modes.

Usage::

    agent_loop.py             plays all three modes and prints what the model and the reader got

The model is a script that stands in for a real one: it asks for the pods, reads what it was given with the artifact
tools, and answers with a text that holds an embed. What a tool produced enters the model's history as the mode says:

ignore      nothing; the model finds it with list_artifacts and load_artifact
reference   name, version, type, size and columns; the model loads what it needs
embed       the content itself

The reply is streamed, and the embed in it is cut in the middle. The reader gets it resolved.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents import Agent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import ToolContext
from google.genai import types

import kmnb
from kmnb.integrations.adk import ArtifactService

MODES = ("ignore", "reference", "embed")
WHO = {"app": "reports", "user": "ann", "session": "monday"}
PODS = "namespace,pods\nkube-system,9\nscraper,15\n"
QUESTION = "How many pods has each namespace?"
REPLY = ("Pods by names", "pace: «artifact_content:pods.csv >>> select_cols:namespa", "ce,pods >>> format:json». Done.")


class ScriptedModel(BaseLlm):  # type: ignore[misc]  # the kit is not followed by the type checker
    """Stands in for a model: it gives one answer after another, and keeps what it was sent."""

    model: str = "scripted"
    turns: list[list[types.Part]]
    """What it answers, turn by turn."""
    seen: list[list[dict[str, Any]]] = []
    """The whole history that it was sent at each turn."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Give the next answer; the last one in pieces."""
        history = [content.model_dump(mode="json", exclude_none=True) for content in llm_request.contents]
        parts = self.turns[len(self.seen)]
        self.seen.append(history)
        if stream and len(parts) > 1:
            for part in parts:
                yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)
            parts = [types.Part(text="".join(part.text or "" for part in parts))]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


@dataclass
class Played:
    """What came of one run."""

    model_got: list[list[dict[str, Any]]]
    """The history at each turn of the model."""
    reader_got: list[str] = field(default_factory=list)
    """The pieces of the reply as the reader got them."""


def script(mode: str) -> list[list[types.Part]]:
    """What the model does in a mode: it looks for what it was not told."""
    turns = [[call("get_pods")]]
    if mode == "ignore":
        turns.append([call("list_artifacts")])
    if mode != "embed":
        turns.append([call("load_artifact", filename="pods.csv", version=0)])
    return [*turns, [types.Part(text=piece) for piece in REPLY]]


def call(name: str, **arguments: Any) -> types.Part:
    """A call of a tool, with an id that does not change from run to run."""
    return types.Part(function_call=types.FunctionCall(id=f"call-{name}", name=name, args=arguments))


async def play(mode: str, url: str = "memory://") -> Played:
    """Run the agent once.

    Args:
        mode: ``ignore``, ``reference`` or ``embed``.
        url: Store of the artifacts.
    """
    workspace = await kmnb.connect_async(url, handling_mode=mode, **WHO)

    async def get_pods(tool_context: ToolContext) -> dict[str, Any]:
        """Count the pods of each namespace."""
        part = types.Part(inline_data=types.Blob(data=PODS.encode(), mime_type="text/csv"))
        version = await tool_context.save_artifact("pods.csv", part)
        art = await workspace.load_async("pods.csv", version=version)
        projected = await workspace.project_async(art)
        return {"status": "success"} if projected is None else {"status": "success", "artifact": projected}

    model = ScriptedModel(turns=script(mode), seen=[])
    agent = Agent(name="reporter", model=model, tools=[get_pods, *kmnb.agent_tools_async(workspace)])
    sessions = InMemorySessionService()
    service = ArtifactService(workspace)
    runner = Runner(app_name=WHO["app"], agent=agent, session_service=sessions, artifact_service=service)
    await sessions.create_session(app_name=WHO["app"], user_id=WHO["user"], session_id=WHO["session"])
    played = Played(model.seen)
    async for text in workspace.resolve_async(reply_of(runner)):
        played.reader_got.append(str(text))
    await runner.close()
    await workspace.close_async()
    return played


async def reply_of(runner: Runner) -> AsyncIterator[str]:
    """Walk the pieces of the reply as the model streams them."""
    question = types.Content(role="user", parts=[types.Part(text=QUESTION)])
    events = runner.run_async(
        user_id=WHO["user"],
        session_id=WHO["session"],
        new_message=question,
        run_config=RunConfig(streaming_mode=StreamingMode.SSE),
    )
    async for event in events:
        if event.partial and event.content is not None:
            for part in event.content.parts or []:
                yield part.text or ""


def main() -> None:
    """Play every mode."""
    for mode in MODES:
        played = asyncio.run(play(mode))
        sys.stdout.write(f"== {mode}\n")
        for content in played.model_got[-1]:
            sys.stdout.write(f"model  {content['role']}: {json.dumps(content['parts'], ensure_ascii=False)}\n")
        sys.stdout.write(f"reader {''.join(played.reader_got)}\n\n")


if __name__ == "__main__":
    main()
