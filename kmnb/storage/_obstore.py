"""Objects and records over obstore, for memory and the clouds.

obstore is called blocking in worker threads: its coroutines can abort the process at exit.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import obstore
from obstore import exceptions as foreign

from kmnb.core.bounds import WINDOW_BYTES
from kmnb.core.metadata import Capability, ObjectInfo
from kmnb.errors import (
    AlreadyExists,
    ArtifactNotFound,
    DigestMismatch,
    KmnbError,
    NotSupported,
    StoreDenied,
    StoreError,
    StoreUnavailable,
    VersionConflict,
)
from kmnb.storage._keys import check_key, check_prefix, is_below
from kmnb.storage._protocols import Attributes, Progress, Record, Source
from kmnb.storage._ranges import check_range, same_object
from kmnb.storage._records import check_value
from kmnb.storage._source import blocks, final_attributes, known_size
from kmnb.storage._threads import in_thread_detached

T = TypeVar("T")

_FACTS = "kmnb"
_NOT_THERE = "there is none: never existed, deleted or expired"

_ERRORS: tuple[tuple[type[BaseException], type[KmnbError], str, str], ...] = (
    (FileNotFoundError, ArtifactNotFound, _NOT_THERE, "List the keys near it to see what is there"),
    (foreign.AlreadyExistsError, AlreadyExists, "the key is taken", "Choose another key"),
    (foreign.PreconditionError, VersionConflict, "it is not as expected", "Read it again and decide anew"),
    (foreign.PermissionDeniedError, StoreDenied, "permission denied", "Check the credentials' rights"),
    (foreign.UnauthenticatedError, StoreDenied, "the credentials were refused", "Check the credentials"),
    (foreign.NotSupportedError, NotSupported, "the store does not support it", ""),
    (foreign.BaseError, StoreUnavailable, "the store did not answer as it should", "Try again"),
)


async def call(thing: str, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Run an obstore call in a worker thread and turn its errors into those of kmnb."""
    try:
        return await in_thread_detached(partial(function, *args, **kwargs))
    except Exception as error:
        for kind, ours, reason, step in _ERRORS:
            if isinstance(error, kind):
                raise ours(thing, reason, step) from None
        if isinstance(error, OSError):
            raise StoreError(thing, "the store failed", "Try again") from None
        raise


class ObstoreArea:
    """One area of objects below a prefix of a bucket."""

    def __init__(self, store: Any, prefix: str) -> None:
        self._store, self._prefix = store, prefix

    def _path(self, key: str) -> str:
        return self._prefix + check_key(key)

    async def put(
        self,
        key: str,
        source: Source,
        *,
        create_only: bool = False,
        attributes: Attributes | None = None,
        progress: Progress | None = None,
    ) -> ObjectInfo:
        """Store an object; see ``ObjectArea.put``."""
        path, total, data = self._path(key), known_size(source), bytearray()
        async with aclosing(blocks(source)) as walk:
            async for block in walk:
                data += block
                if progress is not None:
                    progress(len(data), total)
        kept = final_attributes(attributes)
        facts = {"id": secrets.token_hex(16), "sha256": hashlib.sha256(data).hexdigest(), "attributes": kept}
        mode: Any = "create" if create_only else "overwrite"
        options = {"mode": mode, "use_multipart": False, "attributes": {_FACTS: json.dumps(facts)}}
        await call(f"artifact {key!r}", obstore.put, self._store, path, bytes(data), **options)
        return _info(key, len(data), datetime.now(UTC), facts)

    async def _get(self, key: str, **options: Any) -> Any:
        return await call(f"artifact {key!r}", obstore.get, self._store, self._path(key), options=options)

    async def head(self, key: str) -> ObjectInfo:
        """Tell size, digest, time and attributes; see ``ObjectArea.head``."""
        return _seen(key, await self._get(key, head=True))

    async def get_range(self, key: str, start: int, end: int, *, info: ObjectInfo | None = None) -> bytes:
        """Read some bytes; see ``ObjectArea.get_range``."""
        check_range(start, end)
        found = await self.head(key)
        same_object(key, found.identity, info)
        stop = min(end, found.size or 0)
        if start >= stop:
            return b""
        result = await self._get(key, range=(start, stop))
        return bytes(await call(f"artifact {key!r}", result.bytes))

    async def stream(self, key: str, *, info: ObjectInfo | None = None) -> AsyncIterator[bytes]:
        """Read all of it, checked; see ``ObjectArea.stream``."""
        result = await self._get(key)
        found = _seen(key, result)
        same_object(key, found.identity, info)
        view = memoryview(await call(f"artifact {key!r}", result.bytes))
        if found.digest != f"sha256:{hashlib.sha256(view).hexdigest()}":
            raise DigestMismatch(f"artifact {key!r}", "its bytes are not the ones that were stored")
        for start in range(0, len(view), WINDOW_BYTES):
            yield bytes(view[start : start + WINDOW_BYTES])

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        """Walk objects; see ``ObjectArea.list``."""
        below = check_prefix(prefix)
        pages = await call("listing", _listing, self._store, self._prefix)
        for meta in sorted(pages, key=lambda meta: str(meta["path"])):
            key = str(meta["path"]).removeprefix(self._prefix)
            if is_below(key, below):
                yield ObjectInfo(key, meta["size"], None, meta["last_modified"])

    async def delete(self, key: str) -> None:
        """Remove an object; see ``ObjectArea.delete``."""
        try:
            await call(f"artifact {key!r}", obstore.delete, self._store, self._path(key))
        except ArtifactNotFound:
            return


