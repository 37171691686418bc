"""Count the records of a delimited text exactly, without cutting lines where quotes hold no line break."""

from __future__ import annotations

from kmnb.core.bounds import LINE_MAX_BYTES, MIB
from kmnb.core.index import Entry
from kmnb.formats._counting import LineCounter, RecordPlaces, filled_lines
from kmnb.formats._csv_dialect import CsvDialect
from kmnb.formats._csv_records import RecordCutter
from kmnb.formats._csv_vector import excess_lines
from kmnb.formats._line_scan import arrays_pay

_CARRY_MAX_BYTES = 2 * MIB
_MARK = b"\xef\xbb\xbf"


class QuoteCounter:
    """Count by how much the lines that are not empty exceed the records, since records may span several lines.

    Where quotes stand as they should, what they enclose is taken out in one go; only doubtful stretches are looked at
    line by line.

    Args:
        dialect: How the text is written.
    """

    def __init__(self, dialect: CsvDialect) -> None:
        self._cutter = RecordCutter(dialect.delimiter, dialect.quote)
        self._quote, self._delimiter = dialect.quote.encode(), dialect.delimiter.encode()
        self._newline = dialect.newline
        self._carry = b""
        self._is_passing = False
        self._first: bytes | None = b""
        self._seen = 0
        self.records = 0
        self.excess = 0
        self.unclosed = 0

    def feed(self, block: bytes) -> None:
        """Take the next block of decoded text."""
        self._seen += len(block)
        if self._first is not None:
            block = self._unmarked(block)
        if self._is_passing:
            _, end, block = block.partition(self._newline)
            if not end:
                return
        last = block.rfind(self._newline)
        data = self._carry + block if self._carry else block
        whole = len(self._carry) + last + 1 if last >= 0 else self._carry.rfind(self._newline) + 1
        # A line that is too long ends its record and is not held; nor is a record that goes on and on.
        self._is_passing = len(data) - whole > LINE_MAX_BYTES
        is_plain = self._newline == b"\n" and not self._cutter.is_open and whole <= LINE_MAX_BYTES
        cut = self._pass_plain(data, whole) if is_plain else 0
        is_held = is_plain and not self._is_passing and whole - cut <= _CARRY_MAX_BYTES
        if cut < whole and not is_held:
            self._by_line(data[cut:whole])
            cut = whole
        if self._is_passing:
            self._cutter.release()
            self.records += 1
            cut = len(data)
        self._carry = data[cut:]

    def _unmarked(self, block: bytes, *, last: bool = False) -> bytes:
        """Take the byte order mark off the beginning: a quote behind it opens the first cell."""
        text = (self._first or b"") + block
        self._first = text if not last and len(text) < len(_MARK) and _MARK.startswith(text) else None
        return b"" if self._first is not None else text.removeprefix(_MARK)

    def finish(self) -> None:
        """Count what is left."""
        self._carry += self._unmarked(b"", last=True)
        if self._carry:
            self._by_line(self._carry)
        if self._cutter.is_open:
            self.records += 1
            self.excess -= 1
            self.unclosed = 1

    @property
    def is_open(self) -> bool:
        """Whether the present record goes on, and where it began is not at hand."""
        return self._cutter.is_open or self._is_passing

    @property
    def carried(self) -> int:
        """How many bytes ago the present record began."""
        return len(self._carry)

    @property
    def carried_lines(self) -> int:
        """How many filled lines of it have ended."""
        return filled_lines(self._carry[: self._carry.rfind(b"\n") + 1])

    def _pass_plain(self, data: bytes, cut: int) -> int:
        """Count whole records where that needs no look at single lines; give where the rest begins."""
        if not self._quote or data.find(self._quote, 0, cut) < 0:
            return cut
        # The arrays are worth their import for long stretches only.
        if arrays_pay(self._seen):
            found = excess_lines(data[:cut], self._delimiter, self._quote)
        else:
            found = self._split(data, self._closed_end(data, cut))
        if found is None:
            self._by_line(data[:cut])
            return cut
        self.excess += found[0]
        return found[1]

    def _closed_end(self, data: bytes, cut: int) -> int:
        """Find the last line end with an even number of quotes before it."""
        is_odd = data.count(self._quote, 0, cut) % 2 == 1
        while is_odd and cut:
            before = data.rfind(b"\n", 0, cut - 1) + 1
            is_odd ^= data.count(self._quote, before, cut) % 2 == 1
            cut = before
        return cut

    def _split(self, data: bytes, end: int) -> tuple[int, int] | None:
        """Do the same as :func:`excess_lines` up to a place by cutting at quotes."""
        quote, body = self._quote, data[:end]
        if not body:
            return 0, 0
        # What is doubled neither opens nor closes; two other bytes keep its line from becoming empty.
        parts = body.replace(quote * 2, b"\0\0").split(quote)
        if len(parts) % 2 == 0:
            return None
        outside = quote.join(parts[0::2])
        pairs = len(parts) // 2
        opened = outside.count(self._delimiter + quote) + outside.count(b"\n" + quote)
        closed = outside.count(quote + self._delimiter) + outside.count(quote + b"\n") + outside.count(quote + b"\r\n")
        if opened + (not parts[0]) != pairs or closed != pairs:
            return None
        return filled_lines(body) - filled_lines(outside), end

    def _by_line(self, body: bytes) -> None:
        lines = body.split(self._newline)
        for line in lines if lines[-1] else lines[:-1]:
            is_line = bool(line) and line != b"\r"
            is_record = is_line
            if self._cutter.is_open or (self._quote and self._quote in line):
                is_record = self._cutter.take(line) is not None
            self.records += is_record
            self.excess += is_line - is_record


class CsvCounter:
    """Count records, a header left out.

    Args:
        dialect: How the text is written.
        indexed: Whether places of lines are noted.
    """

    def __init__(self, dialect: CsvDialect, *, indexed: bool) -> None:
        self.lines: LineCounter | None = LineCounter(indexed=indexed, blank="empty")
        self._quotes = QuoteCounter(dialect)
        self._header, self._newline = dialect.header, dialect.newline
        self._noted = RecordPlaces() if indexed and dialect.newline == b"\n" else None

    @property
    def row_lines(self) -> int | None:
        """Lines before the first record where every other line is one; None where records and lines differ."""
        is_plain = self.lines is not None and self.lines.filled == self.lines.lines and not self._quotes.excess
        return int(self._header) if is_plain and self._newline == b"\n" else None

    @property
    def places(self) -> tuple[Entry, ...]:
        """Where some of the records begin, where lines do not tell it."""
        return self._noted.entries if self._noted is not None and self.row_lines is None else ()

    def feed(self, block: bytes) -> None:
        """Take the next block of decoded text."""
        self._quotes.feed(block)
        if self._noted is not None and self.lines is not None:
            self._noted.passed(len(block))
            if self._noted.is_welcome and not self._quotes.is_open:
                number = self.lines.closed - self._quotes.excess - self._quotes.carried_lines - self._header
                self._noted.note(block, self._quotes.carried, number)

    def finish(self) -> int:
        """Give the number of records."""
        self._quotes.finish()
        is_usual = self._newline == b"\n"
        filled = self.lines.filled if self.lines else 0
        records = filled - self._quotes.excess if is_usual else self._quotes.records
        # A record whose quotes are not closed names no columns.
        return records - (records > self._quotes.unclosed and self._header)
