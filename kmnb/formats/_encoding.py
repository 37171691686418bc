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


def is_binary(head: bytes, *, is_told: bool = False) -> bool:
    """Tell whether the first bytes are no text in any encoding.

    They are none with a known signature, or with many control characters. Some NUL characters, as a crash leaves them
    in a log, do not make valid UTF-8 binary.

    Args:
        head: The beginning of the content.
        is_told: Whether somebody said that it is text; it may then have more of them.
    """
    if has_signature(head):
        return True
    if find_mark(head) or _looks_wide(head):
        return False
    controls = len(head) - len(head.translate(None, delete=_CONTROLS))
    if b"\0" in head:
        return controls * (3 if is_told else 10) > len(head) or not _is_utf8(head)
    return len(head) >= 512 and controls > len(head) // 10


def has_signature(head: bytes) -> bool:
    """Tell whether the first bytes are those of a binary format."""
    return head.startswith(_MAGIC)


def _is_utf8(head: bytes) -> bool:
    return _reads_as(head, "utf-8")


def _reads_as(head: bytes, encoding: str) -> bool:
    """Tell whether bytes are text in an encoding; a character cut at the end does not matter."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def find_mark(head: bytes) -> str | None:
    """Give the encoding that a byte order mark names; None without a mark."""
    found = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    # The mark of UTF-32 is that of UTF-16 before a NUL character.
    return "utf-16-le" if found == "utf-32-le" and not _reads_as(head[:4096], found) else found


def mark_length(encoding: str, head: bytes) -> int:
    """Tell how many bytes of mark stand at the beginning of text in an encoding."""
    return next((len(mark) for mark, name in _MARKS if name == encoding and head.startswith(mark)), 0)


def guess_encoding(head: bytes) -> str:
    """Name the encoding of a text.

    Args:
        head: The beginning of the text, at most some 64 KiB; a character cut at its end does not matter.

    Returns:
        A Python codec name: the one of the mark, ``utf-8`` for valid UTF-8 and for UTF-8 with some bad bytes,
        ``utf-16-le`` or the like where NUL bytes stand as they do in it, ``cp1252`` or ``latin-1`` for single high
        bytes as European text has them.
    """
    if mark := find_mark(head):
        return mark
    if head.isascii() and b"\0" not in head:
        return "utf-8"
    if wide := _looks_wide(head):
        return wide
    return "utf-8" if _is_utf8(head) else _legacy(head)


def _looks_wide(head: bytes) -> str | None:
    if len(head) < 4 or b"\0" not in head:
        return None
    quarters = [head[at:4096:4] for at in range(4)]
    if _is_wide_text(quarters[0], quarters[1:]):
        return "utf-32-le"
    if _is_wide_text(quarters[3], quarters[:3]):
        return "utf-32-be"
    even, odd = head[0:4096:2], head[1:4096:2]
    # A few bytes with a NUL among them are no evidence.
    share = 0.6 if len(head) >= 64 else 1.0 if len(odd) == len(even) else 2.0
    if odd.count(0) >= share * len(odd) and even.count(0) < 0.1 * len(even):
        return "utf-16-le"
    if even.count(0) >= share * len(even) and odd.count(0) < 0.1 * len(odd):
        return "utf-16-be"
    return None


def _is_wide_text(low: bytes, high: list[bytes]) -> bool:
    """Tell letters with three NUL bytes each from numbers of four bytes."""
    plain = len(low.translate(None, delete=_CONTROLS))
    return plain > 0.9 * len(low) and all(part.count(0) > 0.9 * len(part) for part in high)


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
