"""NDJSON: one JSON document a line. Lines that are no JSON are left out and reported."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from kmnb.core.lenient import documents, told
from kmnb.core.records import Batch, Dialect, Problem
from kmnb.core.splitter import LineSplitter
from kmnb.core.walks import Event, Records, Walk
from kmnb.errors import BadRequest
from kmnb.formats._json_counting import JsonLinesCounter
from kmnb.formats.json import raw_elements

_HEAD_BYTES = 65_536
"""How much of a beginning is handed over at most; less is the whole content."""
_SNIFFED_LINES = 100
_SHARE_MIN = 0.5


class RowReader:
    """Cuts content into lines and decodes each as one JSON document.

    Args:
        decode: Turns the text of a JSON array into its elements; raises ValueError.
        strict: Whether a line that is no JSON raises.
        first_line: Number of the line where the text begins, from 0.
    """

    def __init__(self, decode: Callable[[bytes], list[Any]], *, strict: bool, first_line: int = 0) -> None:
        self._decode, self._strict = decode, strict
        self._splitter = LineSplitter(first_line=first_line)
        self._is_first = not first_line
        self.count = 0
        self.places: list[int] | None = None

    def feed(self, block: bytes) -> tuple[list[Any], list[Problem]]:
        """Take the next block and give the documents of the lines that ended in it.

        Where problems stand between them, ``places`` has their numbers.
        """
        return self._read(self._splitter.feed(block))

    def finish(self) -> tuple[list[Any], list[Problem]]:
        """Give the document of the last line where it had no LF."""
        return self._read(self._splitter.finish())

    def _read(self, batch: Batch) -> tuple[list[Any], list[Problem]]:
        lines: Sequence[bytes] = batch.rows
        if lines and self._is_first:
            self._is_first = False
            lines = [lines[0].removeprefix(b"\xef\xbb\xbf"), *lines[1:]]
        filled = [line for line in lines if line and not line.isspace()]
        problems = list(batch.problems)
        try:
            rows = self._decode(b"[%b]" % b",".join(filled)) if filled else []
        except ValueError:
            rows = []
        self.places = None
        if len(rows) != len(filled) or problems:
            rows = self._one_by_one(lines, batch.start + 1, problems)
        self.count += len(rows) + len(problems)
        return rows, problems

    def _one_by_one(self, lines: Sequence[bytes], first: int, problems: list[Problem]) -> list[Any]:
        rows: list[Any] = []
        known = {problem.line for problem in problems}
        self.places, place = [], self.count - 1
        for number, line in enumerate(lines, first):
            if number in known:
                place += 1
                continue
            if not line or line.isspace():
                continue
            place += 1
            try:
                (row,) = self._decode(b"[%b]" % line)
            except ValueError as error:
                if self._strict:
                    raise BadRequest(f"line {number}", f"is {told(error)}") from None
                problems.append(Problem(number, told(error)))
            else:
                rows.append(row)
                self.places.append(place)
        return rows


class RowWalker:
    """Walks content that has one document a line; every document is a record.

    Args:
        walk: What is wanted.
        strict: Whether a line that is no JSON raises.
    """

    def __init__(self, walk: Walk, *, strict: bool) -> None:
        self._walk, self._strict = walk, strict
        self._reader = RowReader(walk.decode, strict=strict)

    def resume(self, number: int, line: int) -> RowWalker:
        """Make a walker that goes on with the document of a number on a line, both from 0."""
        going = RowWalker(self._walk, strict=self._strict)
        going._reader = RowReader(self._walk.decode, strict=self._strict, first_line=line)
        going._reader.count = number
        return going

    def feed(self, block: bytes) -> list[Event]:
        """Take the next block and give the documents of the lines that ended in it."""
        return self._events(self._reader.feed(block))

    def finish(self) -> list[Event]:
        """Give the document of the last line where it had no LF."""
        return self._events(self._reader.finish())

    def _events(self, found: tuple[list[Any], list[Problem]]) -> list[Event]:
        return [Records(*found, places=self._reader.places)] if found[0] or found[1] else []


class RowSplitter:
    """Cuts content into the bytes of its documents.

    Args:
        dialect: ``strict`` is looked at.
        first_line: Number of the line where the text begins, from 0.
    """

    columns = None

    def __init__(self, dialect: Dialect, *, first_line: int = 0) -> None:
        self._dialect = dialect
        self._reader = RowReader(raw_elements, strict=dialect.strict, first_line=first_line)

    def resume(self, number: int, line: int) -> RowSplitter:
        """Make a splitter that goes on with the document of a number on a line, both from 0."""
        going = RowSplitter(self._dialect, first_line=line)
        going._reader.count = number
        return going

    def feed(self, block: bytes) -> Batch:
        """Take the next block and give the documents of the lines that ended in it."""
        start = self._reader.count
        rows, problems = self._reader.feed(block)
        return self._batch(start, rows, problems)

    def finish(self) -> Batch:
        """Give the document of the last line where it had no LF."""
        start = self._reader.count
        rows, problems = self._reader.finish()
        return self._batch(start, rows, problems)

    def _batch(self, start: int, rows: list[Any], problems: list[Problem]) -> Batch:
        return Batch(rows, start, problems, kind="json", places=self._reader.places)


def json_lines_share(head: bytes) -> float:
    """Tell which share of the first lines are JSON objects or lists, from 0 to 1; 0 for fewer than two lines.

    It is 0 too for documents of which some are written over several lines, where that can be seen.
    """
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[-1].strip() and len(head) >= _HEAD_BYTES:
        lines = lines[:-1]
    filled = [line for line in lines if line and not line.isspace()][:_SNIFFED_LINES]
    if len(filled) < 2:
        return 0.0
    share = sum(map(_is_container, filled)) / len(filled)
    is_whole = len(head) < _HEAD_BYTES
    return 0.0 if 0 < share < 1 and is_whole and _are_documents(head.removeprefix(b"\xef\xbb\xbf")) else share


def _is_container(line: bytes) -> bool:
    if line.lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        raw_elements(b"[%b]" % line)
    except (ValueError, RecursionError):
        return False
    return True


def _are_documents(text: bytes) -> bool:
    """Tell whether a whole text is JSON documents, one after the other."""
    try:
        deque(documents(text), maxlen=0)
    except ValueError:
        return False
    return True


class _JsonLines:
    name = "jsonl"
    kind = "json"
    # Servers call rows of documents by the name of one, too; what the lines are decides.
    media_types = (
        *("application/x-ndjson", "application/jsonl", "application/x-jsonlines", "application/ndjson"),
        "application/json",
    )
    suffixes = (".ndjson", ".jsonl")
    samples = (
        b'{"a":1}\n{"a":2}\n',
        b'{"a":"\xe2\x80\xa8"}\r\n\r\n[1,2]',
        b'{"a":1}\nnot JSON\n{"a":3}\n',
    )

    def sniff(self, head: bytes) -> float:
        """Tell how surely the first lines are documents of their own."""
        share = json_lines_share(head)
        return 0.7 + 0.25 * share if share >= _SHARE_MIN else 0.0

    def split(self, dialect: Dialect) -> RowSplitter:
        """Make a splitter into the bytes of the documents."""
        return RowSplitter(dialect)

    def counter(self, head: bytes, *, indexed: bool) -> JsonLinesCounter:
        """Make what counts documents without keeping them."""
        return JsonLinesCounter(indexed=indexed)

    def walk(self, walk: Walk, *, strict: bool = False) -> RowWalker:
        """Make a walker that gives every document as a record."""
        return RowWalker(walk, strict=strict)


FORMAT = _JsonLines()
