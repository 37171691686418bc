"""What the server extension can be configured with, its workspace, and its routes."""

from __future__ import annotations

import asyncio
from typing import Any

from jupyter_server.utils import url_path_join
from traitlets import Unicode
from traitlets.config import LoggingConfigurable

from kmnb.errors import NotSupported
from kmnb.frontends import _server_routes
from kmnb.frontends._outside import check_shared


class KmnbServer(LoggingConfigurable):
    """Settings of the extension, and the workspace that all requests share."""

    url = Unicode("", help="Store; empty for $KMNB_URL, the configuration file, or the default.").tag(config=True)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._workspace: Any = None
        self._opening = asyncio.Lock()

    async def workspace(self) -> Any:
        """Give the workspace; the first request opens it.

        Raises:
            NotSupported: The store lives inside another process.
            StoreUnavailable: It cannot be reached; the next request tries again.
        """
        async with self._opening:
            if self._workspace is None:
                self._workspace = await _open(self.url or None)
            return self._workspace


async def _open(url: str | None) -> Any:
    from kmnb._connect import connect_async

    workspace = await connect_async(url)
    try:
        check_shared(workspace)
    except NotSupported:
        await workspace.close_async()
        raise
    return workspace


def add_routes(serverapp: Any) -> None:
    """Add the routes to a server."""
    state = KmnbServer(parent=serverapp)
    base = url_path_join(serverapp.web_app.settings["base_url"], "kmnb")
    serverapp.web_app.add_handlers(
        ".*$", [(url_path_join(base, path), handler, {"state": state}) for path, handler in _server_routes.ROUTES]
    )
