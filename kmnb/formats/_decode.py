"""Turn stored bytes into the text that everything else looks at: UTF-8, uncompressed, in bounded pieces.

What is UTF-8 already passes unchanged, bad bytes and byte order mark included. gzip and zstd are opened in place with
caps on ratio and size, since a kilobyte may hold ten gigabytes.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from kmnb.core.bounds import DECOMPRESSED_MAX_BYTES, DECOMPRESSED_RATIO_MAX, MIB
from kmnb.errors import BadRequest, BoundExceeded, StoreError
from kmnb.formats._encoding import mark_length

_PIECE = MIB
_RATIO_FREE_BYTES = 16 * MIB
"""Below this decompressed size no ratio is too large: a small text of blanks is harmless."""
# One zstd block of 4 bytes may stand for 128 KiB, so this much input gives at most 16 MiB at once.
_ZSTD_SLICE = 512
_GZIP_SLICE = 65_536
_ZSTD_WINDOW_MAX = 32 * MIB
# A frame of data, or one to be passed over, which parallel writers put first.
_ZSTD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
CODECS = ("gzip", "zstd")
"""Compressions that are read in place."""


def find_codec(head: bytes) -> str | None:
    """Name the compression that the first bytes show."""
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    return "zstd" if _ZSTD.match(head) else None


class Decoder:
    """Decode stored bytes, fed in blocks of any size.

    Args:
        codec: ``gzip``, ``zstd`` or None.
        encoding: Python name of the text encoding; None leaves the bytes as they are.
        ratio_max: Largest ratio of decompressed to compressed bytes.
        max_bytes: Largest decompressed size.
    """

    def __init__(
        self,
        codec: str | None = None,
        encoding: str | None = None,
        *,
        ratio_max: int = DECOMPRESSED_RATIO_MAX,
        max_bytes: int = DECOMPRESSED_MAX_BYTES,
    ) -> None:
        self._open = _opener(codec)
        self._text = None if encoding in (None, "ascii", "utf-8", "utf-8-sig") else _Transcoder(encoding or "")
        self._ratio, self._most = ratio_max, max_bytes
        self.bytes_in = self.bytes_out = 0

    def feed(self, block: bytes) -> Iterator[bytes]:
        """Take the next block; give decoded pieces of at most a few megabytes.

        Raises:
            BoundExceeded: The content expands beyond the caps.
            StoreError: The compressed data is damaged.
        """
        self.bytes_in += len(block)
        for piece in self._open.feed(block) if self._open else (block,):
            self.bytes_out += len(piece)
            if self._open:
                self._check()
            text = self._text.feed(piece) if self._text else piece
            if text:
                yield text

    def finish(self) -> Iterator[bytes]:
        """Give what is left.

        Raises:
            StoreError: The compressed data ends too early.
        """
        if self._open and not self._open.ended:
            raise _damaged("it ends before its end mark", kept=self.bytes_out)
        if self._text and (rest := self._text.finish()):
            yield rest

    def _check(self) -> None:
        if self.bytes_out > self._most:
            raise BoundExceeded(
                "the compressed content",
                f"it expands to more than {self._most:,} bytes",
                "Read less of it, or unpack it with a program in the sandbox",
                limit="DECOMPRESSED_MAX_BYTES", value=self._most, unit="bytes", kept=self.bytes_out, compressed=True,
            )  # fmt: skip
        if self.bytes_out > _RATIO_FREE_BYTES and self.bytes_out > self._ratio * self.bytes_in:
            raise BoundExceeded(
                "the compressed content",
                f"{self.bytes_in:,} bytes expand more than {self._ratio:,} times",
                "It may be a decompression bomb; unpack it with a program in the sandbox if it is meant",
                limit="DECOMPRESSED_RATIO_MAX", value=self._ratio, unit="times", kept=self.bytes_out, compressed=True,
            )  # fmt: skip


def _damaged(reason: str, **facts: Any) -> StoreError:
    step = "Lines before that place can be read with head or lines; run unpacks what there is"
    return StoreError("the compressed content", reason, step, compressed=True, **facts)


class _Transcoder:
    """Other encodings to UTF-8; what cannot be decoded becomes U+FFFD."""

    def __init__(self, encoding: str) -> None:
        try:
            # bytes.decode refuses what is no text encoding; codecs alone would not.
            b"ab".decode(encoding, "replace")
            self._decode = codecs.getincrementaldecoder(encoding)("replace")
        except (LookupError, UnicodeError, ValueError):
            raise BadRequest(f"encoding {encoding[:80]!r}", "Python knows no such text encoding") from None
        self._encoding = encoding
        self._first: bytes | None = b""

    def feed(self, block: bytes) -> bytes:
        if self._first is None:
            return self._decoded(block)
        # Four bytes are the longest byte order mark.
        self._first += block
        return self._begin() if len(self._first) >= 4 else b""

    def finish(self) -> bytes:
        rest = self._begin() if self._first is not None else b""
        return rest + self._decoded(b"", final=True)

    def _begin(self) -> bytes:
        first, self._first = self._first or b"", None
        return self._decoded(first[mark_length(self._encoding, first) :])

    def _decoded(self, block: bytes, *, final: bool = False) -> bytes:
        try:
            return self._decode.decode(block, final).encode("utf-8", "replace")
        except UnicodeError as error:
            # Some have rules of their own that no replacement helps over, such as a mark that must be there.
            what = f"the content as {self._encoding[:80]!r}"
            raise BadRequest(what, str(error)[:200], "Leave encoding out, or name another one") from None


class _Opener:
    """Common part of the two decompressors: members one after the other, errors translated."""

    def __init__(self, start: Callable[[], Any]) -> None:
        self._start, self._now = start, start()
        self.ended = False

    def feed(self, block: bytes) -> Iterator[bytes]:
        rest = memoryview(block)
        try:
            while rest:
                if self.ended:
                    rest = memoryview(bytes(rest).lstrip(b"\0"))
                    if not rest:
                        return
                    self._now, self.ended = self._start(), False
                piece, used = self._step(rest)
                rest = rest[used:]
                if piece:
                    yield piece
        except Exception as fault:
            if isinstance(fault, zlib.error) or type(fault).__name__ == "ZstdError":
                raise _damaged(f"it is damaged ({fault})"[:200]) from None
            raise

    def _step(self, rest: memoryview) -> tuple[bytes, int]:
        raise NotImplementedError


class _Gzip(_Opener):
    def __init__(self) -> None:
        super().__init__(lambda: zlib.decompressobj(31))

    def _step(self, rest: memoryview) -> tuple[bytes, int]:
        # What zlib does not use it copies: small slices keep that cheap.
        part, before = rest[:_GZIP_SLICE], self._now.copy()
        try:
            piece = self._now.decompress(part, _PIECE)
        except zlib.error:
            if (left := _until_damage(before, part))[0]:
                return left
            raise
        self.ended = self._now.eof
        return piece, len(part) - len(self._now.unused_data if self.ended else self._now.unconsumed_tail)


def _until_damage(opener: Any, part: memoryview) -> tuple[bytes, int]:
    """Give what the good bytes of damaged data hold, and how many bytes these are; zlib itself would drop it."""
    pieces, used = [], 0
    for step in (256, 1):
        while used < len(part):
            try:
                tried = opener.copy()
                piece = tried.decompress(part[used : used + step])
            except zlib.error:
                break
            opener, used = tried, used + step
            pieces.append(piece)
    return b"".join(pieces), used


class _Zstd(_Opener):
    def __init__(self) -> None:
        import zstandard

        opener = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX)
        super().__init__(opener.decompressobj)

    def _step(self, rest: memoryview) -> tuple[bytes, int]:
        part = rest[:_ZSTD_SLICE]
        piece = self._now.decompress(part)
        self.ended = self._now.eof
        return piece, len(part) - len(self._now.unused_data if self.ended else b"")


def _opener(codec: str | None) -> _Opener | None:
    if codec is None:
        return None
    if codec not in CODECS:
        raise BadRequest(f"codec {codec[:80]!r}", f"only {' and '.join(CODECS)} are read in place")
    return _Gzip() if codec == "gzip" else _Zstd()
