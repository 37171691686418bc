"""Jupyter Server extension: the same operations over REST, below ``<base url>kmnb/``.

The wheel enables it. Kernel and server find their store by the same rule: the option, ``$KMNB_URL``, the
configuration file, the default.
"""

from __future__ import annotations

from typing import Any

from kmnb.frontends._frontend import Frontend


def _load_jupyter_server_extension(serverapp: Any) -> None:
    """Add the routes to a server; called by Jupyter Server."""
    from kmnb.frontends._server_app import add_routes

    add_routes(serverapp)


FRONTEND = Frontend("The Jupyter Server extension.")
