"""Arrow IPC files, read by range, and streams. Reading needs ``kmnb[arrow]``; counting does not.

Of a file only the footer and the buffers of the columns asked for are read. Rows are counted while content passes
by: each message tells its number of rows in its header, so bodies are passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial
from typing import Any

from kmnb.core.bounds import MIB
from kmnb.core.records import Batch, Dialect, Need, Scan
from kmnb.errors import BoundExceeded, KmnbError, NotSupported, StoreError
from kmnb.formats._arrow import Batches, arrow, columns_of, damaged, within
from kmnb.formats._columnar import COLLECTED_MAX_BYTES, SMALL_BYTES, CollectingSplitter, first_rows
from kmnb.formats._description import Description
from kmnb.formats._sparse import READ_AHEAD_BYTES, SparseFile, fetching, reading

_MAGIC = b"ARROW1\0\0"
_GOES_ON = 0xFFFFFFFF
_RECORD_BATCH = 3
_HEADER_MAX_BYTES = 16 * MIB


class _Arrow:
    name = "arrow"
    kind = "table"
    is_binary = True
    media_types = ("application/vnd.apache.arrow.file", "application/vnd.apache.arrow.stream")
    suffixes = (".arrow", ".arrow_file", ".arrows", ".feather", ".ipc")
    samples = ()

    def sniff(self, head: bytes) -> float:
        """Tell how surely content is Arrow: by the signature of a file, or the first message of a stream."""
        if head.startswith(_MAGIC):
            return 1.0
        if len(head) < 16 or head[:4] != b"\xff\xff\xff\xff":
            return 0.0
        length = int.from_bytes(head[4:8], "little")
        return 0.95 if 0 < length < _HEADER_MAX_BYTES and length % 8 == 0 else 0.0

    def scan(self, size: int, columns: Sequence[str] | None, wanted: Sequence[int] | None = None) -> Scan:
        """Read rows by range; see :data:`kmnb.core.records.Scan`.

        Raises:
            NotSupported: pyarrow is not installed.
            StoreError: The content is damaged.
        """
        file = SparseFile(size)
        yield from fetching(file, Need(0, min(size, READ_AHEAD_BYTES)))
        file.seek(0)
        is_file = size >= 8 and file.read(8) == _MAGIC
        try:
            yield from _file_rows(file, columns, wanted) if is_file else _stream_rows(file)
        except KmnbError:
            raise
        except Exception as fault:
            raise damaged("the Arrow content", fault) from None

    def split(self, dialect: Dialect) -> CollectingSplitter:
        """Make a splitter for content that arrives as a stream."""
        return CollectingSplitter(self)

    def counter(self, head: bytes, *, indexed: bool) -> MessageCounter:
        """Make what adds up the rows of the messages."""
        return MessageCounter()


def _file_rows(file: SparseFile, columns: Sequence[str] | None, wanted: Sequence[int] | None) -> Scan:
    ipc = arrow().ipc

    def open_file(fields: list[int] | None) -> Any:
        return ipc.open_file(file, options=ipc.IpcReadOptions(included_fields=fields, use_threads=False))

    opened = yield from reading(file, lambda: open_file(None))
    known = opened.schema.names
    fields = [at for at, name in enumerate(known) if columns is None or name in columns]
    yield Batch(columns=tuple(known), types=columns_of(opened.schema), kind="table")
    # Without a column no body is read, and the header of each batch still tells its rows.
    bare = (yield from reading(file, lambda: open_file([]))) if wanted is not None else None
    opened = yield from reading(file, lambda: open_file(fields))
    batches = Batches([known[at] for at in fields])
    for number in range(opened.num_record_batches):
        if bare is not None:
            rows = (yield from reading(file, partial(bare.get_batch, number))).num_rows
            if not within(wanted, batches.count, batches.count + rows):
                batches.count += rows
                continue
        batch = yield from reading(file, partial(opened.get_batch, number))
        yield from batches.of(batch)
        file.forget()


def _stream_rows(file: SparseFile) -> Scan:
    """Read a stream: one message after the other, all columns."""
    ipc = arrow().ipc

    def read_all() -> Any:
        file.seek(0)
        return ipc.open_stream(file).read_all()

    if file.size > COLLECTED_MAX_BYTES:
        raise BoundExceeded(
            "an Arrow stream",
            f"it has {file.size:,} bytes and cannot be read by range",
            "Store it as a file, or use run",
            limit="COLLECTED_MAX_BYTES", value=COLLECTED_MAX_BYTES, unit="bytes",
        )  # fmt: skip
    if file.size > READ_AHEAD_BYTES:
        yield from fetching(file, Need(READ_AHEAD_BYTES, file.size))
    table = yield from reading(file, read_all)
    yield Batch(columns=tuple(table.schema.names), types=columns_of(table.schema), kind="table")
    yield from Batches(table.schema.names).of(table)


class MessageCounter:
    """Adds up the rows that the messages of a file or a stream tell."""

    lines = None

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._small = bytearray()
        self._skip = self._rows = 0
        self._schema: bytes | None = None
        self._begun = self._over = False
        self.description: Description | None = None

    def feed(self, block: bytes) -> None:
        """Take the next block.

        Raises:
            StoreError: A message is not what it must be.
        """
        if len(self._small) <= SMALL_BYTES:
            self._small += block[: SMALL_BYTES + 1]
        view = memoryview(block)
        while view and not self._over:
            if self._skip:
                passed = min(self._skip, len(view))
                self._skip -= passed
                view = view[passed:]
                continue
            # Headers are small: a body that comes along is taken out of the buffer again.
            self._buffer += view[:65_536]
            view = view[65_536:]
            while not self._skip and not self._over and self._message():
                pass

    def finish(self) -> int | None:
        """Give the number of rows.

        Raises:
            StoreError: The content ended within a message.
        """
        if not self._over and (self._skip or self._buffer):
            raise StoreError("the Arrow content", "it ends too early")
        if self._schema is not None:
            self._describe(self._schema)
        return self._rows

    def _message(self) -> bool:
        """Take one message header from the buffer, if it is all there."""
        if not self._begun:
            if len(self._buffer) < 8:
                return False
            self._begun = True
            if self._buffer.startswith(_MAGIC):
                del self._buffer[:8]
        if len(self._buffer) < 8:
            return False
        first, second = struct.unpack_from("<II", self._buffer)
        at, length = (8, second) if first == _GOES_ON else (4, first)
        if length == 0:
            self._over = True
            return False
        if length > _HEADER_MAX_BYTES:
            raise StoreError("the Arrow content", "it is damaged (a message header is too long)")
        if len(self._buffer) < at + length:
            return False
        self._read(bytes(self._buffer[at : at + length]), bytes(self._buffer[: at + length]))
        del self._buffer[: at + length]
        passed = min(self._skip, len(self._buffer))
        del self._buffer[:passed]
        self._skip -= passed
        return True

    def _read(self, header: bytes, whole: bytes) -> None:
        try:
            message = _Table.root(header)
            kind, body = message.number(1, "<B"), message.number(3, "<q")
            if kind == _RECORD_BATCH:
                self._rows += message.table(2).number(0, "<q")
        except (struct.error, IndexError, ValueError):
            raise StoreError("the Arrow content", "it is damaged (a message header cannot be read)") from None
        if body < 0:
            raise StoreError("the Arrow content", "it is damaged (a body has a negative size)")
        self._schema = self._schema or whole
        self._skip = body

    def _describe(self, schema: bytes) -> None:
        try:
            columns = columns_of(arrow().ipc.read_schema(arrow().py_buffer(schema)))
        except NotSupported:
            return
        except Exception as fault:
            raise damaged("the Arrow content", fault) from None
        shape = "columns: " + ", ".join(f"{column['name']} {column['source_type']}" for column in columns)
        known = first_rows(FORMAT, bytes(self._small)) if len(self._small) <= SMALL_BYTES else None
        key, firsts, head = known or ("columns", [column["name"] for column in columns], None)
        self.description = Description(
            "rows", key, firsts, columns, is_table=True, shape=shape, shows_content=False, head=head
        )


class _Table:
    """A table of a FlatBuffer, as far as a message header needs it."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._fields = at - struct.unpack_from("<i", data, at)[0]

    @staticmethod
    def root(data: bytes) -> _Table:
        return _Table(data, struct.unpack_from("<I", data)[0])

    def _place(self, field: int) -> int:
        if self._fields < 0 or 4 + 2 * field >= struct.unpack_from("<H", self._data, self._fields)[0]:
            return 0
        offset = struct.unpack_from("<H", self._data, self._fields + 4 + 2 * field)[0]
        return self._at + offset if offset else 0

    def number(self, field: int, form: str) -> int:
        place = self._place(field)
        return int(struct.unpack_from(form, self._data, place)[0]) if place else 0

    def table(self, field: int) -> _Table:
        place = self._place(field)
        return _Table(self._data, place + struct.unpack_from("<I", self._data, place)[0])


FORMAT = _Arrow()
