"""Stores: bytes in, bytes out. See ``_protocols`` for what every backend guarantees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb import _plugins
from kmnb._bridge import run
from kmnb.errors import UnknownPlugin
from kmnb.storage._protocols import Backend, BackendPlugin
from kmnb.storage._store import Store
from kmnb.storage._urls import split_url
from kmnb.storage._wrappers import ReadOnlyBackend

__all__ = ["Store", "open_backend", "open_store"]

_PACKAGE, _GROUP = "kmnb.storage.backends", "kmnb.backends"


async def open_backend(url: str, *, read_only: bool = False, layout: str = "kmnb", **options: Any) -> Backend:
    """Open a store by its URL; what is missing is made.

    Args:
        url: ``memory://``, ``file:///path``, ``nats://host``, ``nats+embedded:///path``, ``s3://bucket/prefix``,
            ``gs://…``, ``az://…``.
        read_only: Whether every write is refused.
        layout: How named artifacts lie: ``kmnb``, ``agent-mesh`` or ``adk``.
        options: Options of the backend; the URL's query may hold them too.

    Returns:
        Areas of objects and records, and perhaps a bus. Its verbs run on kmnb's own loop.

    Raises:
        BadRequest: It is no URL, or an option is unknown.
        UnknownPlugin: No backend opens that scheme; near names are listed.
        StoreUnavailable: The store does not answer within the connect time-out.
        StoreDenied: It refuses the credentials.
    """
    if layout != "kmnb":
        from kmnb.storage.layouts import open_layout

        backend = await open_layout(url, options, layout=layout, opener=_open)
    else:
        backend = await _open(url, options)
    return ReadOnlyBackend(backend) if read_only else backend


async def _open(url: str, options: Mapping[str, Any]) -> Backend:
    scheme = split_url(url).scheme
    # nats+embedded is opened by the file nats: what stands before the plus names the file.
    name = scheme.partition("+")[0]
    plugin = _plugin(name) if name in _plugins.names(_PACKAGE, _GROUP) else None
    if plugin is None or scheme not in plugin.schemes:
        known = sorted(word for name in _plugins.names(_PACKAGE, _GROUP) for word in _plugin(name).schemes)
        raise UnknownPlugin(f"store scheme {scheme!r}", "there is none", f"Known: {', '.join(known)}")
    return await plugin.open(url, options)


def _plugin(name: str) -> BackendPlugin:
    plugin: BackendPlugin = _plugins.load(_PACKAGE, _GROUP, name, "BACKEND")
    return plugin


def open_store(url: str, **options: Any) -> Store:
    """Open a store of bytes by its URL; see :func:`open_backend` for schemes and errors.

    Args:
        url: The store's URL.
        options: ``read_only``, and options of the backend.

    Returns:
        A store with blocking verbs and ``_async`` twins.
    """
    return Store(run(open_backend(url, **options)))