def _listing(store: Any, prefix: str) -> list[Any]:
    return [meta for page in obstore.list(store, prefix=prefix) for meta in page]


def _info(key: str, size: int, created: datetime, facts: dict[str, Any]) -> ObjectInfo:
    return ObjectInfo(key, size, f"sha256:{facts['sha256']}", created, facts["id"], facts["attributes"])


def _seen(key: str, result: Any) -> ObjectInfo:
    return _info(key, result.meta["size"], result.meta["last_modified"], json.loads(result.attributes[_FACTS]))


class ObstoreRecords:
    """Records below a prefix of a bucket, written conditionally."""

    def __init__(self, store: Any, prefix: str) -> None:
        self._store, self._prefix = store, prefix

    async def get(self, key: str) -> Record:
        """Read a record; see ``RecordArea.get``."""
        thing, path = f"record {key!r}", self._prefix + check_key(key)
        result = await call(thing, obstore.get, self._store, path)
        value = bytes(await call(thing, result.bytes))
        return Record(key, value[_NONCE_BYTES:], _revision(result.meta))

    async def put(self, key: str, value: bytes, *, expected: str | None) -> str:
        """Write a record if it is still as expected; see ``RecordArea.put``."""
        thing, path = f"record {key!r}", self._prefix + check_key(key)
        check_value(key, value)
        mode: Any = "create" if expected is None else json.loads(expected)
        data = secrets.token_bytes(_NONCE_BYTES) + bytes(value)
        try:
            done = await call(thing, obstore.put, self._store, path, data, mode=mode, use_multipart=False)
        except (AlreadyExists, ArtifactNotFound):
            raise VersionConflict(thing, "it is not as expected", "Read it again and decide anew") from None
        return _revision(done)

    async def delete(self, key: str) -> None:
        """Remove a record; see ``RecordArea.delete``."""
        try:
            await call(f"record {key!r}", obstore.delete, self._store, self._prefix + check_key(key))
        except ArtifactNotFound:
            return

    async def list(self, prefix: str = "") -> AsyncIterator[Record]:
        """Walk records; see ``RecordArea.list``."""
        below = check_prefix(prefix)
        pages = await call("listing", _listing, self._store, self._prefix)
        for key in sorted(str(meta["path"]).removeprefix(self._prefix) for meta in pages):
            if is_below(key, below):
                try:
                    yield await self.get(key)
                except ArtifactNotFound:
                    continue


_NONCE_BYTES = 8
# Makes every write's bytes, and so its ETag, another one.


def _revision(found: Any) -> str:
    return json.dumps({name: found[name] for name in ("e_tag", "version") if found.get(name) is not None})


class ObstoreBackend:
    """An opened bucket, or the memory of this process."""

    server_url: str | None = None
    bus = None

    def __init__(self, store: Any, url: str, *, prefix: str, capabilities: frozenset[Capability]) -> None:
        self.url, self.capabilities, self._store = url, capabilities, store
        self.discussions = ObstoreArea(store, f"{prefix}discussions/")
        self.named = ObstoreArea(store, f"{prefix}named/")
        self.records = ObstoreRecords(store, f"{prefix}records/")

    def __repr__(self) -> str:
        return f"<store {self.url}>"

    async def now(self) -> datetime:
        """Give this machine's clock."""
        return datetime.now(UTC)

    async def describe(self) -> dict[str, Any]:
        """Tell what kind of store it is."""
        return {"kind": type(self._store).__name__, "url": self.url, "warnings": []}

    async def close(self) -> None:
        """Nothing is held open."""
