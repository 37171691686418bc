"""What the server extension can be configured with, its workspace, and its routes."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from jupyter_server.utils import url_path_join
from tornado.ioloop import PeriodicCallback
from traitlets import Float, Unicode
from traitlets.config import LoggingConfigurable

from kmnb.errors import KmnbError, NotSupported
from kmnb.frontends import _server_routes
from kmnb.frontends._outside import check_shared


class KmnbServer(LoggingConfigurable):
    """Settings of the extension, and the workspace that all requests share."""

    url = Unicode("", help="Store; empty for $KMNB_URL, the configuration file, or the default.").tag(config=True)
    sweep_minutes = Float(30.0, min=0.0, help="Pause between two sweeps in minutes; 0 for none.").tag(config=True)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._workspace: Any = None
        self._opening: asyncio.Future[Any] | None = None
        self._sweeps: PeriodicCallback | None = None

    def begin_sweeping(self) -> None:
        """Sweep every so often while the server runs, where the last sweep of anybody is old enough."""
        if self.sweep_minutes:
            self._sweeps = PeriodicCallback(self._sweep, timedelta(minutes=self.sweep_minutes))
            self._sweeps.start()

    async def _sweep(self) -> None:
        from kmnb._bridge import bridge
        from kmnb.ops.sweeping import sweep_if_due

        # A little less, since a pause is never exact and the next chance is a whole one away.
        every = 0.9 * 60 * self.sweep_minutes
        try:
            report = await bridge(sweep_if_due((await self.workspace()).context, every=every))
        except NotSupported as error:
            self.log.debug("kmnb: nothing to sweep from here: %s", error)
        except (KmnbError, OSError, TimeoutError) as error:
            self.log.warning("kmnb: the sweep failed and is tried again: %s", error)
        else:
            if report is not None:
                self.log.info("kmnb: %s", report.title)

    async def workspace(self) -> Any:
        """Give the workspace; the first request opens it, and those that come meanwhile share what comes of it.

        Raises:
            NotSupported: The store lives inside another process.
            StoreUnavailable: It cannot be reached; the next request tries again.
        """
        if self._workspace is not None:
            return self._workspace
        if self._opening is None:
            self._opening = asyncio.ensure_future(_open(self.url or None))
            self._opening.add_done_callback(self._take)
        # A request that is given up must not end the attempt of the others.
        return await asyncio.shield(self._opening)

    def _take(self, opened: asyncio.Future[Any]) -> None:
        self._opening = None
        if not opened.cancelled() and opened.exception() is None:
            self._workspace = opened.result()


async def _open(url: str | None) -> Any:
    from kmnb._connect import connect_async

    # The server sweeps by its own setting.
    workspace = await connect_async(url, sweep_on_connect=False)
    try:
        check_shared(workspace)
    except NotSupported:
        await workspace.close_async()
        raise
    return workspace


def add_routes(serverapp: Any) -> None:
    """Add the routes to a server."""
    state = KmnbServer(parent=serverapp)
    state.begin_sweeping()
    base = url_path_join(serverapp.web_app.settings["base_url"], "kmnb")
    serverapp.web_app.add_handlers(
        ".*$", [(url_path_join(base, path), handler, {"state": state}) for path, handler in _server_routes.ROUTES]
    )
