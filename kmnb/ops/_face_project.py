"""The part of a workspace that decides what reaches a model, and what a reply pulls in."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Iterable, Iterator
from typing import TYPE_CHECKING, Any, overload

from kmnb._bridge import blocking, bridge, bridged, run
from kmnb.errors import BadRequest
from kmnb.ops.context import Context
from kmnb.ops.fences import Blocks
from kmnb.ops.handle import Artifact
from kmnb.ops.pins import load_pinned

if TYPE_CHECKING:
    from kmnb.ops.embeds import Resolved, Resolver


class ProjectFace:
    """Projection and embeds."""

    context: Context

    async def _project(self, art: Artifact | str, mode: str | None = None) -> dict[str, Any] | None:
        """Make what of an artifact enters a model's history: a typed content part, as JSON values.

        The answer is made of the stored version alone, so it is the same at every turn.

        Args:
            art: A handle, or the name of a named artifact.
            mode: ``ignore``, ``reference`` or ``embed``; None for the workspace's.

        Returns:
            ``ignore``: None. ``reference``: name, version, MIME type, size in bytes and schema summary, without a URL
            and without bytes. ``embed``: the content, as text or in base64; what is larger than ``embed_max_bytes``
            is a reference, decided before anything is read.

        Raises:
            BadRequest: An unknown mode.
            ArtifactNotFound: It is no longer there.
        """
        from kmnb.ops.project import project_artifact

        artifact = await load_pinned(self.context, art) if isinstance(art, str) else art
        return await project_artifact(self.context, artifact, mode)

    project, project_async = blocking(_project), bridged(_project)

    @overload
    def resolve(self, text: str, *, stage: str = "late") -> Resolved: ...  # type: ignore[overload-overlap]
    @overload
    def resolve(self, text: Iterable[str], *, stage: str = "late") -> Iterator[Resolved]: ...
    def resolve(self, text: str | Iterable[str], *, stage: str = "late") -> Resolved | Iterator[Resolved]:
        """Put the results in the place of embeds such as ``«artifact_content:report.md»``.

        Names are looked up in the scope of this workspace. What fails becomes a text in brackets; nothing is raised
        for what the text holds. Embeds of another stage or of an unknown type stay as they are.

        Args:
            text: A text, or a stream of pieces of it; an embed may be cut anywhere.
            stage: ``late`` for a reply to a reader, ``early`` for what a model writes, ``all`` for arguments of tools.

        Returns:
            The text, a ``str`` whose ``parts`` tell what left it: attached files, typed references in the place of
            what is larger than ``embed_max_bytes``, progress events. For a stream an iterator of such texts.

        Raises:
            BadRequest: An unknown stage, or neither text nor a stream of texts.
        """
        from kmnb.ops.embeds import Resolver

        resolver = Resolver(self.context, stage)
        if isinstance(text, str):
            return run(resolver.whole(text))
        if not isinstance(text, Iterable) or isinstance(text, bytes | bytearray | memoryview):
            raise _no_text(text)
        return _pieces(resolver, text)

    @overload
    def resolve_async(  # type: ignore[overload-overlap]
        self, text: str, *, stage: str = "late"
    ) -> Coroutine[Any, Any, Resolved]: ...
    @overload
    def resolve_async(
        self, text: AsyncIterable[str] | Iterable[str], *, stage: str = "late"
    ) -> AsyncIterator[Resolved]: ...
    def resolve_async(
        self, text: str | AsyncIterable[str] | Iterable[str], *, stage: str = "late"
    ) -> Coroutine[Any, Any, Resolved] | AsyncIterator[Resolved]:
        """Twin of :meth:`resolve`: a coroutine for a text, an async iterator for a stream; safe on any loop."""
        from kmnb.ops.embeds import Resolver

        resolver = Resolver(self.context, stage)
        if isinstance(text, str):
            return bridge(resolver.whole(text))
        if isinstance(text, bytes | bytearray | memoryview) or not isinstance(text, AsyncIterable | Iterable):
            raise _no_text(text)
        return _pieces_async(resolver, text)

    @overload
    def unfence(self, text: str) -> Resolved: ...  # type: ignore[overload-overlap]
    @overload
    def unfence(self, text: Iterable[str]) -> Iterator[Resolved]: ...
    def unfence(self, text: str | Iterable[str]) -> Resolved | Iterator[Resolved]:
        """Save the fenced blocks of what a model writes, and give the text without them.

        A block begins with a line ``«««save_artifact: filename="…" mime_type="…" description="…" tags="…"`` and ends
        with ``»»»``; what stands between is the next version of that name. A block without its end becomes text again.

        Args:
            text: A text, or a stream of pieces of it; a block may be cut anywhere.

        Returns:
            The text, a ``str`` whose ``parts`` tell how far each block is, in the peer's shape, and in the end its
            version; ``problems`` are the texts that stand for blocks that could not be saved.

        Raises:
            BadRequest: Neither text nor a stream of texts.
        """
        blocks = Blocks(self.context)
        if isinstance(text, str):
            return run(blocks.whole(text))
        if not isinstance(text, Iterable) or isinstance(text, bytes | bytearray | memoryview):
            raise _no_text(text)
        return _pieces(blocks, text)

    @overload
    def unfence_async(self, text: str) -> Coroutine[Any, Any, Resolved]: ...  # type: ignore[overload-overlap]
    @overload
    def unfence_async(self, text: AsyncIterable[str] | Iterable[str]) -> AsyncIterator[Resolved]: ...
    def unfence_async(
        self, text: str | AsyncIterable[str] | Iterable[str]
    ) -> Coroutine[Any, Any, Resolved] | AsyncIterator[Resolved]:
        """Twin of :meth:`unfence`: a coroutine for a text, an async iterator for a stream; safe on any loop."""
        blocks = Blocks(self.context)
        if isinstance(text, str):
            return bridge(blocks.whole(text))
        if isinstance(text, bytes | bytearray | memoryview) or not isinstance(text, AsyncIterable | Iterable):
            raise _no_text(text)
        return _pieces_async(blocks, text)


def _pieces(resolver: Resolver | Blocks, source: Iterable[str]) -> Iterator[Resolved]:
    for text in source:
        piece = run(resolver.feed(_checked(text)))
        if piece or piece.parts:
            yield piece
    last = run(resolver.finish())
    if last or last.parts:
        yield last


async def _pieces_async(
    resolver: Resolver | Blocks, source: AsyncIterable[str] | Iterable[str]
) -> AsyncIterator[Resolved]:
    if isinstance(source, AsyncIterable):
        async for text in source:
            piece = await bridge(resolver.feed(_checked(text)))
            if piece or piece.parts:
                yield piece
    else:
        for text in source:
            piece = await bridge(resolver.feed(_checked(text)))
            if piece or piece.parts:
                yield piece
    last = await bridge(resolver.finish())
    if last or last.parts:
        yield last


def _checked(text: Any) -> str:
    if not isinstance(text, str):
        raise _no_text(text)
    return text


def _no_text(value: Any) -> BadRequest:
    return BadRequest(f"data of type {type(value).__name__}", "is no text", "Give a text or a stream of texts.")
