"""A sparse index of where lines and records begin, small enough to travel with an object's attributes.

An index speaks of stored bytes, so it exists only for content whose stored bytes are its text (no compression, an
encoding in which LF is one byte). It is bound to size and, where known, digest; each entry also carries a check of
the bytes before it, so that an index of other content is found out by whoever reads there. A reader that gets None
or a failed check scans instead: an index can make an answer fast, never different.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kmnb.core.bounds import INDEX_MAX_BYTES, INDEX_MAX_ENTRIES
from kmnb.core.ranges import Spot

CHECK_BYTES = 16
"""How many bytes before an entry its check covers; fewer at the beginning of the object."""
_MAGIC = b"KX2"


def check_of(before: bytes) -> int:
    """Compute the check of an entry from the bytes right before it, at most :data:`CHECK_BYTES` of them."""
    return zlib.crc32(before[-CHECK_BYTES:]) & 0xFFFF


@dataclass(frozen=True, slots=True)
class Entry:
    """One known place."""

    offset: int
    """Byte offset in the stored content where the line or record begins."""
    number: int
    """Number of that line or record, from 0."""
    check: int
    """Check of the bytes before it; see :func:`check_of`."""

    def holds(self, before: bytes) -> bool:
        """Tell whether the bytes that end at ``offset`` are the ones that were indexed."""
        return self.offset == 0 or check_of(before) == self.check


@dataclass(frozen=True, slots=True)
class Index:
    """Where lines (or records) begin, every few kilobytes."""

    size: int
    """Size of the object in bytes."""
    lines: int
    """Number of lines of the object."""
    entries: tuple[Entry, ...] = ()
    """Places of lines, ascending by offset and number; the beginning is not listed."""
    rows: int | None = None
    """Number of records, where they were counted."""
    records: tuple[Entry, ...] = ()
    """Places of records where lines do not tell them, as in a JSON list or a CSV with quoted line breaks."""
    row_lines: int | None = None
    """Number of lines before the first record where every line from there on is one record; None elsewhere."""
    digest: str | None = None
    """``sha256:…`` of the object; None while it is not known."""

    def at_line(self, number: int) -> Entry:
        """Give the last known place at or before a line; the beginning when there is none."""
        return _before(self.entries, number)

    def at_record(self, number: int) -> Entry:
        """Give the last known place at or before a record; the beginning when there is none."""
        if self.records or self.row_lines is None:
            return _before(self.records, number)
        entry = self.at_line(number + self.row_lines)
        return replace(entry, number=entry.number - self.row_lines) if entry.number >= self.row_lines else _BEGIN

    def at_offset(self, offset: int) -> Entry:
        """Give the last known line that begins at or before a byte."""
        place = bisect_right(self.entries, offset, key=lambda entry: entry.offset)
        return self.entries[place - 1] if place else _BEGIN

    def before(self, line: int) -> Spot:
        """Give the last known line start at or before a line number; see :class:`kmnb.core.ranges.LineMap`."""
        entry = self.at_line(line)
        return Spot(entry.number, entry.offset)

    def at(self, offset: int) -> Spot:
        """Give the last known line start at or before a byte offset."""
        entry = self.at_offset(offset)
        return Spot(entry.number, entry.offset)

    def encode(self, *, limit_bytes: int = INDEX_MAX_BYTES) -> str:
        """Write the index as ASCII text of at most ``limit_bytes``; entries are thinned out until it fits."""
        lines, records = self.entries, self.records
        while True:
            text = self._text(lines, records)
            if len(text) <= limit_bytes or not (lines or records):
                return text
            lines, records = lines[1::2], records[1::2]

    def _text(self, lines: tuple[Entry, ...], records: tuple[Entry, ...]) -> str:
        rows = 0 if self.rows is None else self.rows + 1
        digest = (self.digest or "").removeprefix("sha256:").encode()
        before = 0 if self.row_lines is None else self.row_lines + 1
        body = bytearray(_numbers((self.size, self.lines, rows, before, len(lines), len(records), len(digest))))
        body += digest
        for entries in (lines, records):
            offset = number = 0
            for entry in entries:
                body += _numbers((entry.offset - offset, entry.number - number))
                body += entry.check.to_bytes(2, "little")
                offset, number = entry.offset, entry.number
        packed = zlib.compress(bytes(body), 6)
        return base64.b64encode(_MAGIC + zlib.crc32(packed).to_bytes(4, "little") + packed).decode("ascii")

    @staticmethod
    def decode(text: str | None, *, size: int | None, digest: str | None = None) -> Index | None:
        """Read an index back.

        Args:
            text: What :meth:`encode` gave, or anything else.
            size: Size of the object that it is to be used for; None when unknown, then nothing is used.
            digest: Its digest where known; compared when the index holds one.

        Returns:
            The index, or None when the text is not a whole, consistent index of that very object.
        """
        if not text or size is None or len(text) > INDEX_MAX_BYTES:
            return None
        try:
            index = _decode(text)
        except (ValueError, IndexError, zlib.error, binascii.Error):
            return None
        if index.size != size or not index._consistent():
            return None
        if index.digest and digest and index.digest != digest:
            return None
        return index

    def _consistent(self) -> bool:
        return (
            0 <= self.lines <= self.size
            and _ascending(self.entries, self.size, self.lines)
            # Records that are bad have a number and are not counted; each has a line of its own.
            and _ascending(self.records, self.size, max(self.rows or 0, self.lines))
        )

    def bound(self, digest: str) -> Index:
        """Give the same index bound to a digest."""
        return replace(self, digest=digest)


_BEGIN = Entry(0, 0, 0)


def _ascending(entries: tuple[Entry, ...], size: int, count: int) -> bool:
    offset, number = 0, -1
    for entry in entries:
        if entry.offset <= offset or entry.number <= number:
            return False
        offset, number = entry.offset, entry.number
    return not entries or (offset < size and number < count)


def _before(entries: tuple[Entry, ...], number: int) -> Entry:
    place = bisect_right(entries, number, key=lambda entry: entry.number)
    return entries[place - 1] if place else _BEGIN


def _numbers(values: Iterable[int]) -> bytes:
    """Write numbers as variable-length bytes, seven bits each, low ones first."""
    out = bytearray()
    for value in values:
        rest = value
        while rest > 0x7F:
            out.append(rest & 0x7F | 0x80)
            rest >>= 7
        out.append(rest)
    return bytes(out)


class _Cursor:
    """Reads what :func:`_numbers` wrote."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("number too long")

    def take(self, count: int) -> bytes:
        self._at += count
        piece = self._data[self._at - count : self._at]
        if len(piece) != count:
            raise ValueError("cut short")
        return piece

    def entries(self, count: int) -> tuple[Entry, ...]:
        if count > INDEX_MAX_ENTRIES:
            raise ValueError("too many entries")
        found, offset, number = [], 0, 0
        for _ in range(count):
            offset, number = offset + self.number(), number + self.number()
            found.append(Entry(offset, number, int.from_bytes(self.take(2), "little")))
        return tuple(found)


