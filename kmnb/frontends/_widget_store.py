"""What the browser of a store and the panel of garbage collection may ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb.core.describe import Operation, Param
from kmnb.errors import BadRequest
from kmnb.frontends._widget_answers import Table, answered

OBJECTS_MAX = 20_000
"""Most artifacts that are added up; of more, the first ones, and the answer says so."""
PLACES_MAX = 500
"""Most places that are told, the largest first."""
PAGE_MAX = 100
"""Most artifacts, or verdicts, of one answer."""


class StoreQuestions:
    """Answers about the store of a workspace's crew.

    Args:
        workspace: The workspace.
    """

    def __init__(self, workspace: Any) -> None:
        self._workspace = workspace
        self._looked = False

    async def answer(self, message: Any) -> dict[str, Any]:
        """Answer one message of a browser; see :func:`~kmnb.frontends._widget_answers.answered`."""
        return await answered(self, QUESTIONS, message)

    async def places(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Add up what each thread, agent and tool keeps."""
        names = self._workspace.names
        found: dict[tuple[str, str, str], dict[str, Any]] = {}
        count, complete = 0, True
        walk = self._workspace.list_async(f"{names.namespace}/{names.crew}")
        try:
            async for artifact in walk:
                if count == OBJECTS_MAX:
                    complete = False
                    break
                count += 1
                _add(found, artifact)
        finally:
            await walk.aclose()
        places = sorted(found.values(), key=lambda place: (-place["bytes"], place["prefix"], place["tool"]))
        total = sum(place["bytes"] for place in places)
        code = f"ws.list({f'{names.namespace}/{names.crew}'!r})"
        return {"places": places[:PLACES_MAX], "objects": count, "bytes": total, "complete": complete, "code": code}

    async def objects(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """List the artifacts of a place, page by page."""
        names = self._workspace.names
        prefix = given["prefix"].rstrip("/")
        if not f"{prefix}/".startswith(f"{names.namespace}/{names.crew}/"):
            raise BadRequest("prefix", "lies outside the namespace and crew of this workspace")
        items: list[dict[str, Any]] = []
        place, walk = 0, self._workspace.list_async(prefix)
        try:
            async for artifact in walk:
                if given["tool"] is not None and _tool(artifact.key) != given["tool"]:
                    continue
                place += 1
                if place > given["start"]:
                    items.append(_object(artifact))
                if len(items) > min(given["limit"], PAGE_MAX):
                    break
        finally:
            await walk.aclose()
        more = len(items) > min(given["limit"], PAGE_MAX)
        return {"objects": items[: min(given["limit"], PAGE_MAX)], "more": more, "code": f"ws.list({prefix!r})"}

    async def look(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Tell what a sweep would delete, with a reason for each artifact."""
        report = await self._workspace.sweep_async(dry_run=True)
        self._looked = True
        return _report(report) | {"code": "ws.sweep(dry_run=True)"}

    async def collect(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Sweep; only after a look."""
        if not self._looked:
            raise BadRequest("collect", "nobody has looked what it would delete", "Make a dry run first.")
        self._looked = False
        return _report(await self._workspace.sweep_async()) | {"code": "ws.sweep()"}

    async def threads(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """List the threads that the registry knows."""
        answer = await self._workspace.threads_async()
        return {"threads": answer.data[:PLACES_MAX], "code": "ws.threads()"}


def _add(found: dict[tuple[str, str, str], dict[str, Any]], artifact: Any) -> None:
    parts = artifact.key.split("/")
    thread, agent = (parts[2], parts[3]) if len(parts) >= 5 else ("", "")
    name = (thread, agent, _tool(artifact.key))
    prefix = "/".join(parts[:4]) if len(parts) >= 5 else artifact.key
    place = found.setdefault(
        name,
        {
            "thread": thread,
            "agent": agent,
            "tool": name[2],
            "prefix": prefix,
            "objects": 0,
            "bytes": 0,
            "expires": None,
        },
    )
    place["objects"] += 1
    place["bytes"] += artifact.size or 0
    if artifact.expires_at is not None and (place["expires"] is None or artifact.expires_at < place["expires"]):
        place["expires"] = artifact.expires_at


def _tool(key: str) -> str:
    name = key.rpartition("/")[2]
    return name.rpartition("-")[0] or name


def _object(artifact: Any) -> dict[str, Any]:
    times = {"created": artifact.created_at, "expires": artifact.expires_at}
    return {"key": artifact.key, "bytes": artifact.size, **times}


def _report(report: Any) -> dict[str, Any]:
    told: dict[str, Any] = report.to_json()
    return told | {"objects": told["objects"][:PAGE_MAX], "title": report.text.split("\n", 1)[0]}


QUESTIONS: Table = {
    "places": (Operation("places", "What each thread, agent and tool keeps."), StoreQuestions.places),
    "objects": (
        Operation(
            "objects",
            "Artifacts of a place.",
            (
                Param("prefix", "text", "Prefix of whole segments.", required=True),
                Param("tool", "text", "Tool."),
                Param("start", "integer", "First one, from 0.", default=0, minimum=0),
                Param("limit", "integer", "Most of them.", default=20, minimum=1),
            ),
        ),
        StoreQuestions.objects,
    ),
    "look": (Operation("look", "What a sweep would delete."), StoreQuestions.look),
    "collect": (Operation("collect", "Sweep."), StoreQuestions.collect),
    "threads": (Operation("threads", "Threads of the registry."), StoreQuestions.threads),
}
"""Every question that a browser may ask."""
