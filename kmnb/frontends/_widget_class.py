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
from kmnb.frontends._widget_requests import answer


@cache
def asset(name: str) -> str:
    """Read a file of the browser's part."""
    return files("kmnb.frontends").joinpath("static", name).read_text(encoding="utf-8")


_PARTS = ("dom", "ask", "pager", "grid", "text", "main")
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
        self._artifact = artifact
        card = artifact_card(artifact)
        lines = artifact.envelope().get("lines")
        told = dict(card.reference or {}) | {"title": card.title, "lines": lines, "kind": _kind(artifact)}
        super().__init__(reference=told, module=module_version())
        self.on_msg(self._on_message)

    def _on_message(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if isinstance(message, dict) and message.get("ask") == "module":
            # The page keeps it: further previews on the same page do not ask.
            self.send({"id": message.get("id"), "answer": {"js": module_source(), "css": asset("preview.css")}})
        else:
            self.send(_bridge.run(answer(self._artifact, message)))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        shown = bundle(artifact_card(self._artifact))
        widget = super()._repr_mimebundle_(**options)
        data, metadata = widget if isinstance(widget, tuple) else (widget or {}, {})
        # Last in the bundle: whoever cannot show widgets takes the static twin.
        return shown | {name: value for name, value in data.items() if name not in shown}, metadata


def _kind(artifact: Any) -> str:
    """Tell which view comes first: ``table``, ``text`` or ``bytes``."""
    media_type = (artifact.media_type or "").partition(";")[0]
    if artifact.envelope().get("columns"):
        return "table"
    textual = media_type.startswith("text/") or media_type.endswith(("json", "yaml", "xml", "ndjson"))
    return "text" if textual or not media_type else "bytes"
