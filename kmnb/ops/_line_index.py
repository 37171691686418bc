"""What is known of lines before anything is read: the index stored with an object, or the one of an earlier scan."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from kmnb.core.bounds import LINE_MAX_BYTES
from kmnb.core.index import CHECK_BYTES, Entry, Index
from kmnb.core.metadata import Attribute, ObjectInfo, json_in, number_in
from kmnb.core.ranges import Facts
from kmnb.formats._counting import LineCounter
from kmnb.formats._detect import Detection
from kmnb.formats._encoding import AS_IS
from kmnb.ops._windows import WindowReader

KEPT_INDEXES = 64
"""Indexes of foreign objects that a process remembers; each has at most some 100 KiB."""

_kept: OrderedDict[str, Index] = OrderedDict()


def known_index(info: ObjectInfo) -> Index | None:
    """Give the index of an object: the stored one, else one that this process made; None when there is neither."""
    stored = Index.decode(info.attributes.get(Attribute.INDEX), size=info.size, digest=info.digest)
    if stored is not None:
        return stored
    name = bound_to(info)
    if name in _kept:
        _kept.move_to_end(name)
    return _kept.get(name)


def bound_to(info: ObjectInfo) -> str:
    """Give the text that a cached fact or a cursor is bound to: it changes when the content changes."""
    return f"{info.digest or info.identity or info.created_at} {info.size}"


class IndexMaker:
    """Indexes an object that has no index while it is scanned from beginning to end."""

    def __init__(self, info: ObjectInfo) -> None:
        self._info = info
        self._counter = LineCounter(indexed=True)

    def feed(self, block: bytes) -> None:
        """Take the next stored block."""
        self._counter.feed(block)

    def keep(self) -> Index:
        """Remember the index, now that the scan has ended."""
        counter = self._counter
        index = Index(self._info.size or 0, counter.lines, counter.entries, digest=self._info.digest)
        _kept[bound_to(self._info)] = index
        while len(_kept) > KEPT_INDEXES:
            _kept.popitem(last=False)
        return index


async def place_holds(index: Index, offset: int, reader: WindowReader) -> bool:
    """Compare the bytes before an indexed place with its check, so that no index of other content is believed."""
    entry = index.at_offset(offset)
    if entry.offset == 0:
        return True
    return entry.holds(await reader.range(max(0, entry.offset - CHECK_BYTES), entry.offset))


def stored_number(info: ObjectInfo, name: Attribute) -> int | None:
    """Give a number that was stored with an object; None where there is none that can be one."""
    return number_in(info.attributes.get(name))


def left_out(info: ObjectInfo) -> tuple[int, list[str]]:
    """Tell what the stored number of records leaves out: how many bad records, and of which sections the first was."""
    told = json_in(info.attributes.get(Attribute.LEFT_OUT)) or {}
    try:
        return max(0, int(told.get("records", 0))), [str(name) for name in told.get("sections", ())]
    except (ValueError, TypeError, AttributeError, OverflowError):
        # Anybody may have written the attribute.
        return 0, []


def facts_of(info: ObjectInfo, found: Detection, size: int) -> Facts:
    """Tell what is known of the lines of an object.

    Args:
        info: Its facts.
        found: What its content is.
        size: Its size in bytes.
    """
    rows = stored_number(info, Attribute.ROWS)
    if found.codec is not None or found.encoding not in AS_IS | {None}:
        return Facts(lines=stored_number(info, Attribute.LINES), rows=rows)
    index = known_index(info)
    if index is None:
        return Facts(size, rows=rows, seekable=True)
    long = first_long_line(index.entries, index.size)
    return Facts(size, index.lines, map=index, seekable=True, rows=rows, long_line=long)


def first_long_line(entries: Sequence[Entry], size: int) -> int | None:
    """Give the number of the first line that is longer than the cap, as far as the index shows one."""
    before = Entry(0, 0, 0)
    for entry in (*entries, None):
        end = size if entry is None else entry.offset
        if end - before.offset > LINE_MAX_BYTES and entry is not None:
            return entry.number - 1
        before = entry or before
    return None
