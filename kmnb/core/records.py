"""What passes between formats, which cut bytes into records, and sips, which are fed them.

Formats and sips do not know each other: both know only the words of this module, and ``ops`` brings them together.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from kmnb.core.describe import Operation
    from kmnb.core.slice import Slice


@dataclass(frozen=True, slots=True)
class Dialect:
    """How structured content is to be read; None means "find out"."""

    encoding: str | None = None
    """Python name of the text encoding."""
    delimiter: str | None = None
    """One character between cells."""
    quote: str | None = None
    """One quote character; empty for none."""
    header: bool | None = None
    """Whether the first record names the columns."""
    section: str | None = None
    """Name of the ``[section]`` to read where a text holds several."""
    strict: bool = False
    """Whether a bad record raises instead of being counted as a problem."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A record that could not be used as it stands."""

    line: int
    """Line where it begins, counted from 1."""
    reason: str
    """What is wrong with it."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive records in source order."""

    rows: Sequence[Any] = ()
    """For tables a list of cells a row, aligned with the splitter's ``columns``; for JSON kinds the bytes of one
    JSON value each; for text one line each as bytes, without its line end."""
    start: int = 0
    """Number of the first record, from 0."""
    problems: Sequence[Problem] = field(default=())
    """Records of this stretch that were skipped, one each, or lines that were cut."""
    columns: tuple[str, ...] | None = None
    """Column names of a table; the same in every batch once the header was read, None before and elsewhere."""
    kind: Literal["text", "table", "json"] = "text"
    """What the rows are."""
    records: int | None = None
    """How many records this stretch holds as the format counts them; None where :attr:`counted` tells it."""
    counted_bad: int = 0
    """How many of the problems are records all the same, as a row of a table is whose cells are too many."""
    places: Sequence[int] | None = None
    """Number of each row where problems stand between them; None where they follow one another from ``start``."""
    types: tuple[Mapping[str, Any], ...] | None = None
    """All columns as the format declares them: dicts with ``name``, ``type`` and ``nullable``; None elsewhere."""
    total: int | None = None
    """How many records the whole content has, where the format tells that beforehand."""

    @property
    def numbers(self) -> Sequence[int]:
        """Number of each row, the same however the content was cut into blocks."""
        return self.places if self.places is not None else range(self.start, self.start + len(self.rows))

    @property
    def counted(self) -> int:
        """Number of records of this stretch: those that the format counts, else the rows."""
        return len(self.rows) if self.records is None else self.records

    @property
    def left_out(self) -> int:
        """Number of bad records that :attr:`counted` leaves out."""
        return len(self.problems) - self.counted_bad


class Splitter(Protocol):
    """Cuts decoded content, fed in order in blocks of any size, into records."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Column names once they are known; None for content without columns."""

    def feed(self, block: bytes) -> Batch:
        """Take the next block and give the records that are complete by now."""

    def finish(self) -> Batch:
        """Give what is left at the end of the content."""


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes that a format asks for, which reads by range; it is sent exactly these."""

    start: int
    """First byte, from 0."""
    end: int
    """End, exclusive."""


Scan: TypeAlias = Generator[Need | Batch, bytes | None, None]
"""A reading by range: a :class:`Need` is answered by sending the bytes, a :class:`Batch` by sending None.

A format that reads by range has ``scan(size, columns, wanted)``: ``size`` in bytes of the stored content, ``columns``
the names that are looked at, ``wanted`` the ascending numbers of the records that are, None for all. The
first batch names the columns. Such a format can still be split when it arrives as a stream.
"""


@dataclass(frozen=True, slots=True)
class Schema:
    """What is known of the columns, or of the paths of a document."""

    columns: tuple[Mapping[str, Any], ...]
    """Dicts with ``name``, ``type`` and ``nullable``."""
    rows: int | None = None
    """Number of records, where it was counted."""


class FormatPlugin(Protocol):
    """What a file in ``formats`` exposes as ``FORMAT``. Pure: it is handed bytes and does no I/O."""

    name: str
    """Name of the format, the same as the file's."""
    kind: Literal["text", "table", "json", "binary"]
    """What its records are; see :class:`Batch`."""
    media_types: tuple[str, ...]
    """MIME types that name it, without parameters; the first is the one that kmnb writes."""
    suffixes: tuple[str, ...]
    """File name endings, with the dot."""
    samples: tuple[bytes, ...]
    """Small documents of this format, for the contract suite."""

    def sniff(self, head: bytes) -> float:
        """Tell how surely the first 64 KiB are of this format, from 0 to 1."""

    def split(self, dialect: Dialect) -> Splitter:
        """Make a splitter for decoded content."""


class SipRun(Protocol):
    """A sip under way. It is fed; it never reads, waits or opens."""

    @property
    def done(self) -> bool:
        """Whether more input cannot change the answer."""

    def feed(self, item: bytes | Batch) -> None:
        """Take the next block of decoded content, or the next batch of records, as ``SipPlugin.feeds`` says."""

    def finish(self) -> Slice:
        """Give the answer; ``fetched_bytes`` and ``scanned_bytes`` are filled in by the driver."""


class SipPlugin(Protocol):
    """What a file in ``sips`` exposes as ``SIP``."""

    operation: Operation
    """Name, help, parameters and examples; every front end is derived from it."""
    feeds: Literal["blocks", "records"]
    """Whether it is fed decoded bytes or records."""

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> SipRun:
        """Begin; arguments are checked and complete, ``max_bytes`` is the cap of the answer's text."""
