"""``kmnb.connect`` and ``kmnb.open_store``: the way in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kmnb import _bridge

if TYPE_CHECKING:
    from kmnb.frontends._settings import Resolved
    from kmnb.ops.workspace import Workspace
    from kmnb.storage._store import Store


def connect(
    url: str | None = None,
    *,
    namespace: str | None = None,
    crew: str | None = None,
    thread: str | None = None,
    agent: str | None = None,
    app: str | None = None,
    user: str | None = None,
    session: str | None = None,
    component: str | None = None,
    scope: str | None = None,
    handling_mode: str | None = None,
    layout: str | None = None,
    config: Mapping[str, Any] | str | os.PathLike[str] | None = None,
) -> Workspace:
    """Open a workspace on a store.

    Every argument that is not given comes from ``KMNB_…`` in the environment, else from a configuration file, else
    from a default; :attr:`Workspace.settings` tells which.

    Args:
        url: Address of the store; without any, a store in the user's data folder.
        namespace: First segment of discussion keys; ``default``.
        crew: Second segment of discussion keys; ``nocrew``.
        thread: Discussion thread; the notebook's path where it is known, else ``default``.
        agent: Producing agent; the login name.
        app: Application of named artifacts; ``kmnb``.
        user: User of named artifacts; the login name.
        session: Session of named artifacts; the thread.
        component: Component that owns the named artifacts in scope ``component``.
        scope: Who shares named artifacts, ``namespace`` or ``component``.
        handling_mode: What of a tool's artifacts reaches a model: ``ignore``, ``reference`` or ``embed``.
        layout: How named artifacts lie: ``kmnb``, or ``agent-mesh`` or ``adk`` for a store of that peer.
        config: A configuration file, or its content as a dict.

    Raises:
        BadRequest: A setting that cannot be meant.
        UnknownPlugin: No backend for that scheme.
        NotSupported: A layout that no peer has on such a store.
        StoreUnavailable: The store does not answer within the connect time-out.
    """
    call = {
        "url": url,
        "namespace": namespace,
        "crew": crew,
        "thread": thread,
        "agent": agent,
        "app": app,
        "user": user,
        "session": session,
        "component": component,
        "scope": scope,
        "handling_mode": handling_mode,
        "layout": layout,
    }
    from kmnb.frontends._settings import resolve

    return _bridge.run(_open(resolve(call, config)))


async def connect_async(url: str | None = None, **options: Any) -> Workspace:
    """Coroutine twin of :func:`connect`, safe to await on any loop."""
    from kmnb.frontends._settings import resolve

    config = options.pop("config", None)
    return await _bridge.bridge(_open(resolve({"url": url, **options}, config)))


async def _open(resolved: Resolved) -> Workspace:
    from kmnb.ops.context import Context
    from kmnb.ops.workspace import Workspace
    from kmnb.storage import open_backend

    backend = await open_backend(resolved.url, layout=resolved.settings.layout)
    return await Workspace.started(Context(backend, resolved.names, resolved.settings, origins=resolved.origins))


def open_store(url: str, **options: Any) -> Store:
    """Open a store for bytes only, without threads, envelopes or names.

    Args:
        url: Address of the store.
        options: Options of the backend.

    Raises:
        UnknownPlugin: No backend for that scheme.
        StoreUnavailable: The store does not answer within the connect time-out.
    """
    from kmnb import storage

    return storage.open_store(url, **options)


async def open_store_async(url: str, **options: Any) -> Store:
    """Coroutine twin of :func:`open_store`, safe to await on any loop."""
    from kmnb.storage import open_backend
    from kmnb.storage._store import Store

    return Store(await _bridge.bridge(open_backend(url, **options)))
