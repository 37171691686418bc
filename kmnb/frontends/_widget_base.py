"""What every widget has in common: two small synced values, everything else by questions and answers."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from kmnb import _bridge
from kmnb.core.display import MARKUP_MAX_BYTES, Card, bundle, markup


@cache
def asset(name: str) -> str:
    """Read a file of the browser's part."""
    return files("kmnb.frontends").joinpath("static", name).read_text(encoding="utf-8")


_PARTS = (
    "dom", "ask", "pager", "head", "filters", "grid", "text", "tree", "info", "copy", "preview", "store", "collect",
    "main",
)  # fmt: skip
_VIEW = "application/vnd.jupyter.widget-view+json"
_ALONE = (
    "<style>.jp-OutputArea-child:has(.kmnb-twin) + .jp-OutputArea-child:has(> .lm-Panel):not(:has(.kmnb-live))"
    ' { display: none; }</style><div class="kmnb-twin">'
)
"""Begins a twin that is followed by its widget, which is a panel; its loader says that it lives."""
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


class Channel(anywidget.AnyWidget):
    """A widget that is asked and answers. The browser's part is sent once a page, on demand; no content is ever state.

    Args:
        card: The static twin.
        questions: Has a coroutine ``answer(message)``.
        reference: Small facts for the browser's part; ``part`` says which part it is.
    """

    _esm = asset("loader.js")
    reference = traitlets.Dict().tag(sync=True)
    module = traitlets.Unicode().tag(sync=True)

    def __init__(self, card: Card, questions: Any, reference: dict[str, Any]) -> None:
        self._card, self._questions = card, questions
        super().__init__(reference=reference, module=module_version())
        self.on_msg(self._on_message)

    def _on_message(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if isinstance(message, dict) and message.get("ask") == "module":
            # The page keeps it: further widgets on the same page do not ask.
            self.send({"id": message.get("id"), "answer": {"js": module_source(), "css": asset("preview.css")}})
        else:
            self.send(_bridge.run(self._questions.answer(message)))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        view, metadata = self._view(**options)
        # Last in the bundle: whoever cannot show widgets takes the static twin.
        return bundle(self._card) | view, metadata

    def _ipython_display_(self) -> None:
        """Show the static twin and the widget as two outputs.

        A saved notebook is opened without the widget's model, and then JupyterLab does not fall back to the HTML of
        the same output. While the widget lives, it hides the twin; where there is none, the twin's style hides what
        stands in its place.
        """
        from IPython.display import display

        show: Any = display
        view, metadata = self._view()
        twin = bundle(self._card)
        if view:
            twin["text/html"] = f"{_ALONE}{markup(self._card, max_bytes=MARKUP_MAX_BYTES - len(_ALONE) - 6)}</div>"
        show(twin, raw=True)
        if view:
            told = {"text/plain": "(interactive: run the cell to use it)"}
            show(told | view, metadata=metadata, raw=True)

    def _view(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Give what shows the widget, without any other form of it."""
        made: Any = super()._repr_mimebundle_(**options)
        data, metadata = made if isinstance(made, tuple) else (made or {}, {})
        return {name: value for name, value in data.items() if name == _VIEW}, metadata
