"""Where the first pages of Parquet column chunks end, so that a few rows cost a few pages and not a row group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kmnb.core.bounds import KIB
from kmnb.core.records import Need

HEADER_BYTES = 4 * KIB
"""Room for the header of a page; statistics make some of them longer."""
STATISTICS_MAX = 50_000
"""Most column chunks whose statistics are added up."""
_COALESCE_BYTES = 16 * KIB
_INTEGERS, _STRUCT = (4, 5, 6), 12
_SIZE, _HEADERS = 3, (5, 8)


class Chunk(NamedTuple):
    """One column of one row group."""

    start: int
    """Where its dictionary or first page begins."""
    page: int
    """Where its first page of data begins."""
    end: int
    """Where it ends."""


def chunks_of(metadata: Any, group: int, names: Sequence[str]) -> list[Chunk]:
    """Give the chunks of some columns of a row group in the order of the file."""
    row_group, found = metadata.row_group(group), []
    for at in range(row_group.num_columns):
        chunk = row_group.column(at)
        if chunk.path_in_schema.partition(".")[0] in names or chunk.path_in_schema in names:
            page = chunk.data_page_offset
            start = min(page, chunk.dictionary_page_offset or page)
            found.append(Chunk(start, page, start + chunk.total_compressed_size))
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


def first_page(header: bytes) -> tuple[int, int] | None:
    """Read the beginning of a page's header, which is Thrift in its compact form.

    Args:
        header: Its first bytes; untrusted.

    Returns:
        The page's stored size without the header, and the number of its values; None where that cannot be read.
    """
    numbers: dict[int, int] = {}
    at = field = 0
    try:
        while True:
            delta, kind = header[at] >> 4, header[at] & 15
            at, field = at + 1, field + delta
            if kind == _STRUCT and field in _HEADERS and header[at] == 0x15:
                # The number of values comes first in both kinds of header.
                return numbers[_SIZE], _number(header, at + 1)[0]
            if not delta or kind not in _INTEGERS:
                return None
            numbers[field], at = _number(header, at)
    except (IndexError, KeyError):
        return None


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