def _decode(text: str) -> Index:
    raw = base64.b64decode(text, validate=True)
    if raw[:3] != _MAGIC or zlib.crc32(raw[7:]) != int.from_bytes(raw[3:7], "little"):
        raise ValueError("not an index")
    opener = zlib.decompressobj()
    body = _Cursor(opener.decompress(raw[7:], 1 << 20))
    size, lines, rows, before, line_count, record_count, digest_length = (body.number() for _ in range(7))
    digest = body.take(digest_length).decode("ascii")
    return Index(
        size,
        lines,
        body.entries(line_count),
        rows - 1 if rows else None,
        body.entries(record_count),
        before - 1 if before else None,
        f"sha256:{digest}" if digest else None,
    )


class IndexBuilder:
    """Collects places while content passes by.

    Places are ``spacing`` bytes apart; when there are more than :data:`INDEX_MAX_ENTRIES` every second one is dropped
    and the spacing doubles, so that a place is never farther than about a 2,048th of the object.

    Args:
        spacing_bytes: Distance of the first places.
    """

    def __init__(self, *, spacing_bytes: int = 32_768) -> None:
        self.spacing, self._next = spacing_bytes, spacing_bytes
        self.entries: list[Entry] = []

    @property
    def wanted(self) -> int:
        """Offset from which the next place is welcome."""
        return self._next

    def close(self) -> None:
        """Hear that no further place is welcome."""
        self._next = 1 << 63

    def add(self, offset: int, number: int, before: bytes) -> None:
        """Note that a line or record begins at an offset at or after :attr:`wanted`."""
        self.entries.append(Entry(offset, number, check_of(before)))
        if len(self.entries) > INDEX_MAX_ENTRIES:
            del self.entries[::2]
            self.spacing *= 2
        self._next = offset - offset % self.spacing + self.spacing
