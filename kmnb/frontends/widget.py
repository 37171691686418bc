"""``art.preview_widget()``: one anywidget that pages through an artifact by sips."""

from __future__ import annotations

from typing import Any

from kmnb.frontends._frontend import Frontend


def preview(artifact: Any) -> Any:
    """Make the interactive preview of a handle; its content is only read as it is looked at."""
    from kmnb.frontends._widget_class import PreviewWidget

    return PreviewWidget(artifact)


FRONTEND = Frontend("The interactive preview of notebooks.")
PREVIEW = preview
