"""Turn whatever a tool gives into bytes: text, bytes, JSON values, files, iterators. Nothing is cut or guessed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sized
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from kmnb.core.arguments import as_text
from kmnb.errors import BadRequest, clip
from kmnb.ops._written_frames import is_table, write_table
from kmnb.storage._callers import SOURCE, from_caller
from kmnb.storage._protocols import Source
from kmnb.storage._source import blocks, items_of
from kmnb.storage._threads import in_source, in_thread

JSON_TYPE = "application/json"
MEDIA_TYPE_MAX = 255
"""Most characters of a MIME type."""


@dataclass(frozen=True, slots=True)
class Content:
    """Data on its way into the store."""

    source: Source
    """The bytes, or a stream of them."""
    media_type: str | None
    """MIME type where the data itself or the caller tells it."""
    inline: str | None
    """The whole text, where it is text and within the limit."""

    @property
    def can_repeat(self) -> bool:
        """Whether the source can be read a second time."""
        return isinstance(self.source, bytes | bytearray | memoryview | PathLike)


async def read_content(data: Any, *, media_type: str | None, inline_max_bytes: int, filename: str = "") -> Content:
    """Prepare data for the store, looking at no more than is needed to tell whether it stays inline.

    Args:
        data: Text, bytes, None (nothing), a JSON value, a table of pandas, polars, Arrow or DuckDB, a path, a file, or
            an iterator of bytes or text.
        media_type: MIME type that the caller states.
        inline_max_bytes: Largest UTF-8 size that stays inline, inclusive; tables never do.
        filename: Name that the content will have; it tells how a table is written.

    Raises:
        BadRequest: Data that cannot be stored as it is, or text that is no MIME type.
    """
    media_type = _media_type(media_type) if media_type is not None else None
    if is_table(data):
        # A large table takes a while; whoever interrupts does not wait for its end.
        write = partial(write_table, data, media_type=media_type, filename=filename)
        return Content(*await in_source(write), None)
    raw, told = _as_bytes(data)
    media_type = media_type if media_type is not None else told
    if raw is not None:
        small = bytes(raw) if len(raw) <= inline_max_bytes else None
        return Content(raw, media_type, _text(small))
    if isinstance(data, PathLike):
        return await _of_path(data, media_type, inline_max_bytes)
    return await _of_stream(_stream(data), media_type, inline_max_bytes)


def _media_type(given: Any) -> str:
    """Check a MIME type: it travels in headers, and people are shown it."""
    text = as_text("media_type", given)
    if len(text) > MEDIA_TYPE_MAX or not text.isascii() or not text.isprintable():
        told = f"is no MIME type: it has to be printable ASCII of at most {MEDIA_TYPE_MAX} characters"
        raise BadRequest(f"media_type {clip(ascii(text), 100)}", told, "Give one such as text/csv, or none.")
    return text


def _as_bytes(data: Any) -> tuple[bytes | memoryview | None, str | None]:
    if data is None:
        return b"", None
    if isinstance(data, str):
        return _encode(data), None
    if isinstance(data, bytes):
        return data, None
    if isinstance(data, bytearray | memoryview):
        return memoryview(data).cast("B") if memoryview(data).contiguous else bytes(data), None
    if isinstance(data, dict | list | tuple | int | float | bool):
        return _as_json(data), JSON_TYPE
    return None, None


def _as_json(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest(
            f"data of type {type(value).__name__}",
            f"is no JSON value: {clip(str(error), 200)}",
            "Give text or bytes, or convert it first; NaN and infinity have no JSON form.",
        ) from error


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        pass
    try:
        # Text that came from bytes of another encoding with surrogateescape: those bytes come back.
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise BadRequest("text", f"has half of a surrogate pair at {error.start}", "Give the bytes instead.") from error


def _text(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None


async def _of_path(path: PathLike[str], media_type: str | None, inline_max_bytes: int) -> Content:
    if not await in_thread(Path(path).is_file):
        # A pipe gives its bytes once.
        return await _of_stream(blocks(path), media_type, inline_max_bytes)
    start = await _first_bytes(blocks(path, inline_max_bytes + 1), inline_max_bytes + 1)
    small = start if len(start) <= inline_max_bytes else None
    return Content(path if small is None else small, media_type, _text(small))


async def _first_bytes(source: AsyncIterator[Any], count: int) -> bytes:
    start = bytearray()
    async with aclosing(source) as walk:  # type: ignore[type-var]
        async for block in walk:
            start += block
            if len(start) >= count:
                break
    return bytes(start)


async def _of_stream(stream: AsyncIterator[Any], media_type: str | None, inline_max_bytes: int) -> Content:
    start = bytearray()
    async for block in stream:
        start += block
        if len(start) > inline_max_bytes:
            return Content(_chained(bytes(start), stream), media_type, None)
    raw = bytes(start)
    return Content(raw, media_type, _text(raw))


async def _chained(start: bytes, rest: AsyncIterator[Any]) -> AsyncIterator[bytes]:
    yield start
    async with aclosing(rest) as walk:  # type: ignore[type-var]
        async for block in walk:
            yield block


def _stream(data: Any) -> AsyncIterator[Any]:
    if type(data).__module__.partition(".")[0] == "kmnb":
        step = "Give the content itself: open() of a handle, the text of a slice. keep(name) copies within the store."
        raise BadRequest(f"data of type {type(data).__name__}", "is a reference or an answer and no data", step)
    if isinstance(data, AsyncIterable):
        return blocks(_encoded_async(data))
    if callable(getattr(data, "read", None)):
        return blocks(_read_all(data))
    if isinstance(data, Iterable) and not isinstance(data, Sized):
        return blocks(_encoded(data))
    way_out = "Give text, bytes, a JSON value, a table, a path, a file, or an iterator of bytes or text."
    raise BadRequest(f"data of type {type(data).__name__}", "cannot be stored as it is", way_out)


def _read_some(file: Any) -> Any:
    # In a generator some errors of the file would come out as others.
    with from_caller(SOURCE):
        return file.read(256 * 1024)


def _read_all(file: Any) -> Iterator[bytes]:
    while block := _read_some(file):
        yield _encode(block) if isinstance(block, str) else block


def _encoded(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        yield _encode(item) if isinstance(item, str) else item


async def _encoded_async(items: AsyncIterable[Any]) -> AsyncIterator[Any]:
    async for item in items_of(items):
        yield _encode(item) if isinstance(item, str) else item
