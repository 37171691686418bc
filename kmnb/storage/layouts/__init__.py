"""Stores of the peers, opened as they are: named artifacts lie where Agent Mesh or Google's kit looks for them.

Everything else of kmnb (discussions, counters, facts) lies below ``.kmnb`` in the same store, where no peer looks.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from kmnb.core.layouts import LAYOUTS
from kmnb.core.peer_names import OWN_FOLDER
from kmnb.core.urls import bare_url
from kmnb.errors import BadRequest, NotSupported
from kmnb.storage._life import Life
from kmnb.storage._protocols import Backend
from kmnb.storage._urls import split_url
from kmnb.storage._wrappers import WrappedBackend
from kmnb.storage.backends._bucket import BucketBackend
from kmnb.storage.layouts._area import LayoutArea
from kmnb.storage.layouts._kit_folder import KitFolder
from kmnb.storage.layouts._mesh_folder import MeshFolder
from kmnb.storage.layouts._objects import ObjectShelf
from kmnb.storage.layouts._shelf import Shelf

__all__ = ["LayoutBackend", "open_layout"]

Opener = Callable[[str, Mapping[str, Any]], Awaitable[Backend]]


class LayoutBackend(WrappedBackend):
    """A store whose named artifacts lie in a peer's layout.

    Args:
        inner: kmnb's own things, below ``.kmnb``.
        shelf: The peer's.
        url: Address of the whole store, without secrets.
        layout: Name of the layout.
    """

    def __init__(self, inner: Backend, shelf: Shelf, *, url: str, layout: str) -> None:
        self._layout, self._url, self._life = layout, url, Life(url)
        self._area = LayoutArea(shelf, inner.named, life=self._life)
        super().__init__(inner, discussions=inner.discussions, named=self._area)

    async def close(self) -> None:
        """Close the store; see the protocol."""
        self._life.end()
        await super().close()

    @property
    def layout(self) -> str:
        """Name of the layout."""
        return self._layout

    @property
    def url(self) -> str:
        """The store's address without secrets."""
        return self._url

    @property
    def unplaced(self) -> tuple[int, list[str]]:
        """How many things the last walk over everything could not read as a version, and the first of them."""
        return self._area.shelf.unplaced.count, list(self._area.shelf.unplaced.paths)

    async def faults(self, app: str, prefixes: tuple[str, ...], *, most: int) -> AsyncIterator[str]:
        """Walk what is wrong with an application's name and with the versions of some scopes, one line each.

        Args:
            app: The application.
            prefixes: Prefixes of the scopes.
            most: How many versions are looked at.
        """
        for line in self._area.shelf.warnings(app):
            yield line
        for prefix in prefixes:
            async for info in self._area.list(prefix):
                most -= 1
                if most < 0:
                    return
                for fault in await self._area.faults(info.key):
                    yield f"{info.key}: {fault}"


async def open_layout(url: str, options: Mapping[str, Any], *, layout: str, opener: Opener) -> Backend:
    """Open a peer's store.

    Args:
        url: Where the peer's tree begins: its folder, or its bucket and prefix.
        options: Options of the backend.
        layout: ``agent-mesh`` or ``adk``; on ``gs://`` both mean the kit's, which Agent Mesh uses there.
        opener: Opens a store in kmnb's own layout.

    Raises:
        BadRequest: An unknown layout.
        NotSupported: No peer keeps artifacts on such a store.
    """
    if layout not in LAYOUTS:
        raise BadRequest(f"layout {layout!a:.80}", "there is none", f"Known: {', '.join(LAYOUTS)}.")
    parts = split_url(url)
    if parts.scheme == "file":
        inner = await opener(_below(url), options)
        return _of_folder(inner, parts.path, layout)
    whole = await opener(url, options)
    if not isinstance(whole, BucketBackend):
        await whole.close()
        step = "Take a folder or a bucket, or layout='kmnb'."
        raise NotSupported(f"layout {layout!r}", f"no peer keeps artifacts on {parts.scheme}://", step)
    is_mesh = layout == "agent-mesh" and parts.scheme != "gs"
    shelf = ObjectShelf(whole.bucket, whole.prefix, is_mesh=is_mesh)
    return LayoutBackend(whole.below(f"{OWN_FOLDER}/"), shelf, url=whole.url, layout=layout)


def _of_folder(inner: Backend, path: str, layout: str) -> Backend:
    root = os.path.abspath(path)
    staging = os.path.join(root, OWN_FOLDER, "staging")
    shelf: Shelf = MeshFolder(root, staging) if layout == "agent-mesh" else KitFolder(root, staging)
    return LayoutBackend(inner, shelf, url=f"file://{root}", layout=layout)


def _below(url: str) -> str:
    parts = urlsplit(bare_url(url))
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{quote(OWN_FOLDER)}"))
