"""JSON: one document, or several one after the other. Records are the elements of its list.

Which list that is: the document itself, else ``items``, else the first list of objects at the top or one level
below it (``data.result``, ``pods`` …). A document without such a list is one record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from kmnb.core.records import Batch, Dialect
from kmnb.core.walks import Event, Found, Path, Records, Walk
from kmnb.formats._json_counting import ListCounter
from kmnb.formats._walker import DocumentWalker, array_elements

HEAD_BYTES = 65_536
"""How much of the beginning tells where the list is."""
_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"[ \t\r\n]*(:)?|[\[\]{}]', re.DOTALL)
_LINE = re.compile(rb'[ \t]*(?:\{.*\}|\[.*\])[ \t]*\r?\n\s*(?:[\w{\["\-]|\Z)')
_PREFERRED = b"items"


def record_path(head: bytes) -> Path | None:
    """Find the list whose elements are the records.

    Args:
        head: The beginning of a document; a byte order mark is passed over.

    Returns:
        Its path, empty for a document that is a list; None when there is no list in the beginning.
    """
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"["):
        return ()
    found: Path | None = None
    for path in _lists(text):
        if path == ("items",):
            return path
        found = found or path
    return found


def _lists(text: bytes) -> Iterable[Path]:
    """Give the paths of lists of objects at the first two levels, in source order."""
    keys: list[str] = []
    depth, key, lists = 0, "", 0
    for token in _TOKEN.finditer(text):
        start = token.group()[:1]
        if start == b'"':
            if token.group(2) and not lists:
                key = token.group(1).decode("utf-8", "replace")
        elif start == b"{":
            depth += 1
            keys.append(key)
        elif start == b"[":
            if not lists and depth in (1, 2) and text[token.end() : token.end() + 64].lstrip()[:1] in (b"{", b"]"):
                yield (*keys[1:], key)
            lists += 1
        elif start == b"]":
            lists -= 1
        else:
            depth -= 1
            keys[-1:] = []


class JsonSplitter:
    """Cut JSON into records without building it; each row is the bytes of one JSON value.

    Args:
        dialect: Nothing of it matters here.
        decode: Makes the rows of the text of an array.
    """

    columns = None

    def __init__(self, dialect: Dialect, *, decode: Callable[[bytes], list[Any]] | None = None) -> None:
        self._decode = decode or raw_elements
        self._pending: list[bytes] = []
        self._held = 0
        self._walker: DocumentWalker | None = None
        self._path: Path | None = None
        self._count = 0

    def feed(self, block: bytes) -> Batch:
        """Take the next block; nothing is given before the beginning was seen."""
        return self._batch(self.events(block))

    def finish(self) -> Batch:
        """Give what is left.

        Raises:
            BadRequest: The content is not JSON; the message says where.
        """
        return self._batch(self.last_events())

    def events(self, block: bytes) -> list[Event]:
        """Take the next block and give what has passed by."""
        if self._walker is not None:
            return self._walker.feed(block)
        self._pending.append(block)
        self._held += len(block)
        return self._begin() if self._held >= HEAD_BYTES else []

    def last_events(self) -> list[Event]:
        """Give what passes by at the end of the content."""
        first = self._begin() if self._walker is None else []
        assert self._walker is not None
        return first + self._walker.finish()

    def _begin(self) -> list[Event]:
        data = b"".join(self._pending)
        self._pending = []
        self._path = record_path(data[:HEAD_BYTES])
        whole = frozenset({()}) if self._path is None else frozenset[Path]()
        self._walker = DocumentWalker(Walk(self._decode, records=self._path, values=whole))
        return self._walker.feed(data)

    def resume(self, number: int, line: int) -> JsonSplitter:
        """Make a splitter that goes on with an element of the list; a document like this one is begun before it."""
        going = JsonSplitter(Dialect(), decode=self._decode)
        going._count = number
        going._walker = DocumentWalker(Walk(self._decode, records=self._path))
        going._walker.feed(opening(self._path or ()))
        return going

    def _batch(self, events: Iterable[Event]) -> Batch:
        rows: list[bytes] = []
        for event in events:
            if isinstance(event, Records):
                rows.extend(event.rows)
            elif isinstance(event, Found) and event.data != b"[":
                rows.append(event.data)
        start = self._count
        self._count += len(rows)
        return Batch(rows, start, kind="json")


def opening(path: Path) -> bytes:
    """Write the beginning of a document up to the first element of a list."""
    return b"".join(b"{%b:" % json.dumps(key).encode() for key in path) + b"["


def raw_elements(text: bytes) -> list[Any]:
    """Cut the text of a JSON array into the bytes of its elements."""
    return [bytes(raw) for raw in array_elements(text)]


class ListWalker(DocumentWalker):
    """A walker that can go on with an element of the walked list.

    Args:
        walk: What is wanted of each document.
    """

    def __init__(self, walk: Walk) -> None:
        super().__init__(walk)
        self._walk = walk

    def resume(self, number: int, line: int) -> ListWalker:
        """Make a walker that goes on with an element; a document is begun before it, with nothing but its list."""
        going = ListWalker(self._walk)
        going.feed(opening(self._walk.records or ()))
        return going


class _Json:
    name = "json"
    kind = "json"
    media_types = ("application/json", "text/json", "application/geo+json", "application/ld+json")
    suffixes = (".json", ".geojson")
    samples = (
        b'{"items":[{"name":"a","n":1},{"name":"b","n":null}]}',
        b'[\n  {"a": 1},\n  {"a": 2}\n]\n',
        b'{"a":1}{"a":2}',
        b'{"status":"success","data":{"result":[{"v":1}]}}',
    )

    def sniff(self, head: bytes) -> float:
        """Tell how surely the beginning is that of JSON documents that are not one a line."""
        text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if text[:1] not in (b"{", b"["):
            return 0.0
        after = text[1:64].lstrip()
        if after[:1] not in b'"}{[]-0123456789tfn' and not after.startswith((b"NaN", b"Infinity")):
            return 0.0
        return 0.6 if _LINE.match(text) else 0.9

    def split(self, dialect: Dialect) -> JsonSplitter:
        """Make a splitter into the elements of the document's list."""
        return JsonSplitter(dialect)

    def counter(self, head: bytes, *, indexed: bool) -> ListCounter:
        """Make what counts elements without copying them."""
        return ListCounter(JsonSplitter(Dialect(), decode=array_elements), indexed=indexed)

    def walk(self, walk: Walk, *, strict: bool = False) -> ListWalker:
        """Make a walker; there is nothing to leave out, so ``strict`` changes nothing."""
        return ListWalker(walk)


FORMAT = _Json()
