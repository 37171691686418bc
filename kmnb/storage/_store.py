"""The public store: bytes in, bytes out, blocking verbs with coroutine twins."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType

from kmnb._bridge import blocking, blocking_iter, bridged, bridged_iter, on_exit, run
from kmnb.core.bounds import LISTED_AT_ONCE
from kmnb.core.metadata import Capability, ObjectInfo
from kmnb.storage._protocols import Attributes, Backend, Progress, Source


class Store:
    """Objects under keys, in the area that GC watches.

    Args:
        backend: An opened store.

    Every verb has a twin with ``_async`` that is safe to await on any loop.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._forget = on_exit(backend.close)

    def __repr__(self) -> str:
        return f"<kmnb store {self.url}>"

    @property
    def url(self) -> str:
        """The store's address without user info or secrets."""
        return self._backend.url

    @property
    def server_url(self) -> str | None:
        """Address of the server that other clients may connect to; None where there is no server."""
        return self._backend.server_url

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What this store can do beyond the verbs; ask with ``Capability.TTL in store.capabilities``."""
        return self._backend.capabilities

    async def _put(
        self,
        key: str,
        data: Source,
        *,
        create_only: bool = False,
        attributes: Attributes | None = None,
        progress: Progress | None = None,
    ) -> ObjectInfo:
        """Store an object; it becomes visible whole or not at all.

        Args:
            key: At most 1,024 UTF-8 bytes, segments separated by ``/``.
            data: Bytes, a path, a binary file, or an iterator of bytes; all but the first are streamed.
            create_only: Whether a taken key is an error. Atomic under a race.
            attributes: Small texts kept with the object.
            progress: Called with bytes done and, where known, bytes in all.

        Returns:
            Facts of the new object, digest included.

        Raises:
            KeySyntaxError: No object can have that key.
            AlreadyExists: ``create_only`` and the key is taken.
            StoreError: The store failed; nothing is visible.
        """
        area = self._backend.discussions
        return await area.put(key, data, create_only=create_only, attributes=attributes, progress=progress)

    async def _get_range(self, key: str, start: int, end: int) -> bytes:
        """Read some bytes, moving about as many.

        Args:
            key: The object.
            start: First byte, from 0.
            end: End, exclusive; past the object's end means its end.

        Raises:
            ArtifactNotFound: No such object.
            BadRequest: Negative, or reversed.
            DigestMismatch: The stored bytes do not add up.
        """
        return await self._backend.discussions.get_range(key, start, end)

    def _stream(self, key: str) -> AsyncIterator[bytes]:
        """Read all of it in windows of at most 1 MiB; size and digest are checked before the end.

        Raises:
            ArtifactNotFound: No such object.
            DigestMismatch: Short, long, changed or corrupt.
        """
        return self._backend.discussions.stream(key)

    async def _head(self, key: str) -> ObjectInfo:
        """Tell size, digest, time and attributes.

        Raises:
            ArtifactNotFound: No such object.
        """
        return await self._backend.discussions.head(key)

    def _list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        """Walk the objects below a prefix of whole segments, sorted by key, with size and time.

        Args:
            prefix: ``a/t1`` gives ``a/t1/x`` and ``a/t1`` itself, never ``a/t10/x``; empty for all.
        """
        return self._backend.discussions.list(prefix)

    async def _delete(self, key: str) -> None:
        """Remove an object; silent when there is none."""
        await self._backend.discussions.delete(key)

    async def _close(self) -> None:
        """Let go of connections; twice is harmless."""
        self._forget()
        await self._backend.close()

    put, put_async = blocking(_put), bridged(_put)
    get_range, get_range_async = blocking(_get_range), bridged(_get_range)
    stream, stream_async = blocking_iter(_stream), bridged_iter(_stream)
    head, head_async = blocking(_head), bridged(_head)
    list, list_async = blocking_iter(_list, LISTED_AT_ONCE), bridged_iter(_list, LISTED_AT_ONCE)
    delete, delete_async = blocking(_delete), bridged(_delete)
    close, close_async = blocking(_close), bridged(_close)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        run(self._close())

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close_async()
