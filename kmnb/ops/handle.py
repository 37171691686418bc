"""The handle: the lazy object a person holds. Showing it costs no I/O."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kmnb import _plugins
from kmnb._bridge import as_whole, blocking, bridge, bridged, run
from kmnb._cell_errors import shorten
from kmnb.core.bounds import KEY_MAX_BYTES
from kmnb.core.cards import artifact_card
from kmnb.core.display import bundle, count_text, flat, joined, size_text
from kmnb.core.metadata import ObjectInfo
from kmnb.core.slice import Slice
from kmnb.errors import ArtifactNotFound
from kmnb.ops._handle_facts import HandleFacts
from kmnb.ops._handle_frames import FrameMethods
from kmnb.ops._handle_reading import ReadMethods
from kmnb.ops._handle_sips import SipMethods
from kmnb.ops._standing import Standing
from kmnb.ops.sip import Source, run_sip, sip_names

if TYPE_CHECKING:
    from kmnb.core.charts import Chart
    from kmnb.storage._protocols import Backend, ObjectArea

T = TypeVar("T")


class HandleContext(Protocol):
    """What a handle needs of the context that made it."""

    @property
    def backend(self) -> Backend:
        """The opened store."""


class HandleHooks(Protocol):
    """Use cases of the workspace that a handle offers as methods."""

    async def keep(self, artifact: Artifact, name: str, **options: Any) -> Artifact:
        """Copy the artifact to a named one and give its handle."""

    async def hold(self, artifact: Artifact, reason: str, **options: Any) -> None:
        """Delay its collection."""

    async def release(self, artifact: Artifact) -> None:
        """Take the hold back."""

    async def elsewhere(self, artifact: Artifact) -> tuple[ObjectArea, ObjectInfo]:
        """Find the held copy of an artifact that is gone; raises ArtifactNotFound with the reason."""


@as_whole
class Artifact(Standing, HandleFacts, SipMethods, ReadMethods, FrameMethods):
    """One artifact: what is known of it, bounded reads, and the way to its bytes.

    Properties and every way of showing it do no I/O; unknown facts are None. Methods that do I/O have a twin with the
    suffix ``_async``. A sip of an installed plug-in is a method too.

    Args:
        context: What made it; it has the opened store.
        key: Key in its area.
        hooks: The workspace's use cases behind ``keep``, ``hold`` and ``release``.
        store: Where its bytes are, when it is not an area of the store: views and held copies.
        facts: Further facts, see :class:`~kmnb.ops._handle_facts.HandleFacts`.
    """

    def __init__(
        self,
        context: HandleContext,
        *,
        key: str,
        hooks: HandleHooks | None = None,
        store: ObjectArea | None = None,
        **facts: Any,
    ) -> None:
        super().__init__(key, **facts)
        self._context, self._hooks = context, hooks
        self._elsewhere = store

    @property
    def _store(self) -> ObjectArea:
        area: ObjectArea = getattr(self._context.backend, self._area.value)
        return self._elsewhere or area

    async def _known(self) -> ObjectInfo:
        """Ask the store once; what it told is remembered."""
        if self._info is None or self._info.size is None or self._info.identity is None:
            try:
                self._info = await self._store.head(self._key)
            except ArtifactNotFound:
                if self._hooks is None:
                    raise
                self._elsewhere, self._info = await self._hooks.elsewhere(self)
        return self._info

    async def locate(self) -> tuple[ObjectArea, ObjectInfo]:
        """Tell the area and the facts of the bytes; a coroutine of kmnb's loop.

        Raises:
            ArtifactNotFound: It is gone.
            DigestMismatch: The envelope that the handle came from tells of other bytes.
        """
        info = await self._known()
        return self._store, self._as_claimed(info)

    async def _reading(self, read: Callable[[ObjectArea, ObjectInfo], Awaitable[T]]) -> T:
        """Read by what is known; what is gone meanwhile is looked for among held copies, else the reason is told."""
        info = await self._known()
        try:
            return await read(self._store, info)
        except ArtifactNotFound:
            if self._hooks is None or self._elsewhere is not None:
                raise
            self._elsewhere, self._info = await self._hooks.elsewhere(self)
        return await read(self._elsewhere, self._info)

    async def _sip(self, name: str, /, **arguments: Any) -> Slice:
        """Take a sip by its name, with the arguments that it declares; front ends are derived from that.

        Args:
            name: Name of the sip.
            arguments: Its arguments, unchecked.
        """
        return await self._reading(lambda area, info: run_sip(Source(area, info), name, arguments))

    async def _keep(self, /, name: str, **options: Any) -> Artifact:
        """Copy it to a named artifact, which stays until it is removed.

        Args:
            name: File name; ``user:`` before it means user scope.
            options: Further arguments of the workspace's ``save``.

        Returns:
            The handle of the new version.
        """
        return await self._use_cases().keep(self, name, **options)

    async def _hold(self, /, reason: str, **options: Any) -> None:
        """Delay its collection.

        Args:
            reason: Why; it is shown to whoever looks at the sweep.
            options: How long.
        """
        await self._use_cases().hold(self, reason, **options)

    async def _release(self) -> None:
        """Take back a hold."""
        await self._use_cases().release(self)

    sip, sip_async = blocking(_sip), bridged(_sip)
    keep, keep_async = blocking(_keep), bridged(_keep)
    hold, hold_async = blocking(_hold), bridged(_hold)
    release, release_async = blocking(_release), bridged(_release)

    def _use_cases(self) -> HandleHooks:
        if self._hooks is None:
            raise TypeError("this handle was made without a workspace")
        return self._hooks

    async def _chart(self, column: str | None = None) -> Chart:
        """Draw a column's values as a histogram, or a Prometheus range as lines.

        Args:
            column: A column with numbers; the first one when absent.

        Raises:
            BadRequest: There is nothing to draw.
            BoundExceeded: The artifact has more than 16 MiB.
        """
        from kmnb.ops.charts import artifact_chart

        return await artifact_chart(self, column)

    chart, chart_async = blocking(_chart), bridged(_chart)

    def preview_widget(self) -> Any:
        """Make the interactive preview: a widget that pages through the artifact by sips.

        Raises:
            ImportError: Widgets are not installed.
        """
        return _plugins.load("kmnb.frontends", "kmnb.frontends", "widget", "PREVIEW")(self)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        bare = name.removesuffix("_async")
        if name.startswith("_") or bare not in sip_names():
            told = f"{type(self).__name__!r} object has no attribute {name!r}"
            error = AttributeError(told, name=name, obj=self)  # Python offers near names
            shorten(error)
            raise error

        def method(*values: Any, **arguments: Any) -> Any:
            asked = self._sip(bare, **_named(bare, values, arguments))
            return bridge(asked) if name.endswith("_async") else run(asked)

        method.__name__ = name
        return method

    def __dir__(self) -> list[str]:
        sips = sip_names()
        return sorted({*super().__dir__(), *sips, *(f"{name}_async" for name in sips)})

    def __repr__(self) -> str:
        facts = [size_text(self.size), count_text(self.rows, "rows"), flat(self.media_type)]
        return f"<Artifact {joined([flat(self._key, KEY_MAX_BYTES), *facts])}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(artifact_card(self))


def _named(name: str, values: tuple[Any, ...], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Give positional values of a sip their names."""
    from kmnb.ops.sip import sip_operation

    places = [param.name for param in sip_operation(name).params if param.positional]
    if len(values) > len(places) or any(place in arguments for place in places[: len(values)]):
        raise TypeError(f"{name}() takes {', '.join(places) or 'no values'} by position, each once")
    return {**dict(zip(places, values, strict=False)), **arguments}


__all__ = ["Artifact", "HandleContext", "HandleHooks"]
