"""Where the first pages of Parquet column chunks end, so that a few rows cost a few pages and not a row group."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kmnb.core.bounds import KIB
from kmnb.core.records import Need

HEADER_BYTES = 4 * KIB
"""Room for the header of a page; statistics make some of them longer."""
STATISTICS_MAX = 50_000
"""Most column chunks whose statistics are added up."""
_COALESCE_BYTES = 16 * KIB
_TRUTHS, _INTEGERS, _STRUCT = (1, 2), (4, 5, 6), 12
_SIZE, _HEADERS = 3, (5, 8)


class Chunk(NamedTuple):
    """One column of one row group."""

    start: int
    """Where its dictionary or first page begins."""
    page: int
    """Where its first page of data begins."""
    end: int
    """Where it ends."""
    kind: str
    """Physical type of its values."""
    codec: str
    """How its pages are compressed."""


def chunks_of(metadata: Any, group: int, names: Sequence[str]) -> list[Chunk]:
    """Give the chunks of some columns of a row group in the order of the file."""
    row_group, found = metadata.row_group(group), []
    for at in range(row_group.num_columns):
        chunk = row_group.column(at)
        if chunk.path_in_schema.partition(".")[0] in names or chunk.path_in_schema in names:
            page = chunk.data_page_offset
            start = min(page, chunk.dictionary_page_offset or page)
            end = start + chunk.total_compressed_size
            found.append(Chunk(start, page, end, chunk.physical_type, chunk.compression))
    return sorted(found)


def statistics(metadata: Any) -> dict[str, dict[str, Any]]:
    """Add up what a footer tells of each flat column, where every row group tells it."""
    if metadata.num_row_groups * metadata.num_columns > STATISTICS_MAX:
        return {}
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    told = {}
    for at in range(metadata.num_columns):
        chunks = [group.column(at) for group in groups]
        known = [chunk.statistics for chunk in chunks if chunk.is_stats_set]
        if "." in metadata.schema.column(at).path or len(known) < len(chunks) or not known:
            continue
        facts: dict[str, Any] = {}
        if metadata.num_rows and all(one.has_null_count for one in known):
            facts["nulls"] = sum(one.null_count for one in known) / metadata.num_rows
        ranged = [one for one in known if one.has_min_max]
        if ranged and all(one.has_min_max or one.num_values == 0 for one in known):
            facts |= {"min": min(one.min for one in ranged), "max": max(one.max for one in ranged)}
        told[metadata.schema.column(at).path] = facts
    return told


def joined(spans: Sequence[tuple[int, int]], gap: int = _COALESCE_BYTES) -> list[Need]:
    """Join ranges that are near each other; ``spans`` are sorted."""
    needs: list[Need] = []
    for start, end in spans:
        if needs and start - needs[-1].end <= gap:
            needs[-1] = Need(needs[-1].start, max(end, needs[-1].end))
        else:
            needs.append(Need(start, end))
    return needs


class Fields(NamedTuple):
    """A page header, which is Thrift in its compact form, as far as whole numbers and structs of them go."""

    numbers: dict[int, int]
    """Whole numbers by the number of their field."""
    structs: dict[int, dict[int, int]]
    """The same of its structs."""
    size: int
    """Length of the header."""

    @classmethod
    def read(cls, data: bytes) -> Fields | None:
        """Read the header that data begins with; it is untrusted. None where that cannot be read."""
        found = cls({}, {}, 0)
        try:
            return found._replace(size=_fields(data, 0, numbers=found.numbers, structs=found.structs))
        except (IndexError, ValueError):
            return None


def first_page(header: bytes) -> tuple[int, int] | None:
    """Read the beginning of a page's header.

    Args:
        header: Its first bytes; untrusted.

    Returns:
        The page's stored size without the header, and the number of its values; None where that cannot be read.
    """
    numbers: dict[int, int] = {}
    structs: dict[int, dict[int, int]] = {}
    with contextlib.suppress(IndexError, ValueError):
        # Statistics that follow may be longer than what is at hand; the number of values comes first.
        _fields(header, 0, numbers=numbers, structs=structs)
    counts = [structs[field][1] for field in _HEADERS if 1 in structs.get(field, {})]
    return (numbers[_SIZE], counts[0]) if counts and _SIZE in numbers else None


def _fields(data: bytes, at: int, *, numbers: dict[int, int], structs: dict[int, dict[int, int]] | None) -> int:
    """Read fields up to the end of a struct; gives the place behind it."""
    field = 0
    while data[at]:
        delta, kind = data[at] >> 4, data[at] & 15
        at, field = at + 1, field + delta
        if kind in _INTEGERS:
            numbers[field], at = _number(data, at)
        elif kind == _STRUCT and structs is not None:
            at = _fields(data, at, numbers=structs.setdefault(field, {}), structs=None)
        elif kind not in _TRUTHS:
            raise ValueError(kind)
        if not delta:
            raise ValueError(field)
    return at + 1


def written_header(kind: int, unpacked: int, packed: int, *, structs: Mapping[int, Mapping[int, int]]) -> bytes:
    """Write a page header.

    Args:
        kind: Type of the page.
        unpacked: Its size in bytes once it is decompressed.
        packed: Its stored size.
        structs: Whole numbers of its structs, by fields in ascending order.
    """
    header = _written({1: kind, 2: unpacked, _SIZE: packed})
    last = _SIZE
    for field, numbers in structs.items():
        header += bytes([(field - last) << 4 | _STRUCT]) + _written(numbers) + b"\0"
        last = field
    return header + b"\0"


def _written(numbers: Mapping[int, int]) -> bytes:
    out, last = bytearray(), 0
    for field, value in numbers.items():
        out.append((field - last) << 4 | _INTEGERS[1])
        rest = value << 1
        while rest > 127:
            out.append(rest & 127 | 128)
            rest >>= 7
        out.append(rest)
        last = field
    return bytes(out)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Read a zigzag number of at most 32 bits; gives it and the place behind it."""
    value = 0
    for shift in range(0, 35, 7):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return (value >> 1) ^ -(value & 1), at
    raise IndexError
