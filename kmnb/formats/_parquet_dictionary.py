"""The beginning of a dictionary page in the place of the whole: a few rows use a few of its values.

Writers put the values of a dictionary down as they meet them, so the first rows of a row group use the first ones. A
page of these alone stands where the whole one stood, and a page of a kind that readers pass over fills the rest. The
reader checks every index: where rows use other values it raises, and the whole dictionary is read after all.
"""

from __future__ import annotations

from kmnb.core.bounds import KIB
from kmnb.formats._arrow import arrow
from kmnb.formats._parquet_pages import Chunk, Fields, written_header

WORTH_BYTES = 64 * KIB
"""Dictionaries up to this size are read as they are."""
BEGINNING_BYTES = 16 * KIB
"""Bytes that are read of a larger one."""
_WIDTHS = {"INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8, "INT96": 12, "BYTE_ARRAY": 0}
_DICTIONARY, _INDEX = 2, 1
_TYPE, _UNCOMPRESSED, _COMPRESSED, _CHECKSUM, _OWN = 1, 2, 3, 4, 7


def can_be_cut(chunk: Chunk) -> bool:
    """Whether the beginning of a chunk's dictionary can be read by itself, and is worth it."""
    is_known = chunk.kind in _WIDTHS and chunk.codec in ("SNAPPY", "UNCOMPRESSED")
    return is_known and chunk.page - chunk.start > WORTH_BYTES


def cut_dictionary(data: bytes, chunk: Chunk) -> bytes | None:
    """Make a dictionary page of the first values of a longer one.

    Args:
        data: The beginning of the page, its header included; untrusted.
        chunk: The column chunk.

    Returns:
        Pages that are as long as the whole one was; None where that has to be read.
    """
    size = chunk.page - chunk.start
    header = Fields.read(data)
    if header is None or header.numbers.get(_TYPE) != _DICTIONARY or _CHECKSUM in header.numbers:
        # A checksum holds for the whole page alone.
        return None
    own = header.structs.get(_OWN, {})
    if header.size + header.numbers.get(_COMPRESSED, -1) != size or not {1, 2} <= own.keys():
        return None
    body = data[header.size :]
    values = _snappy_beginning(body) if chunk.codec == "SNAPPY" else body
    count, end = _whole_values(values, _WIDTHS[chunk.kind])
    if count > own[1] or not count:
        return None
    plain = values[:end]
    packed = plain if chunk.codec == "UNCOMPRESSED" else arrow().compress(plain, "snappy", asbytes=True)
    page = written_header(_DICTIONARY, len(plain), len(packed), structs={_OWN: {1: count, 2: own[2]}}) + packed
    filling = size - len(page)
    for length in range(min(24, filling)):
        head = written_header(_INDEX, filling - length, filling - length, structs={})
        if len(head) == length:
            return page + head + bytes(filling - length)
    return None


def _whole_values(values: bytes, width: int) -> tuple[int, int]:
    """Count the values that are there whole; gives their number and where the last one ends."""
    if width:
        return len(values) // width, len(values) // width * width
    count = end = 0
    while (start := end + 4) <= len(values):
        after = start + int.from_bytes(values[end:start], "little")
        if after > len(values):
            break
        count, end = count + 1, after
    return count, end


def _snappy_beginning(data: bytes) -> bytes:
    """Unpack as much as the beginning of a Snappy block holds; what cannot be is left out."""
    at = next((place + 1 for place, byte in enumerate(data[:5]) if byte < 128), len(data))
    out = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        kind, length = tag & 3, (tag >> 2) + 1
        if kind == 0:
            extra = max(0, length - 60)
            if extra:
                length = int.from_bytes(data[at : at + extra], "little") + 1
                at += extra
            out += data[at : at + length]
            at += length
            continue
        wide = (0, 1, 2, 4)[kind]
        offset = int.from_bytes(data[at : at + wide], "little")
        if kind == 1:
            offset, length = offset | tag >> 5 << 8, (tag >> 2 & 7) + 4
        at += wide
        if at > len(data) or not 0 < offset <= len(out):
            break
        for _ in range(length):
            out.append(out[-offset])
    return bytes(out)
