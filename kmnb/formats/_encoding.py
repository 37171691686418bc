"""Find out how text is encoded. Only a guess from a sample where no byte order mark says so; the answer is told."""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAGIC = (
    b"%PDF-", b"PK\x03\x04", b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"\x7fELF", b"PAR1", b"ARROW1",
    b"SQLite format 3", b"BZh",
    b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!", b"OggS", b"\x00asm", b"\x1f\x8b", b"\x28\xb5\x2f\xfd",
)  # fmt: skip
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH = re.compile(rb"[\x80-\xff]+")
# Bytes that text in Windows-1252 or Latin-1 really uses: letters, quotes, dashes, currency, no-break space, degree.
_LEGACY = re.compile(rb"[\x80\x82-\x85\x91-\x99\xa0-\xfe]{1,4}\Z")
_CONTROLS = bytes(set(range(32)) - {7, 8, 9, 10, 12, 13, 27})
AS_IS = frozenset({"ascii", "utf-8", "utf-8-sig"})
"""Encodings whose stored bytes are the text that everything else looks at."""
TRANSPARENT = frozenset({"ascii", "utf-8", "utf-8-sig", "cp1252", "latin-1"})
"""Encodings in which LF is one byte and nothing else holds that byte, so that stored bytes can be cut into lines."""


def is_binary(head: bytes) -> bool:
    """Tell whether the first bytes are no text in any encoding: a known signature, NUL, or many control characters."""
    if head.startswith(_MAGIC):
        return True
    if find_mark(head) or _looks_wide(head):
        return False
    controls = len(head) - len(head.translate(None, delete=_CONTROLS))
    return b"\0" in head or (len(head) >= 512 and controls > len(head) // 10)


def find_mark(head: bytes) -> str | None:
    """Give the encoding that a byte order mark names; None without a mark."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), None)


def mark_length(encoding: str, head: bytes) -> int:
    """Tell how many bytes of mark stand at the beginning of text in an encoding."""
    return next((len(mark) for mark, name in _MARKS if name == encoding and head.startswith(mark)), 0)


def guess_encoding(head: bytes) -> str:
    """Name the encoding of a text.

    Args:
        head: The beginning of the text, at most some 64 KiB; a character cut at its end does not matter.

    Returns:
        A Python codec name: the one of the mark, ``utf-8`` for valid UTF-8 and for UTF-8 with some bad bytes,
        ``utf-16-le`` or ``utf-16-be`` where every second byte is NUL, ``cp1252`` or ``latin-1`` for single high
        bytes as European text has them.
    """
    if mark := find_mark(head):
        return mark
    if head.isascii() and b"\0" not in head:
        return "utf-8"
    if wide := _looks_wide(head):
        return wide
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head)
    except UnicodeDecodeError:
        return _legacy(head)
    return "utf-8"


def _looks_wide(head: bytes) -> str | None:
    if len(head) < 4 or b"\0" not in head:
        return None
    even, odd = head[0:4096:2], head[1:4096:2]
    if odd.count(0) > 0.6 * len(odd) and even.count(0) < 0.1 * len(even):
        return "utf-16-le"
    if even.count(0) > 0.6 * len(even) and odd.count(0) < 0.1 * len(odd):
        return "utf-16-be"
    return None


def _legacy(head: bytes) -> str:
    # The first bad bytes tell as much as all of them.
    first = _HIGH.search(head)
    start = max(0, first.start() - 1024) if first else 0
    head = head[start : start + 16_384]
    multibyte = len(_MULTIBYTE.findall(head))
    runs = _HIGH.findall(_MULTIBYTE.sub(b"", head))
    likely = sum(1 for run in runs if _LEGACY.match(run))
    if multibyte >= len(runs) or likely < 0.8 * len(runs):
        return "utf-8"
    return "cp1252" if any(0x80 <= byte < 0xA0 for run in runs for byte in run) else "latin-1"
