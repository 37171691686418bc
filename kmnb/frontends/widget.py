"""``art.preview_widget()``, ``ws.browser()`` and ``ws.gc_panel()``: widgets that ask, and are answered by sips."""

from __future__ import annotations

from typing import Any

from kmnb.frontends._frontend import Frontend


def preview(artifact: Any) -> Any:
    """Make the interactive preview of a handle; its content is only read as it is looked at."""
    from kmnb.frontends._widget_class import PreviewWidget

    return PreviewWidget(artifact)


def store_browser(workspace: Any) -> Any:
    """Make the browser of a workspace's crew: threads, agents, tools, sizes, time to expiry."""
    from kmnb.frontends._widget_class import StoreWidget

    return StoreWidget(workspace)


def collect_panel(workspace: Any) -> Any:
    """Make the panel of garbage collection: a dry run first, then the deletion."""
    from kmnb.frontends._widget_class import CollectWidget

    return CollectWidget(workspace)


FRONTEND = Frontend("The widgets of notebooks.")
PREVIEW, BROWSER, COLLECT = preview, store_browser, collect_panel
