"""The widget: two small synced values, everything else by questions and answers."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from kmnb import _bridge
from kmnb.core.cards import artifact_card
from kmnb.core.display import bundle
from kmnb.frontends._widget_requests import Questions


@cache
def asset(name: str) -> str:
    """Read a file of the browser's part."""
    return files("kmnb.frontends").joinpath("static", name).read_text(encoding="utf-8")


_PARTS = ("dom", "ask", "pager", "head", "filters", "grid", "text", "tree", "info", "copy", "main")
_IMPORT = re.compile(r"^import .*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?!function mount)", re.MULTILINE)


@cache
def module_source() -> str:
    """Put the browser's modules together into one: what a notebook loads has no address that imports could refer to."""
    parts = (asset(f"preview/{name}.js") for name in _PARTS)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", part)) for part in parts)


@cache
def module_version() -> str:
    """Name the version of the browser's part by its content."""
    return hashlib.sha256((module_source() + asset("preview.css")).encode()).hexdigest()[:16]


class PreviewWidget(anywidget.AnyWidget):
    """Shows one artifact. The browser's part is sent once a page, on demand; no content is ever synced state."""

    _esm = asset("loader.js")
    reference = traitlets.Dict().tag(sync=True)
    module = traitlets.Unicode().tag(sync=True)

    def __init__(self, artifact: Any) -> None:
        self._artifact, self._questions = artifact, Questions(artifact)
        card = artifact_card(artifact)
        kinds = views_of(artifact)
        told = {"title": card.title, "lines": artifact.envelope().get("lines"), "kind": kinds[0], "views": kinds}
        super().__init__(reference=dict(card.reference or {}) | told, module=module_version())
        self.on_msg(self._on_message)

    def _on_message(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if isinstance(message, dict) and message.get("ask") == "module":
            # The page keeps it: further previews on the same page do not ask.
            self.send({"id": message.get("id"), "answer": {"js": module_source(), "css": asset("preview.css")}})
        else:
            self.send(_bridge.run(self._questions.answer(message)))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        shown = bundle(artifact_card(self._artifact))
        view, metadata = self._view(**options)
        # Last in the bundle: whoever cannot show widgets takes the static twin.
        return shown | view, metadata

    def _ipython_display_(self) -> None:
        """Show the static twin and the widget as two outputs.

        A saved notebook is opened without the widget's model, and then JupyterLab does not fall back to the HTML of
        the same output. While the widget lives, it hides the twin.
        """
        from IPython.display import display

        show: Any = display
        show(bundle(artifact_card(self._artifact)), raw=True)
        view, metadata = self._view()
        if view:
            told = {"text/plain": "(interactive preview: run the cell to use it)"}
            show(told | view, metadata=metadata, raw=True)

    def _view(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Give what shows the widget, without any other form of it."""
        made: Any = super()._repr_mimebundle_(**options)
        data, metadata = made if isinstance(made, tuple) else (made or {}, {})
        return {name: value for name, value in data.items() if name == _VIEW}, metadata


_VIEW = "application/vnd.jupyter.widget-view+json"


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
