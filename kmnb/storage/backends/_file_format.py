"""The file of one object: its bytes, then checksums, attributes and a footer. One file, so all of it appears at once.

::

    data | crc32 of every 64 KiB block, 4 bytes each | attributes as JSON | footer of 96 bytes

The data come first, so that any tool that stops at ``size`` reads them as they are. Checksums of blocks let a range
read notice a flipped byte without reading the whole object. The footer holds the beginning of the sha256 of the key, so
that a file which was renamed or copied by hand is no object of another key. Files of the first form, whose footer of 88
bytes has everything else, are read as before; only these cannot tell.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kmnb.core.metadata import ObjectInfo
from kmnb.errors import DigestMismatch
from kmnb.storage._attributes import parse_attributes

BLOCK_BYTES = 64 * 1024
"""Bytes that one checksum covers."""
_CRC = struct.Struct("<I")
_MARK_BYTES = 8
_MAGIC, _FOOTER = b"kmnbobj2", struct.Struct(f"<8sQIIQ16s32sI{_MARK_BYTES}s")
_OLD_MAGIC, _OLD_FOOTER = b"kmnbobj1", struct.Struct("<8sQIIQ16s32sI")
FOOTER_BYTES = _FOOTER.size + _CRC.size
"""Size of the footer."""
_LONGEST_TAIL = 1 << 30


def _mark(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()[:_MARK_BYTES]


@dataclass(frozen=True, slots=True)
class Footer:
    """What the end of an object's file says."""

    size: int
    """Bytes of data."""
    json_size: int
    """Bytes of the attributes."""
    json_crc: int
    """Their checksum."""
    created_ns: int
    """When the object was written, in nanoseconds since 1970."""
    identity: bytes
    """Random; another one for every write."""
    digest: bytes
    """sha256 of the data."""
    mark: bytes = b""
    """Beginning of the sha256 of the key; empty in a file of the first form."""

    @property
    def own_size(self) -> int:
        """Bytes of the footer itself."""
        return (_FOOTER if self.mark else _OLD_FOOTER).size + _CRC.size

    @property
    def table_size(self) -> int:
        """Bytes of the table of checksums."""
        return _CRC.size * -(-self.size // BLOCK_BYTES)

    def info(self, key: str, attributes: Mapping[str, str] | None = None) -> ObjectInfo:
        """Give the facts of the object."""
        created = datetime.fromtimestamp(self.created_ns / 1e9, UTC)
        facts: dict[str, Any] = {} if attributes is None else {"attributes": attributes}
        digest = f"sha256:{self.digest.hex()}"
        return ObjectInfo(key, self.size, digest, created, self.identity.hex(), **facts)


class Tally:
    """Digest and checksums of an object under way."""

    def __init__(self) -> None:
        self.size = 0
        self._sha = hashlib.sha256()
        self._table: list[int] = []
        self._crc = 0

    def feed(self, block: bytes | memoryview) -> None:
        """Take the next bytes."""
        self._sha.update(block)
        view, start = memoryview(block), 0
        while start < len(view):
            room = BLOCK_BYTES - self.size % BLOCK_BYTES
            piece = view[start : start + room]
            self._crc = zlib.crc32(piece, self._crc)
            self.size += len(piece)
            start += len(piece)
            if len(piece) == room:
                self._table.append(self._crc)
                self._crc = 0

    def tail(self, attributes: Mapping[str, str], created_ns: int, *, key: str) -> tuple[bytes, Footer]:
        """Finish: give what follows the data in the file of a key, and the footer in it."""
        if self.size % BLOCK_BYTES:
            self._table.append(self._crc)
        text = json.dumps(dict(attributes), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        crc = zlib.crc32(text)
        footer = Footer(self.size, len(text), crc, created_ns, os.urandom(16), self._sha.digest(), _mark(key))
        fields = (
            footer.size,
            BLOCK_BYTES,
            footer.json_size,
            created_ns,
            footer.identity,
            footer.digest,
            crc,
            footer.mark,
        )
        packed = _FOOTER.pack(_MAGIC, *fields)
        return struct.pack(f"<{len(self._table)}I", *self._table) + text + packed + _CRC.pack(
            zlib.crc32(packed)
        ), footer


def _fields(raw: bytes, form: struct.Struct) -> tuple[bytes, tuple[Any, ...]] | None:
    """Read a footer of one form at the end of some bytes; None where its checksum says that there is none."""
    packed = raw[-form.size - _CRC.size : -_CRC.size]
    if len(packed) < form.size or _CRC.unpack(raw[-_CRC.size :])[0] != zlib.crc32(packed):
        return None
    magic, *fields = form.unpack(packed)
    return magic, tuple(fields)


class ObjectFile:
    """An open file of an object.

    Args:
        file: Its descriptor; the caller closes it.
        key: The object, for errors.

    Raises:
        DigestMismatch: The file is shorter, longer or damaged at its end, or that of another key.
    """

    def __init__(self, file: int, key: str) -> None:
        self._file, self._key = file, key
        self.footer = self._read_footer()

    def _spoilt(self, reason: str) -> DigestMismatch:
        return DigestMismatch(f"artifact {self._key!r}", reason, "The file was changed or damaged; store it again")

    def _read_footer(self) -> Footer:
        whole = os.fstat(self._file).st_size
        raw = os.pread(self._file, FOOTER_BYTES, max(0, whole - FOOTER_BYTES))
        magic, fields = _fields(raw, _FOOTER) or _fields(raw, _OLD_FOOTER) or (b"", ())
        if not fields:
            raise self._spoilt("the end of its file is damaged or missing")
        size, block, json_size, created, identity, digest, crc, *mark = fields
        footer = Footer(size, json_size, crc, created, identity, digest, *mark)
        known = magic == (_MAGIC if footer.mark else _OLD_MAGIC)
        if not known or block != BLOCK_BYTES or json_size > _LONGEST_TAIL:
            raise self._spoilt("it was written in a form that this version does not read")
        if size + footer.table_size + json_size + footer.own_size != whole:
            raise self._spoilt(f"its file has {whole} bytes, which is not what {size} bytes of data take")
        if footer.mark and footer.mark != _mark(self._key):
            step = "Move it back, or remove it here; to copy an object, read it and put it"
            reason = "its file is that of another key, renamed or copied by hand"
            raise DigestMismatch(f"artifact {self._key!r}", reason, step)
        return footer

    def info(self) -> ObjectInfo:
        """Give the facts without the attributes."""
        return self.footer.info(self._key)

    def attributes(self) -> dict[str, str]:
        """Read and check the attributes.

        Raises:
            DigestMismatch: They are damaged.
        """
        footer = self.footer
        raw = os.pread(self._file, footer.json_size, footer.size + footer.table_size)
        if zlib.crc32(raw) != footer.json_crc:
            raise self._spoilt("its attributes are damaged")
        try:
            return parse_attributes(raw)
        except ValueError:
            raise self._spoilt("its attributes cannot be read") from None

    def read(self, start: int, end: int) -> bytes:
        """Read a range after checking every block that it touches.

        Args:
            start: First byte.
            end: End, exclusive; past the object's end means its end.

        Raises:
            DigestMismatch: A block is not what was written.
        """
        end = min(end, self.footer.size)
        if start >= end:
            return b""
        first, last = start // BLOCK_BYTES, -(-end // BLOCK_BYTES)
        offset, stop = first * BLOCK_BYTES, min(last * BLOCK_BYTES, self.footer.size)
        data = os.pread(self._file, stop - offset, offset)
        sums = os.pread(self._file, (last - first) * _CRC.size, self.footer.size + first * _CRC.size)
        if len(data) != stop - offset or len(sums) != (last - first) * _CRC.size:
            raise self._spoilt("its file is shorter than it was")
        view = memoryview(data)
        for number, (crc,) in enumerate(_CRC.iter_unpack(sums)):
            if zlib.crc32(view[number * BLOCK_BYTES : (number + 1) * BLOCK_BYTES]) != crc:
                raise self._spoilt(f"bytes from {offset + number * BLOCK_BYTES} on are not the ones that were stored")
        return data if (start, end) == (offset, stop) else bytes(view[start - offset : end - offset])

    def check(self, digest: bytes) -> None:
        """Compare the sha256 of all that was read with the stored one.

        Raises:
            DigestMismatch: They differ.
        """
        if digest != self.footer.digest:
            raise self._spoilt(f"sha256 is {digest.hex()}, stored was {self.footer.digest.hex()}")
