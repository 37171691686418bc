"""The widgets: a preview of one artifact, a browser of a store, a panel of garbage collection."""

from __future__ import annotations

from typing import Any

from kmnb.core.cards import artifact_card, workspace_card
from kmnb.frontends._widget_base import Channel
from kmnb.frontends._widget_requests import Questions
from kmnb.frontends._widget_store import StoreQuestions


class PreviewWidget(Channel):
    """Shows one artifact."""

    def __init__(self, artifact: Any) -> None:
        card, kinds = artifact_card(artifact), views_of(artifact)
        told = {"part": "preview", "title": card.title, "lines": artifact.envelope().get("lines"), "views": kinds}
        # The key of a named artifact is a matter of the store; its address names it.
        named = artifact.uri if artifact.version is not None else artifact.key
        code = {"code": f"art = ws.get({named!r})"}
        super().__init__(card, Questions(artifact), dict(card.reference or {}) | told | code)


class StoreWidget(Channel):
    """Shows what a workspace's crew keeps in the store, and who made it."""

    def __init__(self, workspace: Any) -> None:
        super().__init__(*_of_workspace(workspace, "store"))


class CollectWidget(Channel):
    """Shows what garbage collection would delete, and lets a person do it."""

    def __init__(self, workspace: Any) -> None:
        super().__init__(*_of_workspace(workspace, "collect"))


def _of_workspace(workspace: Any, part: str) -> tuple[Any, StoreQuestions, dict[str, Any]]:
    names = workspace.names
    place = f"{names.namespace}/{names.crew}"
    reference = {"part": part, "title": f"{place} on {workspace.url}", "key": place, "thread": names.thread}
    return workspace_card(workspace.url, workspace.settings), StoreQuestions(workspace), reference


def views_of(artifact: Any) -> list[str]:
    """Tell the views that make sense for an artifact, the best one first; nothing is read."""
    media_type = (artifact.media_type or "").partition(";")[0]
    has_json = media_type.endswith(("json", "ndjson", "jsonl"))
    has_columns = bool(artifact.envelope().get("columns"))
    textual = has_json or has_columns or media_type.startswith("text/") or media_type.endswith(("yaml", "xml", "csv"))
    if not textual and media_type:
        return ["bytes", "text", "info"]
    first = (["table"] if has_columns or artifact.rows else []) if has_json or has_columns else []
    return [*first, *(["tree"] if has_json else []), "text", "bytes", "info"]
