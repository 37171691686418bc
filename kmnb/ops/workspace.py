"""The workspace: one object for everything a person or an agent does with artifacts."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from kmnb import _plugins
from kmnb._bridge import as_whole, blocking, bridged
from kmnb.core.cards import workspace_card
from kmnb.core.config import Names, Setting
from kmnb.core.display import bundle, flat
from kmnb.ops._face_bus import BusFace
from kmnb.ops._face_compute import ComputeFace
from kmnb.ops._face_named import NamedFace
from kmnb.ops._face_project import ProjectFace
from kmnb.ops._face_store import StoreFace
from kmnb.ops._face_threads import ThreadFace
from kmnb.ops._hooks import Hooks
from kmnb.ops._standing import Standing
from kmnb.ops.background import end_with, start_background
from kmnb.ops.context import Context


@as_whole
class Workspace(Standing, StoreFace, NamedFace, ThreadFace, BusFace, ComputeFace, ProjectFace):
    """Artifacts of one store, seen from one namespace, crew, thread and agent. Made by :func:`kmnb.connect`.

    Every verb that touches the store blocks and has a twin with ``_async`` that is safe to await on any loop.
    After an error the workspace works on.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        context.live.hooks = Hooks(context)
        self._stop = end_with(context)

    @classmethod
    async def started(cls, context: Context) -> Self:
        """Make a workspace and start its background work; call it on kmnb's loop."""
        workspace = cls(context)
        start_background(context)
        return workspace

    def __repr__(self) -> str:
        names = self.names
        return f"<kmnb workspace {flat(f'{names.namespace}/{names.crew}/{names.thread}')} on {flat(self.url)}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(workspace_card(self.url, self.settings))

    @property
    def url(self) -> str:
        """The store's address without user info or secrets."""
        return self.context.backend.url

    @property
    def names(self) -> Names:
        """Namespace, crew, thread, agent, app, user and session."""
        return self.context.names

    @property
    def namespace(self) -> str:
        """Namespace of discussion keys."""
        return self.names.namespace

    @property
    def crew(self) -> str:
        """Crew of discussion keys."""
        return self.names.crew

    @property
    def thread(self) -> str:
        """The discussion."""
        return self.names.thread

    @property
    def agent(self) -> str:
        """Producing agent."""
        return self.names.agent

    @property
    def app(self) -> str:
        """Application of named artifacts."""
        return self.names.app

    @property
    def user(self) -> str:
        """User of named artifacts."""
        return self.names.user

    @property
    def session(self) -> str:
        """Session of named artifacts."""
        return self.names.session

    @property
    def scope(self) -> str:
        """Who shares named artifacts: ``namespace`` or ``component``."""
        return self.names.scope

    @property
    def handling_mode(self) -> str:
        """What of a tool's artifacts reaches a model: ``ignore``, ``reference`` or ``embed``."""
        return self.context.settings.handling_mode

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Every setting with its value and where it comes from."""
        return self.context.origins

    def browser(self) -> Any:
        """Make a widget that shows threads, agents, tools, sizes and time to expiry, live.

        Raises:
            ImportError: Widgets are not installed.
        """
        return _plugins.load("kmnb.frontends", "kmnb.frontends", "widget", "BROWSER")(self)

    def gc_panel(self) -> Any:
        """Make a widget that shows what a sweep would delete and why, and lets a person do it.

        Raises:
            ImportError: Widgets are not installed.
        """
        return _plugins.load("kmnb.frontends", "kmnb.frontends", "widget", "COLLECT")(self)

    async def _close(self) -> None:
        """Let go of connections, threads and files. Closing twice is harmless; what is stored stays."""
        await self._stop()

    close, close_async = blocking(_close), bridged(_close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close_async()
